// What a visitor saves: files to save, tables as CSV, text in the clipboard.
import { h } from "./dom.js";

const TYPES = {
  json: "application/json",
  csv: "text/csv;charset=utf-8",
  txt: "text/plain;charset=utf-8",
  html: "text/html;charset=utf-8",
  svg: "image/svg+xml",
};

/** Save text, or a Blob, as a file; its kind follows from the name. */
function save(name, content) {
  const blob = content instanceof Blob ? content : new Blob([content], { type: TYPES[name.split(".").pop()] });
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Lines of cells as CSV. Text that a spreadsheet would run as a formula gets a leading apostrophe. */
const csv = (lines) => lines.map((line) => line.map(cell).join(",")).join("\r\n") + "\r\n";

function cell(value) {
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Copy text; resolves to whether it worked. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { "aria-hidden": "true", "style": "position:fixed;opacity:0" });
    area.value = text;
    document.body.append(area);
    area.select();
    const worked = document.execCommand("copy");
    area.remove();
    return worked;
  }
}

export { save, csv, copy };

// What a visitor saves: files to save, tables as CSV, text in the clipboard.
import { h } from "./dom.js";
import { copied, copiedSelection } from "./features.js";

const TYPES = /** @type {Record<string, string>} */ ({
  json: "application/json",
  csv: "text/csv;charset=utf-8",
  txt: "text/plain;charset=utf-8",
  html: "text/html;charset=utf-8",
  svg: "image/svg+xml",
});

/**
 * Save text, or a Blob, as a file; its kind follows from the name.
 * @type {(name: string, content: string | Blob) => void}
 */
function save(name, content) {
  const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/**
 * Return lines of cells as CSV.
 * @param {unknown[][]} lines
 */
function csv(lines) {
  const rows = lines.map((line) => line.map(cell).join(","));
  return rows.join("\r\n") + "\r\n";
}

/**
 * Return a value as a cell of CSV. Text that a spreadsheet would run as a formula gets a leading
 * apostrophe.
 * @param {unknown} value
 */
function cell(value) {
  if (typeof value === "number") return String(value);
  const text = String(value).replace(/^[=+\-@\t\r]/, "'$&");
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Copy text; resolves to whether it worked. @type {(text: string) => Promise<boolean>} */
async function copy(text) {
  if (await copied(text)) return true;
  const area = h("textarea", { "aria-hidden": "true", "style": "position:fixed;opacity:0" });
  area.value = text;
  document.body.append(area);
  area.select();
  const worked = copiedSelection();
  area.remove();
  return worked;
}

export { save, csv, copy };

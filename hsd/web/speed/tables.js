// What a benchmark and the calculator share: a table, and a button that opens a visitor's file.
import { h } from "../kit/dom.js";
import { button } from "../kit/controls.js";
import * as page from "../kit/page.js";

const MOST = 64e6; // bytes of a file

/**
 * A table; the first cell of a row names it.
 * @type {(columns: Columns, rows: unknown[][]) => HTMLElement}
 */
function table(columns, rows) {
  const head = columns.map(([name, meaning]) =>
    h("th", { scope: "col", title: meaning || null }, String(name)),
  );
  const lines = rows.map(([first, ...rest]) => {
    const name = h("th", { scope: "row" }, String(first));
    const cells = rest.map((text) => h("td", String(text || "–")));
    return h("tr", { "data-case": first }, name, cells);
  });
  return h("table.hf-table.hf-bench", h("thead", h("tr", head)), h("tbody", lines));
}

/**
 * A button that opens a file, and its hidden field.
 * @param {string} words - on the button
 * @param {string} opens - what to open, for its title and where a file is too large
 * @param {string} label - of the hidden field
 * @param {(text: string, name: string) => unknown} read - gets the file's text and its name
 */
function fileButton(words, opens, label, read) {
  const taken = async () => {
    const [file] = input.files ?? [];
    const name = file?.name.slice(0, 60);
    const small = !file || file.size < MOST;
    if (!small) page.alert(`${name} has over ${MOST / 1e6} MB: ${opens}`);
    else if (file) await read(await file.text(), name);
    input.value = "";
  };
  const input = h("input.hp-unseen", {
    "type": "file",
    "tabindex": -1,
    "aria-label": label,
    "accept": ".jsonl,.json",
    "onchange": taken,
  });
  return [button(words, opens, () => input.click()), input];
}

export { fileButton, table };

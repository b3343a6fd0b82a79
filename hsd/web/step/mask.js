// What the target reads of a tree in one pass: a row per token, a square under everything that it sees, its place in the
// text; and which columns stay in the cache. Drawn once for a step; a beat only changes classes.
import { h, token } from "../kit/dom.js";
import { short, visible } from "../kit/format.js";
import { press, roving, UP_DOWN } from "../kit/parts.js";

/**
 * @typedef {object} Row
 * @property {number} id of the node; 0 for the last token of the text
 * @property {string} piece
 * @property {number} position its place in the text
 * @property {number[]} sees the nodes that it sees, itself last
 * @property {number | null} joint the draft's probability of its whole path; null for node 0, which was not drafted
 * @property {number} reach the target's
 * @property {boolean} kept whether it stays in the cache
 */

const HEADS = ["position", "q(path)", "p(path)", "text"];
const cellOf = (/** @type {number} */ rows) => (rows <= 26 ? 18 : rows <= 42 ? 13 : 9);

/** @param {{select: (node: number) => void}} actions a row was pressed */
function create({ select }) {
  const table = h("table.hp-mask", { "aria-label": "what each token of the tree sees" });
  const lines = () => /** @type {HTMLElement[]} */ ([...table.querySelectorAll("tr[data-node]")]);
  const stop = roving(table, lines, null, UP_DOWN);

  /** @param {Row[]} rows in the order of the nodes, node 0 first */
  function draw(rows) {
    const cell = cellOf(rows.length);
    table.style.setProperty("--hp-cell", `${cell}px`);
    const numbers = rows.map(({ id }, i) => h("th", h("b", cell < 18 && i % 5 ? "" : id)));
    table.replaceChildren(
      h(
        "tr",
        h("th"),
        h("th"),
        HEADS.map((name) => h("th", name)),
        numbers,
      ),
      ...rows.map((row) => line(row, rows, select)),
      cache(rows),
    );
  }

  /** @type {(read: boolean, over: boolean) => void} read: whether the target has read the tree; over: whether the step is over */
  function beat(read, over) {
    table.classList.toggle("is-read", read);
    table.classList.toggle("is-over", over);
  }

  /** Mark the selected node; returns whether it is drawn. @param {number} node */
  function mark(node) {
    const pressed = lines().find((one) => Number(one.dataset.node) === node);
    for (const one of lines()) one.setAttribute("aria-pressed", String(one === pressed));
    stop(pressed ?? lines()[0]);
    return Boolean(pressed);
  }

  return { element: table, draw, beat, mark };
}

/** @type {(row: Row, rows: Row[], select: (node: number) => void) => HTMLElement} */
function line({ id, piece, position, sees, joint, reach }, rows, select) {
  const path = sees.slice(0, -1);
  const others = path.length ? `, ${path.length > 1 ? "nodes" : "node"} ${path.join(", ")}` : "";
  const title = `node ${id}, “${visible(piece)}”, position ${position}: sees the text${others} and itself`;
  const square = (/** @type {number} */ one) =>
    sees.includes(one) && h("i.hp-sees", { class: one === id ? "is-own" : "is-path" });
  const row = h(
    "tr.hp-maskrow",
    { "role": "button", "data-node": id, "data-sees": sees.join(" "), "aria-pressed": "false", title },
    h("td", id),
    h("th", token(piece, { cells: 9 })),
    h("td.is-position", position),
    h("td.hp-of-q", joint === null ? "" : short(joint)),
    h("td.is-p.hp-of-p", id ? short(reach) : ""),
    h("td", position ? h("i.hp-sees.is-text") : null), // else nothing stands before node 0
    rows.map((other) => h("td", square(other.id))),
  );
  return press(row, () => select(id));
}

/** What stays in the target's cache, and what is dropped. @param {Row[]} rows */
function cache(rows) {
  const kept = rows.filter((row) => row.kept).length;
  const signs = rows.map((row) =>
    h("td", { "class": row.kept ? "is-kept" : "is-rejected", "data-column": row.id }, row.kept ? "✓" : "✕"),
  );
  const title = `of ${rows.length} columns ${kept} stay in the cache`;
  return h(
    "tr.hp-cache",
    { title },
    h("th", { colspan: 5 }, "stays in the cache"),
    h("td", h("i.hp-sees.is-text")),
    signs,
  );
}

export { create };

// What the target reads of a tree in one pass: a row per token, a square under everything that it
// sees, its place in the text; and which columns stay in the cache. Drawn once for a step; a beat
// only changes classes.
import { h, token } from "../kit/dom.js";
import { short, visible } from "../kit/format.js";
import { press, roving, UP_DOWN } from "../kit/controls.js";

const HEADS = ["", "", "position", "q(path)", "p(path)", "text"];

/** The pixels of a column: the more rows, the fewer. @param {number} rows */
function cellOf(rows) {
  if (rows <= 26) return 18;
  return rows <= 42 ? 13 : 9;
}

/**
 * The table of a tree.
 * @param {{select: (node: number) => void}} actions select: a row was pressed
 */
function create({ select }) {
  const table = h("table.hp-mask", { "aria-label": "what each token of the tree sees" });
  const lines = () => /** @type {HTMLElement[]} */ ([...table.querySelectorAll("tr[data-node]")]);
  const stop = roving(table, lines, null, UP_DOWN);

  /** @param {MaskRow[]} rows in the order of the nodes, node 0 first */
  function draw(rows) {
    const cell = cellOf(rows.length);
    table.style.setProperty("--hp-cell", `${cell}px`);
    const heads = HEADS.map((name) => h("th", name));
    const numbers = rows.map(({ id }, i) => h("th", h("b", cell < 18 && i % 5 ? "" : id)));
    table.replaceChildren(
      h("tr", heads, numbers),
      ...rows.map((row) => line(row, rows, select)),
      cache(rows),
    );
  }

  /**
   * Show how far the step has come.
   * @param {boolean} read whether the target has read the tree
   * @param {boolean} over whether the step is over
   */
  function beat(read, over) {
    table.classList.toggle("is-read", read);
    table.classList.toggle("is-over", over);
  }

  /** Mark the selected node; returns whether it is drawn. @param {number} node */
  function mark(node) {
    const pressed = lines().find(({ dataset }) => Number(dataset.node) === node);
    for (const row of lines()) row.setAttribute("aria-pressed", String(row === pressed));
    stop(pressed ?? lines()[0]);
    return Boolean(pressed);
  }

  return {
    element: table,
    draw,
    beat,
    mark,
  };
}

/**
 * A row of the table: a token, its numbers, and a square under every token that it sees.
 * @type {(row: MaskRow, rows: MaskRow[], select: (node: number) => void) => HTMLElement}
 */
function line({ id, piece, position, sees, joint, reach }, rows, select) {
  const path = sees.slice(0, -1);
  const nodes = path.length > 1 ? "nodes" : "node";
  const above = path.length ? `, ${nodes} ${path.join(", ")}` : "";
  const name = `node ${id}, “${visible(piece)}”, position ${position}`;
  const title = `${name}: sees the text${above} and itself`;
  const square = (/** @type {number} */ node) =>
    sees.includes(node) && h("i.hp-sees", { class: node === id ? "is-own" : "is-path" });
  const cells = [
    h("td", id),
    h("th", token(piece, { cells: 9 })),
    h("td.is-position", position),
    h("td.hp-of-q", joint === null ? "" : short(joint)),
    h("td.is-p.hp-of-p", id ? short(reach) : ""),
    h("td", position ? h("i.hp-sees.is-text") : null), // else nothing stands before node 0
    rows.map((column) => h("td", square(column.id))),
  ];
  const attributes = {
    "role": "button",
    "data-node": id,
    "data-sees": sees.join(" "),
    "aria-pressed": "false",
    title,
  };
  return press(h("tr.hp-maskrow", attributes, cells), () => select(id));
}

/** What stays in the target's cache, and what is dropped. @param {MaskRow[]} rows */
function cache(rows) {
  const kept = rows.filter((row) => row.kept).length;
  const signs = rows.map((row) => {
    const css = row.kept ? "is-kept" : "is-rejected";
    return h("td", { "class": css, "data-column": row.id }, row.kept ? "✓" : "✕");
  });
  const title = `of ${rows.length} columns ${kept} stay in the cache`;
  const head = [h("th", { colspan: 5 }, "stays in the cache"), h("td", h("i.hp-sees.is-text"))];
  return h("tr.hp-cache", { title }, head, signs);
}

export { create };

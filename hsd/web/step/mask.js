// What the target reads of a tree in one pass: a row per token, a square under everything that it sees, its place in the
// text; and which columns stay in the cache. Drawn once for a step; a beat only changes classes.
import { label, s } from "../kit/dom.js";
import { short, shorten, visible } from "../kit/format.js";
import { press, roving, UP_DOWN } from "../kit/parts.js";

/**
 * @typedef {object} Row
 * @property {number} id of the node; 0 for the last token of the text
 * @property {string} piece
 * @property {number} position its place in the text
 * @property {number[]} sees the nodes that it sees, itself last
 * @property {number|null} joint the draft's probability of its whole path; null for node 0, which was not drafted
 * @property {number} reach the target's
 * @property {boolean} kept whether it stays in the cache
 */

const TOP = 26; // height of the heads of the columns
/** @type {Record<string, number>} */
const HEADS = { "position": 148, "q(path)": 200, "p(path)": 250 }; // where these columns end
const TEXT = { x: 258, width: 34 }; // the column of the text
const PIECE = { x: 30, cells: 9 };
const cellOf = (/** @type {number} */ count) => (count <= 26 ? 20 : count <= 42 ? 15 : 11);

/** The mask as SVG. @param {{select: (node: number) => void}} actions a row was pressed */
function create({ select }) {
  const svg = s("svg", { "class": "hp-mask", "role": "group", "aria-label": "what each token of the tree sees" });
  const lines = () => /** @type {SVGElement[]} */ ([...svg.querySelectorAll("[data-node]")]);
  const stop = roving(svg, lines, null, UP_DOWN);

  /** @param {Row[]} rows in the order of the nodes, node 0 first */
  function draw(rows) {
    const cell = cellOf(rows.length);
    const high = Math.max(cell, 16);
    const columns = new Map(rows.map(({ id }, i) => [id, TEXT.x + TEXT.width + i * cell]));
    const width = TEXT.x + TEXT.width + rows.length * cell + 8;
    const place = { cell, high, columns, width };
    const end = TOP + rows.length * high;
    const numbers = rows.map(({ id }, i) =>
      label((columns.get(id) ?? 0) + cell / 2, 16, cell < 18 && i % 5 ? "" : id, "hp-small", MIDDLE),
    );
    const heads = Object.entries(HEADS).map(([name, x]) => label(x, 16, name, "hp-small", END));
    svg.replaceChildren(
      ...heads,
      label(TEXT.x + 6, 16, "text", "hp-small"),
      ...numbers,
      ...rows.map((row, i) => line(row, TOP + i * high, place, select)),
      cache(rows, end + 8, place),
    );
    const height = end + high + 14;
    for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` }))
      svg.setAttribute(name, String(value));
  }

  /** @param {boolean} read whether the target has read the tree @param {boolean} over whether the step is over */
  function beat(read, over) {
    svg.classList.toggle("is-read", read);
    svg.classList.toggle("is-over", over);
  }

  /** @param {number} node the one that is selected @returns {boolean} whether it is drawn */
  function mark(node) {
    const pressed = lines().find((one) => Number(one.dataset.node) === node);
    for (const one of lines()) {
      one.setAttribute("aria-pressed", String(one === pressed));
      one.classList.toggle("is-on", one === pressed);
    }
    stop(pressed ?? lines()[0]);
    return Boolean(pressed);
  }

  return { element: svg, draw, beat, mark };
}

const MIDDLE = { "text-anchor": "middle" };
const END = { "text-anchor": "end" };

/** @type {(x: number, y: number, width: number, height: number, css: string) => Element} */
function square(x, y, width, height, css) {
  return s("rect", { class: `hp-sees ${css}`, x: x + 1, y: y + 1, width: width - 2, height: height - 2, rx: 2 });
}

/** @typedef {{cell: number, high: number, columns: Map<number, number>, width: number}} Place of columns and rows */

/** @param {Row} row @param {number} y @param {Place} place @param {(node: number) => void} select */
function line({ id, piece, position, sees, joint, reach }, y, { cell, high, columns, width }, select) {
  const path = sees.slice(0, -1);
  const others = path.length ? `, ${path.length > 1 ? "nodes" : "node"} ${path.join(", ")}` : "";
  const words = `node ${id}, “${visible(piece)}”, position ${position}: sees the text${others} and itself`;
  const base = y + high / 2 + 4;
  const figures = {
    "position": position,
    "q(path)": joint === null ? "" : short(joint),
    "p(path)": id ? short(reach) : "",
  };
  const group = s(
    "g",
    { "class": "hp-maskrow", "role": "button", "data-node": id, "data-sees": sees.join(" "), "aria-pressed": "false" },
    s("title", words),
    s("rect", { class: "hp-hit", x: 0, y, width: width - 8, height: high, fill: "transparent" }),
    label(22, base, id, "hp-small", END),
    label(PIECE.x, base, shorten(piece, PIECE.cells), "hp-piece", { direction: "ltr" }),
    Object.entries(figures).map(([name, text]) =>
      label(HEADS[name], base, text, `hp-small is-${name.replace("(path)", "")}`, END),
    ),
    position ? square(TEXT.x, y, TEXT.width, high, "is-text") : null, // else nothing stands before node 0
    sees.map((one) => square(columns.get(one) ?? 0, y, cell, high, one === id ? "is-own" : "is-path")),
  );
  return press(group, () => select(id));
}

/** @type {(rows: Row[], y: number, place: Place) => Element} What stays in the target's cache, and what is dropped. */
function cache(rows, y, { cell, high, columns }) {
  const base = y + high / 2 + 4;
  const kept = rows.filter((row) => row.kept).length;
  const words = `of ${rows.length} columns ${kept} stay in the cache`;
  return s(
    "g",
    { "class": "hp-cache", "role": "img", "aria-label": words },
    label(HEADS["p(path)"], base, "stays in the cache", "hp-small", END),
    square(TEXT.x, y, TEXT.width, high, "is-text"),
    rows.map(({ id, kept: stays }) =>
      s(
        "g",
        { "class": stays ? "is-kept" : "is-rejected", "data-column": id },
        square(columns.get(id) ?? 0, y, cell, high, ""),
        label((columns.get(id) ?? 0) + cell / 2, base, stays ? "✓" : "✕", "hp-sign-of", MIDDLE),
      ),
    ),
  );
}

export { create };

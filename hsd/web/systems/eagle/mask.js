// What the target reads of a tree in one pass: a row per node, a square under everything that it sees, its place in the
// text; and at the end which columns stay in the cache.
import { h, label, s } from "../../kit/dom.js";
import { plural, shorten, visible } from "../../kit/format.js";
import { press, roving, UP_DOWN } from "../../kit/parts.js";
import { beatOf } from "./model.js";

const [LEFT, TEXT, TOP] = [168, 52, 26]; // widths of the names and of the text's column; height of the heads
const cellOf = (count) => (count <= 26 ? 20 : count <= 42 ? 15 : 11);

/** onChoose(node), onLight(node or null): as in tree.js, but of nodes. */
function create(actions) {
  const svg = s("svg", { "class": "eg-mask", "role": "group", "aria-label": "what each node sees" });
  const element = h("div", { class: "hp-scroll eg-maskbox" }, svg);
  const rows = () => [...svg.querySelectorAll("[data-node]")];
  const stop = roving(svg, rows, null, UP_DOWN);
  let read = null;

  function draw(tree, rootPiece) {
    read = tree;
    const { nodes, step } = tree;
    const cell = cellOf(nodes.length);
    const high = Math.max(cell, 15);
    const x = (id) => LEFT + TEXT + id * cell;
    const y = (id) => TOP + id * high;
    const [width, end] = [x(nodes.length) + 8, y(nodes.length)];
    const band = s("rect", { class: "eg-band", y: TOP - 2, width: cell, height: end - TOP + high + 12 });
    const heads = [
      label(136, 16, "position", "eg-small", { "text-anchor": "end" }),
      label(LEFT + 2, 16, "the text", "eg-small"),
    ];
    const numbers = nodes.map(({ id }) =>
      label(x(id) + cell / 2, 16, cell < 18 && id % 5 ? "" : id, "eg-small", MIDDLE),
    );
    const lines = nodes.map((node) => row(node, node.piece ?? rootPiece, { x, y, cell, high, step, width }, actions));
    svg.replaceChildren(band, ...heads, ...numbers, ...lines, cache(tree, { x, y: end + 8, cell, high }));
    const height = end + high + 14;
    for (const [key, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` }))
      svg.setAttribute(key, value);
    Object.assign(band.dataset, { left: LEFT + TEXT, cell });
  }

  /** node: the one that is looked at, or null. */
  function update(beat, node) {
    const above = new Set(node === null ? [] : read.nodes[node].sees);
    for (const one of rows()) {
      const id = Number(one.dataset.node);
      one.classList.toggle("is-lit", id === node);
      one.classList.toggle("is-above", id !== node && above.has(id));
      one.setAttribute("aria-pressed", String(id === node));
    }
    const band = svg.querySelector(".eg-band");
    band.classList.toggle("is-on", node !== null);
    if (node !== null) band.setAttribute("x", Number(band.dataset.left) + node * Number(band.dataset.cell));
    svg.classList.toggle("is-read", beat >= beatOf(read, "read"));
    svg.classList.toggle("is-over", beat >= beatOf(read, "keep"));
    stop(rows()[node ?? 0]);
  }

  return { element, draw, update };
}

const MIDDLE = { "text-anchor": "middle" };

function row({ id, sees, position }, piece, { x, y, cell, high, step, width }, { onChoose, onLight }) {
  const ancestors = sees.slice(0, -1);
  const others = ancestors.length ? `, ${ancestors.length > 1 ? "nodes" : "node"} ${ancestors.join(", ")}` : "";
  const told = `node ${id}, “${visible(piece)}”, position ${position}: sees the text${others} and itself`;
  const attributes = {
    "class": "eg-row",
    "role": "button",
    "data-node": id,
    "data-sees": sees.join(" "),
    "aria-pressed": "false",
    "onpointerenter": () => onLight(id),
    "onpointerleave": () => onLight(null),
    "onfocus": () => onLight(id),
    "onblur": () => onLight(null),
  };
  const line = y(id) + high / 2 + 4;
  const square = (at, wide, css) => {
    return s("rect", { class: `eg-cell ${css}`, x: at + 1, y: y(id) + 1, width: wide - 2, height: high - 2, rx: 2 });
  };
  const before = Math.max(step.context_length - 1, 0); // tokens of the text ahead of node 0
  const inside = [
    s("title", {}, told),
    s("rect", { class: "eg-hit", x: 0, y: y(id), width: width - 8, height: high }),
    label(20, line, id, "eg-small", { "text-anchor": "end" }),
    label(28, line, shorten(piece, 9), "eg-piece", { direction: "ltr" }),
    label(136, line, position, "eg-small", { "text-anchor": "end" }),
    before ? square(LEFT, TEXT, "is-text") : null,
    sees.map((one) => square(x(one), cell, one === id ? "is-own" : "is-seen")),
  ];
  return press(s("g", attributes, inside), () => onChoose(id));
}

/** The line under the columns: what stays in the target's cache, and what is dropped. */
function cache({ nodes, path }, { x, y, cell, high }) {
  const place = y + high / 2 + 4;
  const one = (id) => {
    const stays = path.has(id);
    const back = s("rect", { class: "eg-cell", x: x(id) + 1, y: y + 1, width: cell - 2, height: high - 2, rx: 2 });
    const sign = label(x(id) + cell / 2, place, stays ? "✓" : "✕", "eg-sign-text", MIDDLE);
    return s("g", { "class": stays ? "is-kept" : "is-rejected", "data-column": id }, back, sign);
  };
  const text = s("rect", { class: "eg-cell is-text", x: LEFT + 1, y: y + 1, width: TEXT - 2, height: high - 2, rx: 2 });
  const told = `of ${plural(nodes.length, "column")} ${path.size} stay in the cache`;
  const words = [label(136, place, "cache after the step", "eg-small", { "text-anchor": "end" }), text];
  return s(
    "g",
    { "class": "eg-cache", "role": "img", "aria-label": told },
    words,
    nodes.map(({ id }) => one(id)),
  );
}

export { create };

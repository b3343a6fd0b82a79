// The tree of a step as a drawing. Drawn once for a step, whole; a moment only changes classes, so that nothing moves.
import { afterLayout, h, label, s } from "../../kit/dom.js";
import { short, shorten, visible } from "../../kit/format.js";
import { press, roving, UP_DOWN } from "../../kit/parts.js";
import { BOX, layout, OWN, ROOT } from "./layout.js";
import { beatOf } from "./model.js";

const CELL = 7.3; // width of a letter of a token
const MARGIN = 14; // around what is scrolled into view: a test's mark stands out 11 over its node
const ICONS = { correction: "▲", bonus: "◆" };

/** onChoose(candidate id, 0 for the root): a click; onLight(the same, or null): the pointer or the focus is there. */
function create(actions) {
  const svg = s("svg", { "class": "eg-tree", "role": "group", "aria-label": "the tree, level by level" });
  const element = h("div", { class: "hp-scroll eg-treebox" }, svg);
  const boxes = () => [...svg.querySelectorAll("[data-candidate]")].filter((box) => box.matches(".is-on"));
  const stop = roving(svg, boxes, null, UP_DOWN); // the other arrows go from moment to moment
  let marks = []; // [element, class, the beat from which on it has it]

  function draw(tree, rootPiece) {
    marks = [];
    const from = (one, css, ...moment) => {
      const beat = beatOf(tree, ...moment);
      if (Number.isFinite(beat)) marks.push([one, css, beat]);
      return one;
    };
    const plan = layout(tree);
    const parts = [
      s("g", { "aria-hidden": "true" }, edges(tree, plan, from)),
      s("g", { "aria-hidden": "true" }, heads(tree, plan, from)),
      root(rootPiece, plan, actions),
      plan.boxes.map((one) => candidate(tree, one, plan, actions, from)),
      plan.more.map((one) => more(tree, one, from)),
      own(tree, plan, from),
    ];
    svg.replaceChildren(...parts.flat().filter(Boolean));
    for (const name of ["width", "height"]) svg.setAttribute(name, plan[name]);
    svg.setAttribute("viewBox", `0 0 ${plan.width} ${plan.height}`);
  }

  /** What has happened by this beat. chosen: the candidate that is looked at, or null; lit: those on its path. */
  function update(beat, chosen, lit) {
    for (const [one, css, first] of marks) one.classList.toggle(css, beat >= first);
    for (const box of svg.querySelectorAll("[data-candidate]")) {
      const id = Number(box.dataset.candidate);
      box.classList.toggle("is-lit", lit.has(id));
      box.setAttribute("aria-pressed", String(id === chosen));
    }
    stop(boxes().find((box) => Number(box.dataset.candidate) === chosen) || boxes()[0]);
    const fresh = marks.filter(([, css, first]) => first === beat && css === "is-on").map(([one]) => one);
    afterLayout(() => keepInView(element, fresh));
  }

  return { element, draw, update };
}

// ---- what is drawn; from(element, class, kind, level): it has the class from that moment on

const middle = ({ y }) => y + BOX.height / 2;

function edges(tree, { boxes, place }, from) {
  const line = (a, b, css) => {
    const [x1, y1, x2, y2] = [a.x + a.width, middle(a), b.x, middle(b)];
    const x = (x1 + x2) / 2;
    return s("path", { class: `eg-edge ${css}`, d: `M${x1} ${y1}C${x} ${y1} ${x} ${y2} ${x2} ${y2}` });
  };
  const lines = boxes.map((one) => {
    const edge = from(line(place.get(one.parent), place.get(one.id), ""), "is-on", "propose", one.level);
    if (one.node === null) from(edge, "is-dropped", "rerank");
    if (tree.path.has(one.node)) from(edge, "is-kept", "keep");
    return edge;
  });
  const origin = added(tree)?.origin;
  const last = boxes.find(({ node }) => node === tree.last);
  if (origin) lines.push(from(line(place.get(last ? last.id : 0), place.get(OWN), `is-${origin}`), "is-on", "keep"));
  return lines;
}

/** The token that the target added; nothing where the text ended before. */
function added({ step }) {
  const own = step.committed[step.kept];
  return own && own.origin !== "draft" ? own : null;
}

const heads = (tree, { left }, from) =>
  tree.levels.map((found, i) => {
    const [x, words] = [left(i + 1), `${found.length} ${tree.chosen ? "proposed" : "drawn"}`];
    const lines = [label(x, 15, `level ${i + 1}`, "eg-level"), label(x, 30, words, "eg-small")];
    const target = from(s("g", { class: "eg-reach" }, figure(x + FIGURES.p, "target", "is-p", 30)), "is-on", "read");
    return from(
      s("g", { class: "eg-head" }, lines, figure(x + FIGURES.q, "head", "is-q", 30), target),
      "is-on",
      "propose",
      i + 1,
    );
  });

/** A box that can be reached, hovered and chosen. */
function box(id, { x, y, width }, css, told, { onChoose, onLight }, ...inside) {
  const attributes = {
    "class": `eg-box ${css}`,
    "transform": `translate(${x} ${y})`,
    "role": "button",
    "data-candidate": id,
    "aria-pressed": "false",
    "onpointerenter": () => onLight(id),
    "onpointerleave": () => onLight(null),
    "onfocus": () => onLight(id),
    "onblur": () => onLight(null),
  };
  const frame = s("rect", { class: "eg-frame", width, height: BOX.height, rx: 7 });
  return press(s("g", attributes, s("title", {}, told), frame, inside), () => onChoose(id));
}

const name = (piece, cells) => label(8, 17, shorten(piece, cells), "eg-piece", { direction: "ltr" });
const FIGURES = { q: BOX.width - 48, p: BOX.width - 8 }; // where the numbers of head and target end
const figure = (x, text, css, y = 16) => label(x, y, text, `eg-figure ${css}`, { "text-anchor": "end" });

function root(piece, { place }, actions) {
  const told = `“${visible(piece)}”, node 0, the last token of the text`;
  const words = [label(0, -10, "the text ends", "eg-small"), label(0, BOX.height + 14, "node 0", "eg-small")];
  return box(0, place.get(0), "is-root is-on", told, actions, name(piece, Math.floor((ROOT - 14) / CELL)), words);
}

function candidate(tree, one, { place }, actions, from) {
  const node = one.node === null ? null : tree.nodes[one.node];
  const told = `“${visible(one.piece)}”, level ${one.level}${node ? `, node ${node.id}` : ", dropped"}`;
  const room = BOX.width - 16;
  const bar = (share, y, css) => s("rect", { class: css, x: 8, y, height: 3, rx: 1, width: room * share });
  const reach = node && [figure(FIGURES.p, short(node.reach), "is-p"), bar(node.reach, 26, "eg-bar is-p")];
  const group = box(one.id, place.get(one.id), "", told, actions, [
    name(one.piece, Math.floor((room - 74) / CELL)),
    figure(FIGURES.q, short(one.joint), "is-q"),
    bar(one.joint, 22, "eg-bar is-q"),
    reach && from(s("g", { class: "eg-reach" }, reach), "is-on", "read"),
  ]);
  from(group, "is-on", "propose", one.level);
  if (one.read && tree.chosen) {
    const arrow = label(BOX.width + 3, 20, "▸", "eg-arrow", { "aria-hidden": "true" });
    group.append(from(arrow, "is-on", "expand", one.level));
  }
  if (!node) return from(group, "is-dropped", "rerank");
  const made = tree.decisions.filter((test) => test.node === node.id);
  for (const { accepted, order } of made) from(group, accepted ? "is-passed" : "is-rejected", "test", order - 1);
  if (tree.path.has(node.id)) from(group, "is-kept", "keep");
  group.append(...made.map((test, i) => mark(test, i, from)));
  return group;
}

/** At the corner of a node, for a test of it: the test's number and outcome. */
function mark({ order, accepted }, i, from) {
  const words = `${order} ${accepted ? "✓" : "✕"}`;
  const width = 12 + 6.2 * words.length;
  const back = s("rect", { class: "eg-test-back", width, height: 15, rx: 7 });
  const text = label(width / 2, 11.5, words, "eg-test-words", { "text-anchor": "middle" });
  const attributes = { "class": `eg-test is-${accepted ? "kept" : "rejected"}`, "aria-hidden": "true" };
  const transform = `translate(${i * (width + 2) - 4} -11)`;
  return from(s("g", { ...attributes, transform }, back, text), "is-on", "test", order - 1);
}

const more = (tree, { x, y, level, count }, from) =>
  from(label(x + 4, y, `+ ${count} more, all dropped`, "eg-small eg-more"), "is-on", "propose", level);

function own(tree, { place }, from) {
  const token = added(tree);
  if (!token) return null;
  const { x, y, width } = place.get(OWN);
  const frame = s("rect", { class: "eg-frame", width, height: BOX.height, rx: 7 });
  const words = [label(10, 20, ICONS[token.origin], "eg-icon"), label(26, 20, shorten(token.piece, 10), "eg-piece")];
  const told = label(width - 8, 19, token.origin, "eg-small", { "text-anchor": "end" });
  const css = `eg-own is-${token.origin}`;
  return from(s("g", { class: css, transform: `translate(${x} ${y})` }, frame, words, told), "is-on", "keep");
}

/** Scroll the box, never the page, so far that what is new can be seen. */
function keepInView(element, fresh) {
  if (!fresh.length) return;
  const outer = element.getBoundingClientRect();
  const places = fresh.map((one) => one.getBoundingClientRect());
  const move = (near, far) => {
    const before = Math.min(...places.map((place) => place[near])) - outer[near] - MARGIN;
    const after = Math.max(...places.map((place) => place[far])) - outer[far] + MARGIN;
    return before < 0 ? before : Math.max(0, Math.min(after, before));
  };
  element.scrollBy(move("left", "right"), move("top", "bottom"));
}

export { create };

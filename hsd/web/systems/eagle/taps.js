// Where a head takes its knowledge from: the target's layers, the three that are tapped, and the tokens it may propose.
import { h, label, s } from "../../kit/dom.js";
import { count, percent } from "../../kit/format.js";
import { say } from "../../kit/parts.js";
import { beatOf } from "./model.js";

const [WIDTH, HEIGHT, LEFT] = [340, 178, 6];
const LAYERS = { y: 34, height: 28, width: 328 };
const HEAD = { x: 70, y: 96, width: 100, height: 40 };
const VOCABULARY = { x: 210, y: 96, width: 124, height: 40 };

function create() {
  const svg = s("svg", { class: "eg-taps", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
  const words = h("p", { class: "hp-hint" });
  const element = h("div", { class: "eg-tapsbox" }, svg, words);

  /** setup: of a trace. */
  function draw({ models, vocab_size: all }) {
    const [head, target] = [models[0], models.at(-1)];
    const known = Boolean(head.taps?.length && target.layers);
    svg.toggleAttribute("hidden", !known);
    say(words, known ? "" : missing(head));
    if (!known) return;
    const drafted = head.drafted ?? all;
    svg.setAttribute(
      "aria-label",
      `the target's ${target.layers} layers, tapped after ${head.taps.join(", ")}; the head is one layer and proposes ` +
        `${count(drafted)} of ${count(all)} tokens`,
    );
    svg.replaceChildren(...layers(target.layers, head.taps), ...headBox(), ...vocabulary(drafted, all));
  }

  function update(tree, beat) {
    svg.classList.toggle("is-now", beat === beatOf(tree, "know"));
  }

  return { element, draw, update };
}

const missing = ({ name, taps }) =>
  taps?.length
    ? "This trace does not say how many layers the target has."
    : `${name} drafted here. This trace names no taps of it: it is a model of its own, or the trace is older than they are.`;

const MIDDLE = { "text-anchor": "middle" };

function layers(many, taps) {
  const each = LAYERS.width / many;
  const tapped = new Set(taps);
  const bars = Array.from({ length: many }, (_, i) => {
    const css = `eg-layer${tapped.has(i + 1) ? " is-tapped" : ""}`;
    return s("rect", {
      class: css,
      x: LEFT + i * each + 1,
      y: LAYERS.y,
      width: each - 2,
      height: LAYERS.height,
      rx: 1.5,
    });
  });
  const [foot, top] = [LAYERS.y + LAYERS.height, HEAD.y];
  const lines = taps.map((tap, i) => {
    const [x, to] = [LEFT + (tap - 0.5) * each, HEAD.x + (HEAD.width * (i + 1)) / (taps.length + 1)];
    const path = `M${x} ${foot}C${x} ${foot + 26} ${to} ${foot + 14} ${to} ${top}`;
    return [s("path", { class: "eg-tap", d: path }), label(x, LAYERS.y - 4, tap, "eg-small", MIDDLE)];
  });
  return [
    label(LEFT, 13, `the target: ${many} layers, ${taps.length} of them tapped`, "eg-level"),
    ...bars,
    ...lines.flat(),
  ];
}

function headBox() {
  const { x, y, width, height } = HEAD;
  const middle = x + width / 2;
  const arrow = `M${x + width} ${y + height / 2}H${VOCABULARY.x - 2}`;
  return [
    s("rect", { class: "eg-headbox", x, y, width, height, rx: 8 }),
    label(middle, y + 17, "the head", "eg-level", MIDDLE),
    label(middle, y + 32, "one layer", "eg-small", MIDDLE),
    s("path", { class: "eg-tap", d: arrow }),
  ];
}

/** All tokens as a bar, those that the head can propose filled. */
function vocabulary(drafted, all) {
  const { x, y, width, height } = VOCABULARY;
  return [
    s("rect", { class: "eg-frame", x, y, width, height, rx: 8 }),
    s("rect", {
      class: "eg-proposes",
      x: x + 1,
      y: y + 1,
      width: (width - 2) * (drafted / all),
      height: height - 2,
      rx: 7,
    }),
    label(x + width / 2, y + height + 15, `proposes ${count(drafted)} of the`, "eg-small", MIDDLE),
    label(x + width / 2, y + height + 29, `${count(all)} tokens, ${percent(drafted / all)}`, "eg-small", MIDDLE),
  ];
}

export { create };

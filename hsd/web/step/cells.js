// What stands under one token, as elements without any state: its chances, the masses of a branch, a test as a line with
// coin and threshold. The board is made of them; so are other screens that show a part of a step.
import { h } from "../kit/dom.js";
import { agreeing, apart, exact, number, short } from "../kit/format.js";
import { term } from "../kit/glossary.js";
import { letters } from "../rules/tests.js";
import { comparedAt, origin } from "./again.js";
import { coinOf, decisive, rho } from "./model.js";

/** A bar of a share with its number, or other words; name: what stands before it, if anything. */
function level(kind, value, { name = null, words = short(value), ...attributes } = {}) {
  const width = `width:${(100 * Math.min(value, 1)).toFixed(1)}%`;
  const track = h("span.hp-level-track", h("span.hp-segment", { class: kind, style: width }));
  return h("span.hp-level", attributes, name && h("i.hp-level-name", name), track, h("b", words));
}

/** q, p and their ratio. q, p: attributes of their lines, such as the beat at which they appear. */
function chances(node, { q = {}, p = {} } = {}) {
  const ratio = rho(node);
  const css = ratio < 1 ? ".is-low" : "";
  return [
    level("is-q", node.q, { name: "q", ...q }),
    level("is-p", node.p, { name: "p", ...p }),
    h(`span.hp-rho${css}`, p, term("rho", "p/q"), " ", h("b", short(ratio))),
  ];
}

/** What the draft gives too much and too little to the tokens that may follow. */
const masses = ({ excess, deficient }) => [
  level("is-q is-excess", excess, { title: `excess ${number(excess)}` }),
  level("is-p is-deficient", deficient, { title: `deficient ${number(deficient)}` }),
];

const BAR = "no coin: what p must exceed here, and the coloured part is p";
const SAID = {
  pass: "✓",
  fail: "✕",
  back: "✕ step back",
  out: "✕ none is kept",
  carried: "✓ kept with it",
  none: "– not reached",
};

/**
 * A rule's test at a token: {state: "pass", "fail", "carried" or "none"; parts: a line from 0 to 1 with its coin, of which
 * the part below the threshold passes, and the verdict in words}. drag: what the coin's title offers.
 */
function trial(view, judged, id, drag = null) {
  const made = decisive(judged, id);
  const { sides, coinless, sign } = comparedAt(view, id, judged, made, coinOf(view, id));
  const [coin, threshold] = sides;
  const state = made ? (made.accepted ? "pass" : "fail") : judged.path.has(id) ? "carried" : "none";
  const digits = apart(...sides, 2, 1);
  const compared = made ? sides.map((x) => brief(x, digits)) : [];
  const sentence = made
    ? `${compared[0]} ${made.accepted ? "<" : "≥"} ${coinless ? `${sign} ` : ""}${compared[1]} `
    : "";
  const line = gauge(coin, threshold, {
    "data-coin": coin === null || coinless ? null : id,
    "title": made ? null : unmade(threshold),
    "drag": coinless ? BAR : drag,
  });
  const back = state === "fail" && !judged.info.forward && (view.depth.get(id) > 1 ? "back" : "out");
  const words = h("span.hp-trial-words", h("span", sentence), h("b", SAID[back || state]));
  return { state, parts: [line, words, made ? source(origin(view, judged, id), made.threshold, digits) : null] };
}

/** A number for a tight place, "≈1" where it is long because it is nearly 1; digits: how many, and of a small one. */
function brief(x, digits) {
  const text = exact(x, ...digits).replace(/^0\./, ".");
  return text.startsWith(".999") && text.length > digits[0] + 3 ? "≈1" : text;
}

const leavesOf = (part) => part.sum?.flatMap(leavesOf) ?? [part];
const totalOf = (part, value) => part.sum?.reduce((total, one) => total + totalOf(one, value), 0) ?? value(part);

/** Where a threshold comes from, such as ".64 ÷ .97 = .66", which are the masses of a branch; digits: of the threshold. */
function source(from, threshold, digits) {
  if (!from || (from.of ?? []).some(({ value }) => value === null)) return null;
  const parts = from.of ?? from.times ?? [from];
  const between = from.of ? " ÷ " : " × ";
  const rates = parts[0].name === "p";
  const cut = from.value > 1;
  const leaves = parts.flatMap(leavesOf);
  const result = (x) => brief(x, cut ? [2, 1] : digits);
  const shown = result(cut ? from.value : threshold);
  const holds = (told) => {
    const [a, b = 1] = parts.map((part) => totalOf(part, (leaf) => told[leaves.indexOf(leaf)]));
    return result(from.of ? a / b : a * b) === shown;
  };
  const values = Object.fromEntries(leaves.map(({ value }, i) => [i, value]));
  const found = agreeing(values, holds, 2);
  const said = (part) =>
    part.sum ? `(${part.sum.map(said).join(" + ")})` : found.texts[leaves.indexOf(part)].replace(/^0\./, ".");
  const words =
    rates && parts[1]?.name === "q"
      ? "p/q"
      : parts.length > 1
        ? parts.map(said).join(between)
        : letters[from.name].sign;
  const meaning = ({ sum, name }) =>
    sum ? `(${sum.map(meaning).join(" + ")})` : (letters[name]?.words ?? "p/q of this token");
  const meant = parts.map(meaning).join(between);
  return h(
    "span.hp-origin",
    { "title": meant, "data-from": from.of && !rates ? "masses" : "chances" },
    from.of?.every(({ value }) => !value)
      ? "0 ÷ 0: nothing to correct"
      : `${words} ${shown.startsWith("≈") ? "" : found.holds ? "= " : "≈ "}${shown}`,
    cut && h("span.hp-cut", ", at most 1"),
  );
}

/** A line from 0 to 1 of which the part below the threshold passes, and the coin on it; null: not known. */
function gauge(coin, threshold, { drag = null, ...attributes } = {}) {
  const at = (x) => `--hp-at:${(100 * Math.min(x, 1)).toFixed(2)}%`;
  return h(
    "span.hp-gauge",
    attributes,
    threshold === null ? null : h("span.hp-gauge-zone", { style: at(threshold) }),
    coin === null ? null : h("span.hp-gauge-coin", { style: at(coin), title: drag }),
  );
}

const unmade = (threshold) => (threshold === null ? null : `threshold ${number(threshold)}; the test was not made`);

/**
 * Scroll a drawing, not the page, so that a part of it is in sight.
 * @param {Element} scroller
 * @param {Element | null} part
 * @param {number} [beyond] pixels that should be in sight to the right of it
 * @param {number} [covered] pixels at the left of the drawing that names cover
 */
function follow(scroller, part, beyond = 0, covered = 0) {
  if (!part) return;
  const [box, inner] = [scroller.getBoundingClientRect(), part.getBoundingClientRect()];
  const inside = inner.left >= box.left + covered && inner.right + beyond <= box.right;
  if (!inside) scroller.scrollLeft += inner.left - box.left - Math.max(box.width / 3, covered);
  if (inner.top < box.top || inner.bottom > box.bottom) scroller.scrollTop += inner.top - box.top - box.height / 3;
}

export { brief, chances, follow, gauge, level, masses, trial };

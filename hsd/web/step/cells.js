// What stands under one token, as elements without any state: its chances, the masses of a branch,
// a test as a line with coin and threshold. The board is made of them; so are other screens that
// show a part of a step.
import { h } from "../kit/dom.js";
import { apart, exact, number, short, shortest } from "../kit/format.js";
import { term } from "../kit/glossary.js";
import { evaluate } from "../rules/expression.js";
import { letters } from "../rules/tests.js";
import { comparedAt, origin } from "./rejudge.js";
import { decisive, rho } from "./model.js";

/**
 * A bar of a share with its number, or other words; name: what stands before it, if anything.
 * @param {string} kind
 * @param {number} value
 * @param {{name?: string, words?: string} & Attributes} [more]
 * @returns {HTMLElement}
 */
function level(kind, value, { name, words = short(value), ...attributes } = {}) {
  const width = `width:${(100 * Math.min(value, 1)).toFixed(1)}%`;
  const track = h("span.hp-level-track", h("span.hp-segment", { class: kind, style: width }));
  return h("span.hp-level", attributes, name && h("i.hp-level-name", name), track, h("b", words));
}

/**
 * q, p and their ratio. q, p: attributes of their lines, such as the beat at which they appear.
 * @type {(node: TreeNode, attributes?: {q?: Attributes, p?: Attributes}) => HTMLElement[]}
 */
function chances(node, { q = {}, p = {} } = {}) {
  const ratio = rho(node);
  const css = ratio < 1 ? "span.hp-rho.is-low" : "span.hp-rho";
  return [
    level("is-q", node.q, {
      name: "q",
      title: `q ${short(node.q)}`,
      ...q,
    }),
    level("is-p", node.p, {
      name: "p",
      title: `p ${short(node.p)}`,
      ...p,
    }),
    h(css, p, term("rho", "p/q"), " ", h("b", short(ratio))),
  ];
}

/**
 * What the draft gives too much and too little to the tokens that may follow; nothing of a branch
 * that is not known.
 * @param {Record<"excess" | "deficient", number> | null | undefined} branch
 */
function masses(branch) {
  if (!branch) return [];
  return /** @type {const} */ (["excess", "deficient"]).map((kind) => {
    const mass = branch[kind];
    return level(`is-${kind}`, mass, { title: `${kind} ${number(mass)}` });
  });
}

const BAR = "no coin: what p must exceed here, and the coloured part is p";
const COMMON = {
  pass: "✓",
  fail: "✕",
  carried: "✓ kept with it",
  none: "– not reached",
};
const OWN = { kept: "✓ kept", dropped: "✕ not kept" };
const WORDS = { ...COMMON, ...OWN, back: "✕ step back", out: "✕ none is kept" };

/** @typedef {keyof typeof COMMON} TestState */

/**
 * What a rule did at a token: its test that counts, null where it made none, and what came of it,
 * in a word and in words.
 * @param {StepView} view
 * @param {Judged} judged
 * @param {number} id
 * @returns {{test: ReadTest | null, state: TestState, verdict: HTMLElement}}
 */
function outcomeAt(view, judged, id) {
  const test = decisive(judged, id);
  const state = stateOf(judged, id, test);
  /** @type {keyof typeof WORDS} */
  let words = state;
  if (judged.info.own) words = judged.path.has(id) ? "kept" : "dropped";
  else if (state === "fail" && !judged.info.forward)
    words = view.depth.get(id) > 1 ? "back" : "out";
  return { test, state, verdict: h("b", WORDS[words]) };
}

/**
 * What came of a token's test, in a word; of a token without one, whether the rule keeps it.
 * @type {(judged: Judged, id: number, test: ReadTest | null) => TestState}
 */
function stateOf(judged, id, test) {
  if (test) return test.accepted ? "pass" : "fail";
  if (judged.info.own) return judged.path.has(id) ? "pass" : "fail";
  return judged.path.has(id) ? "carried" : "none";
}

/**
 * A rule's test at a token: a line from 0 to 1 with its coin, and the verdict in words. drag: what
 * the coin's title offers.
 * @param {StepView} view
 * @param {Judged} judged
 * @param {number} id
 * @param {string | null} [drag]
 * @returns {{state: TestState, parts: Child[]}}
 */
function trial(view, judged, id, drag = null) {
  const { test, state, verdict } = outcomeAt(view, judged, id);
  const { sides, coinless, sign } = comparedAt(view, id, judged, test);
  const [coin, threshold] = sides;
  const digits = apart(coin, threshold, 2, 1);
  const unmade = `threshold ${number(threshold)}; the test was not made`;
  // with other coins, what a rule of one's own would keep is not known
  const offered = view.own.info.own ? null : drag;
  const line =
    judged.info.own?.coins !== false &&
    gauge(coin, threshold, {
      "data-coin": coinless || view.own.info.own ? null : id,
      "title": test || threshold === null ? null : unmade,
      "drag": coinless ? BAR : offered,
    });
  if (!test) return { state, parts: [line, h("span.hp-trial-words", h("span"), verdict)] };
  const compared = compare(test, coinless ? `${sign} ` : "");
  const words = h("span.hp-trial-words", h("span", `${compared} `), verdict);
  const made = source(origin(view, judged, id), test.threshold, digits);
  return { state, parts: [line, words, made] };
}

/**
 * A number for a tight place, "≈1" where it is long because it is nearly 1; digits: how many, and
 * of a small one.
 * @type {(x: Maybe, digits: [number, number]) => string}
 */
function tight(x, digits) {
  const text = exact(x, ...digits).replace(/^0\./, ".");
  return text.startsWith(".999") && text.length > digits[0] + 3 ? "≈1" : text;
}

/**
 * Both numbers of a test; sign: what stands before the second one.
 * @type {(test: ReadTest, sign?: string) => string}
 */
function compare({ sides, accepted }, sign = "") {
  const digits = apart(...sides, 2, 1);
  const [low, high] = sides.map((x) => tight(x, digits));
  return `${low} ${accepted ? "<" : "≥"} ${sign}${high}`;
}

const OPERATORS = /** @type {Record<string, string>} */ ({ "/": " ÷ ", "*": " × ", "+": " + " });

/**
 * An expression in a line, its sums in brackets.
 * @type {(tree: Expression, leaf: (name: string) => string) => string}
 */
function line(tree, leaf) {
  if (!Array.isArray(tree)) return leaf(String(tree));
  const [sign, ...parts] = tree;
  const text = parts.map((part) => line(part, leaf)).join(OPERATORS[String(sign)]);
  return sign === "+" ? `(${text})` : text;
}

/** The names in an expression. @type {(tree: Expression) => string[]} */
function leaves(tree) {
  if (!Array.isArray(tree)) return [String(tree)];
  return tree.slice(1).flatMap(leaves);
}

/**
 * Where a threshold comes from, such as ".64 ÷ .97 = .66", which are the masses of a branch;
 * digits: of the threshold.
 * @param {ThresholdOrigin | null} given
 * @param {number} threshold
 * @param {[number, number]} digits
 * @returns {HTMLElement | null}
 */
function source(given, threshold, digits) {
  if (!given) return null;
  const { tree, value, numbers, letter } = given;
  const cut = value > 1;
  const result = (/** @type {Maybe} */ x) => tight(x, cut ? [2, 1] : digits);
  const shown = result(cut ? value : threshold);
  const fits = (/** @type {Numbers} */ rounded) => result(evaluate(tree, rounded)) === shown;
  const { texts, holds } = shortest(numbers, fits, 2);
  const [sign, ...parts] = Array.isArray(tree) ? tree : ["", tree];
  const short = (/** @type {string} */ name) => texts[name].replace(/^0\./, ".");
  const alone = parts.length === 1 ? letters[letter(String(tree))].sign : line(tree, short);
  const nothing = sign === "/" && parts.every((part) => !evaluate(part, numbers));
  const title = line(tree, (name) => letters[letter(name)]?.words ?? "p/q of this token");
  const equals = holds ? "= " : "≈ ";
  const isRatio = parts[0] === "p" && parts[1] === "q";
  const left = isRatio ? "p/q" : alone;
  const equation = `${left} ${shown.startsWith("≈") ? "" : equals}${shown}`;
  const words = [
    nothing ? "0 ÷ 0: nothing to correct" : equation,
    cut && h("span.hp-cut", ", at most 1"),
  ];
  return h("span.hp-origin", { title, "data-from": leaves(tree).join(" ") }, words);
}

/**
 * A line from 0 to 1 of which the part below the threshold passes, and the coin on it; null: not
 * known.
 * @param {number | null} coin
 * @param {number | null} threshold
 * @param {{drag?: string | null} & Attributes} [attributes] drag: the title of the coin
 * @returns {HTMLElement}
 */
function gauge(coin, threshold, { drag = null, ...attributes } = {}) {
  const at = (/** @type {number} */ x) => `--hp-at:${(100 * Math.min(x, 1)).toFixed(2)}%`;
  const zone = threshold !== null && h("span.hp-gauge-zone", { style: at(threshold) });
  const mark = coin !== null && h("span.hp-gauge-coin", { style: at(coin), title: drag });
  return h("span.hp-gauge", attributes, zone, mark);
}

/**
 * Show what of a drawing has appeared by a beat, mark what appears at it, and turn tokens into what
 * became of them.
 * @type {(drawing: Element, now: number) => void}
 */
function appear(drawing, now) {
  /** @type {NodeListOf<HTMLElement>} */
  const parts = drawing.querySelectorAll("[data-at]");
  for (const part of parts) {
    const { at, turn, verdict } = part.dataset;
    part.classList.toggle("is-later", Number(at) > now);
    part.classList.toggle("is-current", Number(at) === now);
    if (turn) part.classList.toggle(`is-${verdict}`, Number(turn) <= now);
  }
}

/**
 * Scroll a drawing, not the page, so that a part of it is in sight. beyond: pixels in sight to the
 * right of it; covered: pixels at its left that names cover.
 * @type {(scroller: Element, part: Element | null, beyond?: number, covered?: number) => void}
 */
function follow(scroller, part, beyond = 0, covered = 0) {
  if (!part) return;
  const box = scroller.getBoundingClientRect();
  const inner = part.getBoundingClientRect();
  const inside = inner.left >= box.left + covered && inner.right + beyond <= box.right;
  if (!inside) {
    const margin = Math.max(box.width / 3, covered);
    scroller.scrollLeft += inner.left - box.left - margin;
  }
  if (inner.top < box.top || inner.bottom > box.bottom)
    scroller.scrollTop += inner.top - box.top - box.height / 3;
}

export { appear, chances, compare, follow, gauge, leaves, level, masses, outcomeAt, tight, trial };

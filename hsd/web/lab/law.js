// The third card: what one step and the target after it write, sequence by sequence, target against
// the chosen rule.
import { h } from "../kit/dom.js";
import { card, say } from "../kit/controls.js";
import { digits, marginal, ROUNDING, shownLength } from "../rules/audit.js";
import { totalVariation } from "../rules/divergence.js";
import { LETTERS } from "./state.js";
import { four, lawHint, lawSentence } from "./words.js";

/** The card. */
function law() {
  const bars = h("ol.hf-law");
  const verdict = h("p.hf-say.hf-law-say");
  const hint = h("span");
  const element = card("hf-output", "What comes out", hint, verdict, legend(), bars);

  function update(/** @type {LabView} */ { valid, exact }) {
    const shown = shownLength(valid.vocab, valid.gamma);
    const audit = exact.rules[valid.rule];
    const target = marginal(exact.target, valid.vocab, shown);
    const output = marginal(audit.output, valid.vocab, shown);
    const distance = totalVariation(target, output);
    say(hint, lawHint(valid.vocab, valid.gamma, shown));
    say(verdict, lawSentence(audit, distance, shown, valid.gamma));
    bars.classList.toggle("is-few", target.length <= 9);
    bars.replaceChildren(...drawBars({ shown, target, output }, valid.vocab));
  }

  return { element, update };
}

function legend() {
  const item = (/** @type {string} */ css, /** @type {string} */ words) =>
    h("span", h(`i.hp-swatch.${css}`), words);
  return h(
    "p.hp-hint.hp-keyline.hf-legend",
    item("is-p", "target and rule agree"),
    item("is-excess", "rule writes it too often"),
    item("is-deficient", "too rarely"),
  );
}

/**
 * A bar for each sequence of the first tokens.
 * @param {{shown: number, target: number[], output: number[]}} bars - how many tokens, and the laws
 *   of target and rule
 * @param {number} vocab
 */
function drawBars({ shown, target, output }, vocab) {
  const top = Math.max(...target, ...output);
  const at = (/** @type {number} */ x) => `${((100 * x) / top).toFixed(3)}%`;
  return target.map((mass, i) => {
    const tokens = digits(i, shown, vocab)
      .map((x) => LETTERS[x])
      .join(" ");
    return h(
      "li.hf-seq",
      h("span.hf-seq-name", tokens),
      h("span.hf-seq-bar", pieces(mass, output[i], at)),
      h("span.hf-seq-value", values(mass, output[i])),
    );
  });
}

/** A part of a bar, in CSS lengths. @type {(from: string, to: string) => string} */
const span = (from, to) => `left:${from};width:calc(${to} - ${from})`;

/**
 * The pieces of a bar: the probability that target and rule share, and what either has more.
 * @param {number} target
 * @param {number} output
 * @param {(x: number) => string} at - the place of a probability on a bar, as a CSS length
 */
function pieces(target, output, at) {
  const both = Math.min(target, output);
  const piece = (/** @type {string} */ css, /** @type {number} */ from, /** @type {number} */ to) =>
    h(`span.hp-segment.hf-piece.${css}`, { style: span(at(from), at(to)) });
  const off = Math.abs(target - output) >= ROUNDING;
  const css = output > target ? "is-excess" : "is-deficient";
  return [piece("is-p", 0, both), off && piece(css, both, Math.max(target, output))];
}

/**
 * The target's probability, and the rule's where it is another.
 * @type {(target: number, output: number) => Child}
 */
function values(target, output) {
  const text = (/** @type {number} */ x) => (x === 0 ? "0" : four(x));
  if (Math.abs(target - output) < ROUNDING) return text(target);
  return [text(target), h("b", ` ${output > target ? "▴" : "▾"} ${text(output)}`)];
}

export { law };

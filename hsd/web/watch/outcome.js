// The answer to the title, in one line over the run: how many tokens a call of the target brings,
// how fast that was, what both rules keep by law, and whether the text is still the target's.
import { why } from "../answers/answers.js";
import { h } from "../kit/dom.js";
import { rule as ruleFacts } from "../kit/facts.js";
import { number, placesOf, plural, same } from "../kit/format.js";
import { term } from "../kit/glossary.js";
import { showTab } from "../kit/page.js";
import { lossy } from "../kit/controls.js";
import { exactly, infoOf } from "../step/model.js";
import { compare, spread } from "../step/sums.js";

const RECORDED =
  "every number of every step was recorded, which takes longer than decoding alone: a race has speeds";

/**
 * The line: its element, and fill(trace, timed, cost), which shows a run. timed: its speed beside
 * plain decoding, null where that was not measured; cost: words on what a check of its draft costs
 * where it was decoded.
 */
function create() {
  const element = h("div.hsd-kit.hf-outcome", { "role": "group", "aria-label": "What came of it" });

  /** @type {(trace: Trace, timed: Timing | null, cost?: string) => void} */
  function fill(trace, timed, cost = "") {
    const { steps } = trace;
    const words = steps.length
      ? [calls(steps), ...speed(trace, timed), law(trace), exact(trace), cost]
      : [];
    const parts = words.filter(Boolean).map((part) => h("span.hf-outcome-part", part));
    element.replaceChildren(...parts);
    element.hidden = !parts.length;
  }

  return { element, fill };
}

const strong = (/** @type {string} */ words) => h("b", words);
/** @type {(steps: Step[], of: (step: Step) => number) => number} */
const sum = (steps, of) => steps.reduce((total, step) => total + of(step), 0);
/** How many tokens the steps wrote. @param {Step[]} steps */
const written = (steps) => sum(steps, ({ committed }) => committed.length);

/** The words on the tokens per call of the target. @param {Step[]} steps */
function calls(steps) {
  const count = sum(steps, (step) => step.target_calls);
  const rate = number(written(steps) / Math.max(count, 1));
  return [strong(rate), " ", term("block-efficiency", "tokens per target call")];
}

/**
 * The words on tokens per second and times plain decoding, both of the same rounds; of a run that
 * was recorded and not timed, a button to race it.
 * @type {(trace: Trace, timed: Timing | null) => Child[]}
 */
function speed({ steps, setup }, timed) {
  const isPlain = setup.options.system === "plain";
  if (!timed) {
    const open = () => showTab("speed");
    const race = h("button.hf-link", { type: "button", onclick: open }, "race it");
    const words = h("span", { title: RECORDED }, "speed: not timed");
    return [words, isPlain || why("race") ? null : race];
  }
  const tokens = written(steps);
  const rate = timed.tokens_per_second;
  const how = `${timed.rounds} rounds in turn with plain decoding, medians`;
  const machine = `${timed.processor}, load ${timed.load}`;
  const title = `${plural(tokens, "token")} in ${number(tokens / rate)} s: ${how}; ${machine}`;
  const words = h("span", { title }, strong(number(rate)), " tokens/s");
  const times = strong(`${timed.times.toFixed(2)} ×`);
  return [words, isPlain ? null : [times, " ", term("speed-up", "plain decoding")]];
}

/**
 * The words on the tokens per call that both rules bring by law on these drafts, and on their
 * difference with its interval.
 * @param {Trace} trace
 */
function law({ steps, setup }) {
  const rules = compare({ steps }).filter((/** @type {RuleSums} */ { mean }) => mean !== null);
  if (setup.options.sampling.temperature === 0 || rules.length < 2) return null;
  const [own, beside] = rules.map(({ mean }) => 1 + (mean ?? 0) / steps.length);
  const half = spread(steps, [rules[0], rules[1]]);
  const places = placesOf(own, beside);
  const level = same(own, beside);
  const words = (/** @type {RuleSums} */ { rule }, /** @type {number} */ value) => {
    const digits = strong(value.toFixed(places));
    return [ruleFacts(rule).short, " ", digits];
  };
  const sign = own < beside ? "−" : "+";
  const gap = sign + Math.abs(own - beside).toFixed(places);
  const error = half === null ? "" : ` ± ${half.toFixed(places)}`;
  const both = level
    ? ["both ", strong(level)]
    : [words(rules[0], own), ", ", words(rules[1], beside), ` (${gap}${error})`];
  const title =
    "tokens per call on average, on the drafts of this run; ±: 95 % interval of the difference, " +
    `by Student's t over ${plural(steps.length, "step")}, shown for ten or more`;
  return h("span", { title }, term("over-all-coins", "over all coins"), " ", both);
}

/**
 * The words on whether the text is still the target's: at temperature 0 word for word, else every
 * text comes as often as from the target. A token that was forced does not count.
 * @param {Trace} trace
 */
function exact({ setup, prompt }) {
  const { system, sampling, rule } = setup.options;
  const info = infoOf(setup.options, rule);
  if (system !== "plain" && (info.own || !exactly(setup, rule))) return lossy(info);
  const after = prompt.forced ? " after the forced token" : "";
  return [
    term("lossless", "lossless"),
    sampling.temperature === 0 ? ", word for word" : " in law",
    after,
  ];
}

export { create };

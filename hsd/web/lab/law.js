// The third card: what one step and the target after it write, sequence by sequence, target against the chosen rule;
// and a simulation whose error bars close in on it.
import { h, label, s } from "../kit/dom.js";
import { count, student } from "../kit/format.js";
import { button, card, field, say, setField } from "../kit/parts.js";
import { digits, marginal, ROUNDING, shownLength } from "../rules/audit.js";
import { totalVariation } from "../rules/divergence.js";
import { deviation, interval, meanKept } from "../rules/sample.js";
import { LETTERS } from "./state.js";
import { capital, four, lawHint, lawSentence, short, trialSentence } from "./words.js";

/** The card. @param {LabActions} actions */
function law(actions) {
  const bars = h("ol.hf-law");
  const verdict = h("p.hf-say.hf-law-say");
  const hint = h("span");
  const trial = trialPanel(actions);
  const body = h("div.hf-output-body", h("div", legend(), bars), trial.element);
  const element = card("hf-output", "What comes out", hint, verdict, body);

  function update(/** @type {LabView} */ view) {
    const { valid, exact, simulation } = view;
    const shown = shownLength(valid.vocab, valid.gamma);
    const audit = exact.rules[valid.rule];
    const [target, output] = [exact.target, audit.output].map((law) => marginal(law, valid.vocab, shown));
    const { trials = 0, counts: all = [] } = simulation?.state ?? {};
    const counts = trials ? marginal(all, valid.vocab, shown) : null;
    const rows = { shown, target, output, counts, trials, distance: totalVariation(target, output) };
    say(hint, lawHint(valid.vocab, valid.gamma, shown));
    say(verdict, lawSentence(audit, rows.distance, shown, valid.gamma));
    bars.classList.toggle("is-few", rows.target.length <= 9);
    bars.replaceChildren(...drawBars(rows, valid.vocab));
    trial.update(view, rows);
  }

  return { element, update };
}

function legend() {
  const item = (/** @type {string} */ css, /** @type {string} */ words) => h("span", h(`i.hp-swatch.${css}`), words);
  return h(
    "p.hp-hint.hp-keyline.hf-legend",
    item("is-p", "target and rule agree"),
    item("is-excess", "rule writes it too often"),
    item("is-deficient", "too rarely"),
    item("is-trial", "simulated, 95 %"),
  );
}

/** A bar for each sequence. @type {(bars: LabBars, vocab: number) => HTMLElement[]} */
function drawBars({ shown, target, output, counts, trials }, vocab) {
  const intervals = counts?.map((n) => interval(n, trials));
  const top = Math.max(...target, ...output, ...(intervals ?? []).map(([, high]) => Math.min(high, 1)));
  const at = (/** @type {number} */ x) => `${((100 * x) / top).toFixed(3)}%`;
  return target.map((mass, i) => {
    const tokens = digits(i, shown, vocab)
      .map((x) => LETTERS[x])
      .join(" ");
    const simulated = counts && intervals && whisker(counts[i] / trials, intervals[i], at);
    return h(
      "li.hf-seq",
      h("span.hf-seq-name", tokens),
      h("span.hf-seq-bar", pieces(mass, output[i], at), simulated),
      h("span.hf-seq-value", values(mass, output[i])),
    );
  });
}

/** A part of a bar, in CSS lengths. @type {(from: string, to: string) => string} */
const span = (from, to) => `left:${from};width:calc(${to} - ${from})`;

/** What target and rule share, and what one has more. @type {(target: number, output: number, at: LabScale) => Child[]} */
function pieces(target, output, at) {
  const both = Math.min(target, output);
  const piece = (/** @type {string} */ css, /** @type {number} */ from, /** @type {number} */ to) =>
    h(`span.hp-segment.hf-piece.${css}`, { style: span(at(from), at(to)) });
  const off = Math.abs(target - output) >= ROUNDING;
  return [
    piece("is-p", 0, both),
    off && piece(output > target ? "is-excess" : "is-deficient", both, Math.max(target, output)),
  ];
}

/** What a simulation says of a sequence. @type {(share: number, interval: [number, number], at: LabScale) => Child[]} */
function whisker(share, [low, high], at) {
  return [h("span.hf-whisker", { style: span(at(low), at(high)) }), h("span.hf-dot", { style: `left:${at(share)}` })];
}

/** The target's probability, and the rule's where it is another. @type {(target: number, output: number) => Child} */
function values(target, output) {
  const text = (/** @type {number} */ x) => (x === 0 ? "0" : four(x));
  if (Math.abs(target - output) < ROUNDING) return text(target);
  return [text(target), h("b", ` ${output > target ? "▴" : "▾"} ${text(output)}`)];
}

// ---- the simulation

/** The simulation. @param {LabActions} actions */
function trialPanel(actions) {
  const main = { class: "is-main" };
  const start = button("▶ Simulate 10,000 steps", "run the real sampling process", actions.simulate, main);
  const seed = field("seed of the simulation", actions.seed, { class: "hp-field hf-seed", inputmode: "numeric" });
  const fresh = button("New seed", "another seed", () => actions.seed(String(Math.floor(Math.random() * 100000))));
  const sentence = h("p.hf-say.hf-trial-say", { role: "status" });
  const plot = h("div");
  const tools = h("div.hp-row", start, h("label.hf-label", "seed", seed), fresh);
  const element = h("div.hp-box.hf-trial", tools, sentence, plot);

  function update(/** @type {LabView} */ { valid, exact, simulation, running }, /** @type {LabBars} */ rows) {
    start.disabled = running;
    setField(seed, String(valid.seed));
    const audit = exact.rules[valid.rule];
    plot.replaceChildren(simulation?.state.trials ? chart(simulation, audit, valid.gamma) : prompt(audit));
    say(sentence, running || !simulation ? "" : conclusion(valid.rule, audit, rows));
  }

  return { element, update };
}

/** What stands there before a simulation. @param {Audit} audit */
const prompt = (audit) =>
  h(
    "p.hp-hint",
    `Draw drafts, throw coins and draw corrections with ${short(audit.name)}, 10,000 times, and see the estimates close in on the exact numbers.`,
  );

/** What came of it. @type {(name: string, audit: Audit, bars: LabBars) => string} */
function conclusion(name, audit, { target: law, output, counts, trials, distance: shownDistance }) {
  if (!counts) return "";
  const [target, own] = [law, output].map((masses) => deviation(counts, masses, trials));
  return trialSentence({ name, trials, target, own, exactHere: audit.exact, shownDistance });
}

/** The running mean of kept tokens with its 95 % band, over the number of steps; the exact number is a dashed line. @type {(run: LabRun, audit: Audit, gamma: number) => HTMLElement} */
function chart({ history, state }, audit, gamma) {
  const { mean, error } = meanKept(state);
  const half = (/** @type {{trials: number, error: number}} */ one) => student(Math.max(one.trials - 1, 1)) * one.error;
  const [width, height, left, base] = [320, 150, 8, 128];
  const span = Math.max(...history.map((one) => Math.abs(one.mean - audit.kept) + half(one)).slice(1), 0.02 * gamma);
  const x = (/** @type {number} */ n) => left + ((width - 2 * left) * n) / 10000;
  const y = (/** @type {number} */ value) => 68 - Math.max(Math.min((56 * (value - audit.kept)) / span, 60), -56);
  const path = (/** @type {number[][]} */ points) =>
    points.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");
  const upper = history.map((one) => [one.trials, one.mean + half(one)]);
  const lower = history.map((one) => [one.trials, one.mean - half(one)]).reverse();
  /** @type {(x: number, y: number, words: string, anchor: string) => Element} */
  const text = (x, y, words, anchor) => label(x, y, words, undefined, { "text-anchor": anchor });
  const line = (/** @type {string} */ css, /** @type {number} */ at) =>
    s(`line.${css}`, { x1: left, x2: width - left, y1: at, y2: at });
  const now = `${four(mean)} ± ${four(half({ trials: state.trials, error }))}`;
  const keeps = h("b", `${capital(short(audit.name))} keeps ${now}`);
  const spoken = `estimate ${now}, exact ${four(audit.kept)}`;
  return h(
    "figure.hf-figurebox",
    h("figcaption", keeps, ` after ${count(state.trials)} steps; exact ${four(audit.kept)}`),
    s(
      "svg",
      { "viewBox": `0 0 ${width} ${height}`, "role": "img", "aria-label": spoken },
      s("path.hf-band", { d: `${path([...upper, ...lower])}Z` }),
      s("path.hf-mean", { d: path(history.map((one) => [one.trials, one.mean])) }),
      line("hf-exact", y(audit.kept)),
      line("hf-axis", base),
      text(left, base + 15, "0", "start"),
      text(width - left, base + 15, "10,000 steps", "end"),
      text(width - left, y(audit.kept) - 5, "exact", "end"),
    ),
  );
}

export { law };

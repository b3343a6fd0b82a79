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

function law(actions) {
  const bars = h("ol.hl-law");
  const verdict = h("p.hl-say.hl-law-say");
  const hint = h("span");
  const trial = trialPanel(actions);
  const body = h("div.hl-output-body", h("div", legend(), bars), trial.element);
  const element = card("hl-output", "What comes out", hint, verdict, body);

  function update(view) {
    const { valid, exact, simulation } = view;
    const shown = shownLength(valid.vocab, valid.gamma);
    const found = exact.rules[valid.rule];
    const rows = {
      shown,
      target: marginal(exact.target, valid.vocab, shown),
      output: marginal(found.output, valid.vocab, shown),
      counts: simulation && simulation.state.trials ? marginal(simulation.state.counts, valid.vocab, shown) : null,
      trials: simulation ? simulation.state.trials : 0,
    };
    rows.distance = totalVariation(rows.target, rows.output);
    say(hint, lawHint(valid.vocab, valid.gamma, shown));
    say(verdict, lawSentence(found, rows.distance, shown, valid.gamma));
    bars.classList.toggle("is-few", rows.target.length <= 9);
    bars.replaceChildren(...drawBars(rows, valid.vocab));
    trial.update(view, rows);
  }

  return { element, update };
}

function legend() {
  const item = (css, words) => h("span", h(`i.hp-swatch.${css}`), words);
  return h(
    "p.hp-hint.hp-keyline.hl-legend",
    item("is-p", "target and rule agree"),
    item("is-excess", "rule writes it too often"),
    item("is-deficient", "too rarely"),
    item("is-trial", "simulated, 95 %"),
  );
}

function drawBars({ shown, target, output, counts, trials }, vocab) {
  const intervals = counts && counts.map((n) => interval(n, trials));
  const top = Math.max(...target, ...output, ...(intervals || []).map(([, high]) => Math.min(high, 1)));
  const at = (x) => `${((100 * x) / top).toFixed(3)}%`;
  return target.map((mass, i) => {
    const tokens = digits(i, shown, vocab)
      .map((x) => LETTERS[x])
      .join(" ");
    const simulated = counts && whisker(counts[i] / trials, intervals[i], at);
    return h(
      "li.hl-seq",
      h("span.hl-seq-name", tokens),
      h("span.hl-seq-bar", pieces(mass, output[i], at), simulated),
      h("span.hl-seq-value", values(mass, output[i])),
    );
  });
}

const span = (from, to) => `left:${from};width:calc(${to} - ${from})`;

function pieces(target, output, at) {
  const both = Math.min(target, output);
  const piece = (css, from, to) => h(`span.hp-segment.hl-piece.${css}`, { style: span(at(from), at(to)) });
  const off = Math.abs(target - output) >= ROUNDING;
  return [
    piece("is-p", 0, both),
    off && piece(output > target ? "is-excess" : "is-deficient", both, Math.max(target, output)),
  ];
}

function whisker(share, [low, high], at) {
  return [h("span.hl-whisker", { style: span(at(low), at(high)) }), h("span.hl-dot", { style: `left:${at(share)}` })];
}

/** The target's probability, and the rule's where it is another. */
function values(target, output) {
  const text = (x) => (x === 0 ? "0" : four(x));
  if (Math.abs(target - output) < ROUNDING) return text(target);
  return [text(target), h("b", ` ${output > target ? "▴" : "▾"} ${text(output)}`)];
}

// ---- the simulation

function trialPanel(actions) {
  const main = { class: "is-main" };
  const start = button("▶ Simulate 10,000 steps", "run the real sampling process", actions.simulate, main);
  const seed = field("seed of the simulation", actions.seed, { class: "hp-field hl-seed", inputmode: "numeric" });
  const fresh = button("New seed", "another seed", () => actions.seed(String(Math.floor(Math.random() * 100000))));
  const sentence = h("p.hl-say.hl-trial-say", { role: "status" });
  const plot = h("div");
  const tools = h("div.hl-tools", start, h("label.hl-label", "seed", seed), fresh);
  const element = h("div.hl-trial", tools, sentence, plot);

  function update({ valid, exact, simulation, running }, rows) {
    start.disabled = Boolean(running);
    setField(seed, String(valid.seed));
    const found = exact.rules[valid.rule];
    plot.replaceChildren(simulation && simulation.state.trials ? chart(simulation, found, valid.gamma) : prompt(found));
    say(sentence, running || !simulation ? "" : conclusion(valid.rule, found, rows));
  }

  return { element, update };
}

const prompt = (found) =>
  h(
    "p.hp-hint",
    `Draw drafts, throw coins and draw corrections with ${short(found.name)}, 10,000 times, and see the estimates close in on the exact numbers.`,
  );

function conclusion(name, found, { target, output, counts, trials, distance }) {
  return trialSentence({
    name,
    trials,
    target: deviation(counts, target, trials),
    own: deviation(counts, output, trials),
    exactHere: found.exact,
    shownDistance: distance,
  });
}

/** The running mean of kept tokens with its 95 % band, over the number of steps; the exact number is a dashed line. */
function chart({ history, state }, found, gamma) {
  const { mean, error } = meanKept(state);
  const half = (one) => student(Math.max(one.trials - 1, 1)) * one.error;
  const [width, height, left, base] = [320, 150, 8, 128];
  const span = Math.max(...history.map((one) => Math.abs(one.mean - found.kept) + half(one)).slice(1), 0.02 * gamma);
  const x = (n) => left + ((width - 2 * left) * n) / 10000;
  const y = (value) => 68 - Math.max(Math.min((56 * (value - found.kept)) / span, 60), -56);
  const path = (points) => points.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");
  const upper = history.map((one) => [one.trials, one.mean + half(one)]);
  const lower = history.map((one) => [one.trials, one.mean - half(one)]).reverse();
  const text = (x, y, words, anchor) => label(x, y, words, null, { "text-anchor": anchor });
  const line = (css, at) => s(`line.${css}`, { x1: left, x2: width - left, y1: at, y2: at });
  const now = `${four(mean)} ± ${four(half({ trials: state.trials, error }))}`;
  const keeps = h("b", `${capital(short(found.name))} keeps ${now}`);
  const told = `estimate ${now}, exact ${four(found.kept)}`;
  return h(
    "figure.hl-figurebox",
    h("figcaption", keeps, ` after ${count(state.trials)} steps; exact ${four(found.kept)}`),
    s(
      "svg",
      { "viewBox": `0 0 ${width} ${height}`, "role": "img", "aria-label": told },
      s("path.hl-band", { d: `${path([...upper, ...lower])}Z` }),
      s("path.hl-mean", { d: path(history.map((one) => [one.trials, one.mean])) }),
      line("hl-exact", y(found.kept)),
      line("hl-axis", base),
      text(left, base + 15, "0", "start"),
      text(width - left, base + 15, "10,000 steps", "end"),
      text(width - left, y(found.kept) - 5, "exact", "end"),
    ),
  );
}

export { law };

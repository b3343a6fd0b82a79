// What the FSD panel knows: its settings, what a calibration makes of a tolerance, and what a step did. Pure; no page.
import { DIVERGENCES, fuzzy, readStep, written } from "../player/model.js";

const MODES = { "exact-first": "Exact test first", "divergence-only": "Divergence only" };
const GROUNDS = { warped: "Rows sampled from", raw: "Raw rows" };
const TEXTS = {
  sums: {
    title: "Sums",
    prompt:
      "Question: Dan is 8 years old, and Oscar is 2 years older than Dan. How old will Oscar be in 4 years?\nAnswer:",
  },
  stories: {
    title: "Stories",
    prompt: "Once upon a time, there was a little girl named Lily. She had a red ball. One day,",
  },
};
const NUMBER = /^-?\d{0,6}(\.\d{0,8})?(e[+-]?\d{1,3})?$/i;
const FIXED = { rule: "fuzzy", shadow: "tokenwise", system: "speculative", gamma: 5, drafts: 1, length: 64 };

const START = { text: "stories", divergence: "kl", mode: "exact-first", on: "warped" };
const start = () => ({ ...START, tolerance: "0.75", temperature: "1", seed: "0", prompt: TEXTS.stories.prompt });

/** The settings as a request has them, with all that a recorded run had besides. */
const asked = (state) => ({
  ...FIXED,
  ...state.more,
  prompt: state.prompt,
  divergence: state.divergence,
  fuzzy_mode: state.mode,
  divergence_on: state.on,
  tolerance: state.tolerance,
  temperature: state.temperature,
  seed: state.seed,
});

/** The settings that a recorded run was made with; `more` are those that have no control here. */
function fromAsked(given) {
  const { prompt, divergence, fuzzy_mode: mode, divergence_on: on, tolerance, temperature, seed } = given;
  const text = prompt.startsWith("Question:") ? "sums" : "stories";
  const numbers = { tolerance: String(tolerance), temperature: String(temperature), seed: String(seed) };
  return {
    text,
    divergence,
    mode,
    on,
    ...numbers,
    prompt,
    more: { top_p: given.top_p, gamma: given.gamma, length: given.length },
  };
}

// ---- calibration: the tolerances of the shares 0, 5, … 100 %

function tolerances(results, { text, on, divergence }) {
  const table = results && results.texts[text];
  return table ? table.calibration.tolerances[on][divergence] : null;
}

/** The share of what would be rejected that a tolerance accepts: the largest measured one whose tolerance it reaches. */
function shareOf(results, state) {
  const known = tolerances(results, state);
  const T = Number(state.tolerance);
  if (!known || state.tolerance === "" || Number.isNaN(T)) return null;
  return results.shares.reduce((best, share, i) => (known[i] <= T ? share : best), 0);
}

// ---- links: version*text*divergence*mode*rows*tolerance*temperature*seed*recorded run*step

function encode(state, name, step) {
  const { text, divergence, mode, on, tolerance, temperature, seed } = state;
  return ["1", text, divergence, mode, on, tolerance, temperature, seed, name || "", step].join("*");
}

/** {state, name, step}; null when it is no link of this page. What comes in is hostile. */
function decode(words) {
  const parts = String(words).slice(0, 300).split("*");
  const [version, text, divergence, mode, on, tolerance, temperature, seed, name, step] = parts;
  const known = parts.length === 10 && version === "1" && Object.hasOwn(TEXTS, text);
  const named = Object.hasOwn(DIVERGENCES, divergence) && Object.hasOwn(MODES, mode) && Object.hasOwn(GROUNDS, on);
  const numbers = [tolerance, temperature, seed].every((one) => one !== "" && NUMBER.test(one));
  if (!known || !named || !numbers || !/^[\w-]{0,40}$/.test(name) || !/^\d{0,5}$/.test(step)) return null;
  const state = { text, divergence, mode, on, tolerance, temperature, seed, prompt: TEXTS[text].prompt };
  return { state, name, step: Number(step) };
}

// ---- a step

/** What became of each drafted token of a step: {node, D, near, exact, rejects, tested, kept}. */
function positions(trace, index) {
  const view = readStep(trace, index);
  const settings = fuzzy(view);
  const rows = view.spine.map((id) => {
    const node = view.nodes.get(id);
    const exact = settings.exact(node);
    const tested = view.own.at.has(id);
    const rejects = node.coin >= exact;
    return { node, D: settings.D(id), near: settings.near(id), exact, rejects, tested, kept: view.own.path.has(id) };
  });
  return { view, settings, rows };
}

/** Sums over the first `count` steps: drift, its bound, kept tokens, those overruled, those with p = 0, new tokens. */
function totals(trace, count) {
  const sum = { drift: 0, bound: 0, kept: 0, overruled: 0, impossible: 0, tokens: 0, calls: 0, drafted: 0 };
  trace.steps.slice(0, count).forEach((step, index) => {
    const { settings, rows } = positions(trace, index);
    const kept = rows.filter((row) => row.kept);
    sum.drift += settings.drift;
    sum.kept += step.kept;
    sum.drafted += step.drafted;
    sum.overruled += kept.filter((row) => row.rejects).length;
    sum.impossible += kept.filter((row) => row.node.p === 0).length;
    sum.tokens += written(step).length;
    sum.calls += step.target_calls;
    sum.bound += settings.bound || 0;
  });
  return sum;
}

export {
  DIVERGENCES,
  MODES,
  GROUNDS,
  TEXTS,
  start,
  asked,
  fromAsked,
  tolerances,
  shareOf,
  encode,
  decode,
  positions,
  totals,
};

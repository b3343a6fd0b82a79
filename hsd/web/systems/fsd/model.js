// What the FSD panel knows: its settings, what a calibration makes of a tolerance, and what a step did. Pure; no page.
import { facts } from "../../kit/facts.js";
import { fuzzy, readStep } from "../../step/model.js";
import { titles } from "../parts.js";

const DIVERGENCES = titles(facts.divergences, "formula");
const [MODES, GROUNDS] = [facts.modes, facts.grounds].map((list) => titles(list));
/** The texts that were measured, each with a prompt. */
const TEXTS = {
  sums: "Question: Dan is 8 years old, and Oscar is 2 years older than Dan. How old will Oscar be in 4 years?\nAnswer:",
  stories: "Once upon a time, there was a little girl named Lily. She had a red ball. One day,",
};
const NUMBER = /^-?\d{0,6}(\.\d{0,8})?(e[+-]?\d{1,3})?$/i;
const RULE = facts.rules.find((rule) => rule.by_divergence).name;
const FIXED = {
  pair: "tiny",
  rule: RULE,
  shadow: facts.vanilla,
  system: "speculative",
  gamma: 5,
  drafts: 1,
  max_new_tokens: 64,
};

const START = { text: "stories", divergence: "kl", mode: "exact-first", on: "warped" };
const start = () => ({ ...START, tolerance: "0.75", temperature: "1", seed: "0", prompt: TEXTS.stories });

/** The settings as a request has them, with all that a recorded run had besides. */
const asked = ({ text: _, mode: fuzzy_mode, on: divergence_on, more, ...same }) => {
  return { ...FIXED, ...more, ...same, fuzzy_mode, divergence_on };
};

/** The settings that a recorded run was made with; `more` are those that have no control here. */
function fromAsked({ prompt, divergence, fuzzy_mode: mode, divergence_on: on, ...given }) {
  const text = prompt.startsWith("Question:") ? "sums" : "stories";
  const [tolerance, temperature, seed] = [given.tolerance, given.temperature, given.seed].map(String);
  const more = { top_p: given.top_p, gamma: given.gamma, max_new_tokens: given.max_new_tokens };
  return { text, divergence, mode, on, tolerance, temperature, seed, prompt, more };
}

// ---- calibration: the tolerances of the shares 0, 5, … 100 %

function tolerances(results, { text, on, divergence }) {
  const table = results?.texts[text];
  return table ? table.calibration.tolerances[on][divergence] : null;
}

/** The share of what would be rejected that a tolerance accepts: the largest measured one whose tolerance it reaches. */
function shareOf(results, state) {
  const known = tolerances(results, state);
  const T = Number(state.tolerance);
  if (!known || state.tolerance === "" || Number.isNaN(T)) return null;
  return results.shares.reduce((best, share, i) => (known[i] <= T ? share : best), 0);
}

// ---- links: version*text*divergence*mode*rows*tolerance*temperature*seed*recorded run*step, from 1; of version 1 from 0

function encode({ text, divergence, mode, on, tolerance, temperature, seed }, name, step) {
  return ["2", text, divergence, mode, on, tolerance, temperature, seed, name || "", step + 1].join("*");
}

/** {state, name, step}; null when it is no link of this page. What comes in is hostile. */
function decode(words) {
  const parts = String(words).slice(0, 300).split("*");
  const [version, text, divergence, mode, on, tolerance, temperature, seed, name, step] = parts;
  const tables = [TEXTS, DIVERGENCES, MODES, GROUNDS];
  const named = [text, divergence, mode, on].every((one, i) => Object.hasOwn(tables[i], one));
  const numbers = [tolerance, temperature, seed].every((one) => one && NUMBER.test(one));
  if (parts.length !== 10 || !["1", "2"].includes(version) || !named || !numbers) return null;
  if (!/^[\w-]{0,40}$/.test(name) || !/^\d{0,5}$/.test(step)) return null;
  const state = { text, divergence, mode, on, tolerance, temperature, seed, prompt: TEXTS[text] };
  return { state, name, step: Math.max(Number(step) - Number(version === "2"), 0) };
}

// ---- a step

/** What became of each drafted token of a step: {node, D, near, exact, rejects, tested, kept}. */
function positions(trace, index) {
  const view = readStep(trace, index);
  const settings = fuzzy(view);
  const rows = view.spine.map((id) => {
    const node = view.nodes.get(id);
    const exact = settings.exact(node);
    const [tested, kept] = [view.own.at.has(id), view.own.path.has(id)];
    return { node, D: settings.D(id), near: settings.near(id), exact, rejects: node.coin >= exact, tested, kept };
  });
  return { view, settings, rows };
}

/** Sums over the first `count` steps: drift, its bound, kept tokens, those overruled, those with p = 0, new tokens. */
function totals(trace, count) {
  const sum = { drift: 0, bound: 0, kept: 0, overruled: 0, impossible: 0, tokens: 0, calls: 0 };
  trace.steps.slice(0, count).forEach((step, index) => {
    const { settings, rows } = positions(trace, index);
    const kept = rows.filter((row) => row.kept);
    sum.drift += settings.drift;
    sum.bound += settings.bound || 0;
    sum.kept += step.kept;
    sum.overruled += kept.filter((row) => row.rejects).length;
    sum.impossible += kept.filter((row) => row.node.p === 0).length;
    sum.tokens += step.committed.length;
    sum.calls += step.target_calls;
  });
  return sum;
}

export { RULE, DIVERGENCES, MODES, GROUNDS, TEXTS, start, asked, fromAsked, tolerances, shareOf };
export { encode, decode, positions, totals };

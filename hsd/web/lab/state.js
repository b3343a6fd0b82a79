// What the visitor has set: cells as typed, how they become numbers, what is wrong with them, and
// presets. A state is plain data: {kind, vocab, gamma, p, q, rule, draft, coins, settings}; p and q
// are rows of texts ("1/3"), settings those of the rules that have some.
// kind: "same" (one row for every position), "own" (rows per position), "step" (the paper's one
// draft).
import { count, subscript } from "../kit/format.js";
import { MAX_OUTCOMES } from "../rules/audit.js";
import { range, SETTINGS, sum, USUAL } from "../rules/law.js";

/**
 * A preset; it says nothing of the rule and the settings.
 * @typedef {Omit<LabState, "rule" | "settings"> & {title: string}} LabPreset
 */

const LETTERS = "abcdefgh";
const SUM_TOLERANCE = 1e-9;
/** @type {(x: number, places: number) => string} */
const decimal = (x, places) => String(Number(x.toFixed(places)));
const NUMBER = /^(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

const PAPER = {
  tokens: ["she", "work", "ed", "45", "-", "40", "=", "5", "hours", "of"],
  p: [".7156", "1", "1", "1", "0", "0", "0", "1", "0", ".4968"],
  q: [".8771", ".7900", ".6514", ".2592", ".6773", ".1490", ".5775", "1", ".4611", ".3630"],
};
const PAPER_GAMMA = PAPER.tokens.length;
const REST = "anything else";

/**
 * A preset with the same rows at every position.
 * @param {string} title
 * @param {Record<LabSide, string>} rows - numbers with spaces between them
 * @param {number[]} draft
 * @param {number[]} coins
 * @returns {LabPreset}
 */
const same = (title, rows, draft, coins) => {
  const p = rows.p.split(" ");
  const q = rows.q.split(" ");
  return {
    title,
    kind: "same",
    vocab: p.length,
    gamma: draft.length,
    p: [p],
    q: [q],
    draft,
    coins,
  };
};

const ROW = "0.5 0.3 0.2";
const NEAR = "0.6 0.25 0.15";
/** @type {Record<string, LabPreset>} */
const PRESETS = {
  toy: same("Two-token toy", { p: "1/3 2/3", q: "2/3 1/3" }, [0, 1], [0.7, 0.4]),
  equal: same("Equal", { p: ROW, q: ROW }, [0, 1, 0], [0.8, 0.5, 0.95]),
  disjoint: same("Disjoint", { p: "0.6 0.4 0 0", q: "0 0 0.7 0.3" }, [2, 3, 2], [0.1, 0.1, 0.1]),
  near: same("Near", { p: ROW, q: NEAR }, [0, 1, 0, 2], [0.9, 0.5, 0.6, 0.3]),
  certain: same("One-hot draft", { p: ROW, q: "1 0 0" }, [0, 0, 0], [0.4, 0.3, 0.8]),
  paper: paperStep(),
};
const LOOKS = { rule: USUAL, settings: SETTINGS };

/**
 * The preset of the paper's step: two outcomes at each position, the drafted token, and all others
 * as one. The bonus row is not known.
 * @returns {LabPreset}
 */
function paperStep() {
  const pair = (/** @type {string} */ x) => [x, decimal(1 - Number(x), 4)];
  const coins = [0.9, ...new Array(PAPER_GAMMA - 1).fill(0.5)];
  return {
    title: "The paper's GSM8K step",
    kind: "step",
    vocab: 2,
    gamma: PAPER_GAMMA,
    p: [...PAPER.p.map(pair), ["0.5", "0.5"]],
    q: PAPER.q.map(pair),
    draft: new Array(PAPER_GAMMA).fill(0),
    coins,
  };
}

/**
 * The state of a preset; what it says nothing about stays as it was.
 * @type {(name: string, before?: typeof LOOKS) => LabState}
 */
function preset(name, { rule, settings } = LOOKS) {
  const { title, ...state } = structuredClone(PRESETS[name]);
  return { rule, settings: { ...settings }, ...state };
}

// ---- numbers as people type them

/**
 * The number that a text stands for, such as "0.25", ".25", "1/3", "0,25" or "1e-3"; NaN for
 * anything else. A negative number is read too, because a line complains of it.
 * @param {string} text
 */
function parse(text) {
  const clean = text.trim().replace(",", ".");
  const digits = clean.replace(/^[−-]/, "");
  const parts = digits.split("/").map((part) => part.trim());
  if (parts.length > 2 || !parts.every((part) => NUMBER.test(part))) return NaN;
  const [above, below = 1] = parts.map(Number);
  const value = above / below;
  return digits === clean ? value : -value;
}

/**
 * The name of a row: "p", or "p₂" where positions have rows of their own.
 * @type {(kind: LabKind, side: string, t: number) => string}
 */
function rowName(kind, side, t) {
  return kind === "same" ? side : `${side}${subscript(t)}`;
}

/**
 * What is wrong with one row of cells, in words that follow "row p "; null if nothing is.
 * @type {(cells: string[], names: string[]) => string | null}
 */
function rowProblem(cells, names) {
  const values = cells.map(parse);
  for (const [i, x] of values.entries()) {
    const text = cells[i].trim();
    if (text === "") return `has no number for ${names[i]}`;
    if (!Number.isFinite(x))
      return `has “${text.slice(0, 20)}” for ${names[i]}, which is not a number`;
    if (x < 0) return `has a negative number for ${names[i]}`;
  }
  const total = sum(values);
  if (Math.abs(total - 1) <= SUM_TOLERANCE) return null;
  return `sums to ${tellTotal(total)}`;
}

/** As many digits as it takes to see that it is not 1. @param {number} total */
function tellTotal(total) {
  for (const places of [3, 4, 6, 10])
    if (Number(total.toFixed(places)) !== 1) return decimal(total, places);
  return String(total);
}

/** Names of the tokens at a position. @type {(state: LabShape, t: number) => string[]} */
function names(state, t) {
  if (state.kind === "step") return [PAPER.tokens[t] ?? "first", REST];
  return [...LETTERS.slice(0, state.vocab)];
}

/** All rows that are not distributions. @type {(state: LabState) => LabProblem[]} */
function problems(state) {
  const of = (/** @type {LabSide} */ side) =>
    state[side].flatMap((cells, t) => {
      const words = rowProblem(cells, names(state, t));
      const name = rowName(state.kind, side, t);
      return words ? [{ side, t, message: `row ${name} ${words}` }] : [];
    });
  return [...of("p"), ...of("q")];
}

/**
 * The line about V and γ, if there are too many outcomes to list; null otherwise.
 * @param {LabShape} state
 */
function tooLarge({ kind, vocab, gamma }) {
  const total = vocab ** (gamma + 1);
  if (kind === "step" || total <= MAX_OUTCOMES) return null;
  const fits = range(12).findLast((g) => g >= 1 && vocab ** (g + 1) <= MAX_OUTCOMES);
  const outcomes = `${vocab} tokens and γ = ${gamma} make ${count(total)} outcomes`;
  const limit = `over the limit of ${count(MAX_OUTCOMES)}`;
  return `${outcomes}, ${limit}: reduce γ to ${fits} or take fewer tokens`;
}

/**
 * A row of cells as the nearest distribution: what is not a number counts as 0; a row of zeros
 * becomes uniform.
 * @param {string[]} cells
 */
function normalise(cells) {
  const numbers = cells.map(parse);
  const values = numbers.map((x) => (Number.isFinite(x) ? Math.max(x, 0) : 0));
  const total = sum(values);
  const shares = values.map((x) => (total > 0 ? x / total : 1 / values.length));
  return apportion(shares, 1e6).map((n) => decimal(n / 1e6, 6));
}

/**
 * Rows of numbers for every position; each sums to 1 up to rounding.
 * @type {(state: LabState) => LabModel}
 */
function model({ kind, vocab, gamma, p, q, settings }) {
  const numbers = (/** @type {string[]} */ cells) => {
    const values = cells.map(parse);
    const total = sum(values);
    return values.map((x) => x / total);
  };
  const rows = (/** @type {string[][]} */ side, /** @type {number} */ count) =>
    range(count).map((t) => numbers(side[kind === "same" ? 0 : t]));
  return {
    vocab,
    gamma,
    p: rows(p, gamma + 1),
    q: rows(q, gamma),
    settings,
  };
}

// ---- changes

const UNIT = 1000; // what a slider sets has three decimals, and a row of them sums to exactly 1

/**
 * A row after one entry was dragged to `value`: the others make room and keep the proportions that
 * they have in `before`.
 * @type {(before: number[], index: number, value: number) => string[]}
 */
function drag(before, index, value) {
  const own = Math.round(Math.min(Math.max(value, 0), 1) * UNIT);
  const others = before.map((x, i) => (i === index ? 0 : x));
  const total = sum(others);
  const even = 1 / (others.length - 1);
  const shares = others.map((x) => (total > 0 ? x / total : even));
  if (total === 0) shares[index] = 0;
  const units = apportion(shares, UNIT - own);
  units[index] = own;
  return units.map((n) => decimal(n / UNIT, 3));
}

/**
 * Shares that sum to 1 as whole numbers that sum to `units`: the largest remainders are rounded up.
 * @type {(shares: number[], units: number) => number[]}
 */
function apportion(shares, units) {
  const out = shares.map((x) => Math.floor(x * units));
  const rest = (/** @type {number} */ i) => shares[i] * units - out[i];
  const byRest = range(shares.length).sort((i, j) => rest(j) - rest(i));
  for (const i of byRest.slice(0, units - sum(out))) out[i] += 1;
  return out;
}

/**
 * The state with another number of tokens, length or kind: rows, draft and coins are cut or carried
 * on.
 * @type {(state: LabState, shape: Partial<LabShape>) => LabState}
 */
function reshape(state, change) {
  const { vocab, gamma, kind } = { ...state, ...change };
  const fit = (/** @type {string[][]} */ rows, /** @type {number} */ count) =>
    range(kind === "same" ? 1 : count).map((t) => {
      const row = rows[t] ?? rows[rows.length - 1];
      return resize(row, vocab);
    });
  const q = fit(state.q, gamma);
  const likeliest = (/** @type {number} */ t) => {
    const cells = q[t] ?? q[0];
    const row = cells.map((text) => parse(text) || 0);
    return row.indexOf(Math.max(...row));
  };
  const token = (/** @type {number} */ t) =>
    state.draft[t] < vocab ? state.draft[t] : likeliest(t);
  return {
    ...state,
    kind,
    vocab,
    gamma,
    p: fit(state.p, gamma + 1),
    q,
    draft: range(gamma).map(token),
    coins: range(gamma).map((t) => state.coins[t] ?? 0.5),
  };
}

/**
 * A row for another number of tokens: new ones begin at 0, and those that go leave their share to
 * the others.
 * @type {(cells: string[], vocab: number) => string[]}
 */
function resize(cells, vocab) {
  if (cells.length <= vocab) return range(vocab).map((i) => cells[i] ?? "0");
  const rest = cells.slice(0, vocab);
  const lost = cells.slice(vocab).some((text) => parse(text) !== 0);
  return lost ? normalise(rest) : rest;
}

export {
  NUMBER,
  PRESETS,
  PAPER_GAMMA,
  LETTERS,
  preset,
  parse,
  names,
  rowName,
  problems,
  tooLarge,
  normalise,
  model,
  drag,
  reshape,
};

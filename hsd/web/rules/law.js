// The laws of all rules for a single draft, made from their records; hsd/rules/chain.py has them as functions, and tests hold
// both together. p has γ+1 rows, q has γ, arrays of any kind with one probability per token; tokens are the γ drafted ids.
//
//   const law = lawOf("hsd", p, q, tokens)   // {forward, threshold: [γ], a: [γ], b: [γ], q, …}
//   stops(law.threshold, law.forward)        // the chances of keeping 0 … γ tokens
//   kept(law, coins)                         // how many are kept with these coins
//   next(law, t)                             // the row of the token after t kept ones
import { clip, DIVERGENCES, entropy, leftOver, sum } from "./divergence.js";
import { lead, coupledLeft } from "./coupled.js";
import { CHAINS, chain, chainRecipe, factorsAt, forms, groundsOf } from "./tests.js";
import { SETTINGS, stops, thresholdAt, USUAL, VANILLA } from "./tests.js";

/** The whole numbers from 0 on, n of them. @param {number} n */
const range = (n) => Array.from({ length: n }, (_, i) => i);

/** The numbers after t tokens of a draft, by names of facts.letters. */
const LETTERS = /** @satisfies {Record<string, (draft: Along) => number>} */ ({
  p: ({ rows, t, token }) => rows.p[t - 1][token],
  clipped: ({ rows, t, token }) => rows.p[t - 1][token],
  q: ({ rows, t, token }) => rows.q[t - 1][token],
  ratio: ({ logs, t }) => Math.exp(logs.log[t]),
  above_ratio: ({ logs, t }) => Math.exp(logs.log[t - 1]),
  capped: ({ logs, t }) => Math.exp(logs.log[t] - logs.peak[t]),
  above_capped: ({ logs, t }) => Math.exp(logs.log[t - 1] - logs.peak[t - 1]),
  starred: ({ logs, t }) => Math.exp(logs.log[t] - logs.peak[Math.max(t - 1, 0)]),
  deficient: (draft) => draft.mass(1),
  excess: (draft) => draft.mass(-1),
  divergence: ({ apart, rows, t }) => apart(rows.p[t - 1], rows.q[t - 1]),
  entropy: ({ rows, t }) => entropy(rows.p[t - 1]),
  lead: ({ rows, t, token }) => lead(rows.p[t - 1], rows.q[t - 1], token),
  mixed: (draft) => draft.mixture(draft.t - 1)[draft.token],
  rival: (draft) => rival(draft.mixture(draft.t - 1), draft.token),
});

/** The most that a row gives another token than this one; of equals the first leads, by one rounding. @type {(row: Row, token: number) => number} */
function rival(row, token) {
  const most = row.reduce((found, x, i) => (i === token ? found : Math.max(found, x)), 0);
  return most === row[token] && likeliest(row) === token ? most * (1 - 2 ** -52) : most;
}

/** The numbers along a draft by their names in LETTERS, each made when it is read, for one t after another: see `at`. */
class Along {
  t = 0;

  /**
   * @param {Tests & {certain?: boolean, clipped?: boolean}} recipe @param {Row[]} p @param {Row[]} q @param {number[]} tokens
   * @param {Settings} settings @param {RawRows | null} [raw]
   */
  constructor(recipe, p, q, tokens, { divergence, mode, ...settings }, raw) {
    Object.assign(this, settings); // the numbers of rules, which their expressions name
    this.recipe = recipe;
    this.tokens = tokens;
    const judged = recipe.clipped ? q.map((row, t) => clip(p[t], row, settings.tolerance)) : [];
    const drafted = recipe.certain ? q.map((row, t) => oneHot(row, tokens[t])) : q;
    this.rows = { p: [...judged, ...p.slice(judged.length)], q: drafted };
    this.apart = DIVERGENCES[divergence];
    this.weight = settings.draft_weight;
    this.raw = raw ?? { p, q };
  }

  /** The same object with the numbers after t = 0 … γ tokens. @param {number} t @returns {Along & Record<keyof typeof LETTERS, number>} */
  at(t) {
    this.t = t;
    return /** @type {any} */ (this);
  }

  /** The last of the t tokens. */
  get token() {
    return this.tokens[this.t - 1];
  }

  /** For t = 0 … γ: log r, and the highest of them up to t. */
  get logs() {
    if (this.ratios) return this.ratios;
    const found = { log: [0], peak: [0] };
    this.tokens.forEach((x, t) => {
      const { p, q } = this.rows;
      const log = found.log[t] + Math.log(p[t][x]) - Math.log(Math.max(q[t][x], 1e-300)); // of what q cannot draft too
      found.log.push(Math.abs(log - found.peak[t]) < 1e-14 ? found.peak[t] : log); // equal, but for rounding
      found.peak.push(Math.max(found.peak[t], found.log[t + 1]));
    });
    this.ratios = found;
    return found;
  }

  /** Σ max(sign · (a p − b q), 0) over the branch. @param {number} sign */
  mass(sign) {
    const { p, q } = this.rows;
    const [a, b] = factorsAt(this.recipe, this).map(Number);
    return leftOver(sign * a, sign * b, p[this.t], q[this.t]);
  }

  /** The mixture of target and draft after t kept tokens. @param {number} t */
  mixture(t) {
    const { p, q } = this.raw;
    return p[t].map((x, i) => (1 - this.weight) * x + this.weight * q[t][i]);
  }
}

for (const [name, number] of Object.entries(LETTERS))
  Object.defineProperty(Along.prototype, name, {
    get: /** @this {Along} */ function () {
      return number(this);
    },
  });

/** A row like this one with everything on the token x. @type {(row: Row, x: number) => Row} */
const oneHot = (row, x) => row.map((_, i) => Number(i === x));

/** The token with the most, the first of equals. @param {Row} row */
function likeliest(row) {
  let best = 0;
  for (let i = 1; i < row.length; i += 1) if (row[i] > row[best]) best = i;
  return best;
}

/** The law of a rule. raw: for a rule that wants them at temperature 0. @type {(name: string, p: Row[], q: Row[], tokens: number[], settings?: Partial<Settings>, raw?: RawRows | null) => Law} */
function lawOf(name, p, q, tokens, settings = SETTINGS, raw = null) {
  const recipe = chainRecipe(name, { ...SETTINGS, ...settings });
  const along = new Along(recipe, p, q, tokens, { ...SETTINGS, ...settings }, raw);
  const gamma = tokens.length;
  const factors = range(gamma).map((t) => factorsAt(recipe, along.at(t)).map(Number));
  const within = (/** @type {number | null} */ h) => Math.min(Math.max(Number(h), 0), 1); // masses of rounded rows
  const threshold = range(gamma).map((i) => within(thresholdAt(recipe, along.at(i + 1), i + 1 === gamma)));
  const [a, b] = [0, 1].map((i) => factors.map((both) => both[i]));
  return { name, recipe, along, forward: !recipe.whole, threshold, a, b, ...along.rows, tokens };
}

/**
 * What explains each branch t = 0 … γ-1 of a draft, as a trace has it: r, m (after how many earlier tokens r was largest, if
 * above 1), c, and the masses under it.
 * @type {(p: Row[], q: Row[], tokens: number[]) => Record<"ratio" | "pivot" | "capped" | "deficient" | "excess", number>[]}
 */
function explain(p, q, tokens) {
  const along = new Along({ a: "capped", b: 1, each: [], whole: null, inner: null }, p, q, tokens, SETTINGS);
  const { log } = along.logs;
  let best = 0;
  return tokens.map((_, t) => {
    if (t > 1 && log[t - 1] >= log[best]) best = t - 1;
    const { ratio, capped, deficient, excess } = along.at(t);
    return { ratio, pivot: log[best] > 0 ? best : 0, capped, deficient, excess };
  });
}

/** Whether a rule's tests compare such a number, by its name in `Grounds`. @type {(recipe: Pick<Recipe, "each">, name: string) => boolean} */
const uses = ({ each }, name) => each.some((form) => name in forms[form].along);
const usesDivergence = (/** @type {Pick<Recipe, "each">} */ recipe) => uses(recipe, "divergence");

/** The numbers that the test at t compares, see `groundsOf`. @type {(law: Law, t: number) => ReturnType<typeof groundsOf>} */
const groundsAt = ({ recipe, along, threshold }, t) => groundsOf(recipe, along.at(t), t === threshold.length);

/** The row of the token after t kept ones: the residual, p itself where none is left, the bonus row, or a likeliest token. @type {(law: Law, t: number) => Row} */
function next({ recipe, along, threshold, a, b, p, q, tokens }, t) {
  const all = t === threshold.length;
  const followed = recipe.follow === "mixture" && !all ? along.mixture(t) : p[t];
  if (recipe.follow) return oneHot(followed, likeliest(followed));
  if (all) return p[t];
  const residual = recipe.coupled ? coupledLeft(p[t], q[t], tokens[t]) : p[t].slice();
  const round = residual instanceof Float32Array ? Math.fround : (/** @type {number} */ x) => x; // as Python rounds
  const [factor, taken, row] = [round(a[t]), round(b[t]), q[t]]; // over a vocabulary, a loop takes a third of a map
  if (!recipe.coupled)
    for (let i = 0; i < row.length; i += 1)
      residual[i] = Math.max(round(factor * residual[i]) - round(taken * row[i]), 0);
  const mass = sum(residual);
  if (!(mass > 0)) return p[t];
  return Float64Array.from(residual, (x) => x / mass);
}

/** The positions in the order in which they are tested. @param {Thresholds} law */
const order = ({ forward, threshold }) => range(threshold.length).map((i) => (forward ? i + 1 : threshold.length - i));

/** How many drafted tokens are kept with these coins. Strict <: a coin of 0 must not accept p = 0. @type {(law: Thresholds, coins: number[]) => number} */
function kept(law, coins) {
  for (const t of order(law)) {
    const success = coins[t - 1] < law.threshold[t - 1];
    if (success !== law.forward) return law.forward ? t - 1 : t;
  }
  return law.forward ? law.threshold.length : 0;
}

/** The mean of a number t = 0, 1, … by the chances of each. @param {number[]} chances */
const mean = (chances) => chances.reduce((total, chance, t) => total + t * chance, 0);

/** The token in whose part of the row the number u falls; rounding at the end never picks a token of probability 0. @type {(row: Row, u: number) => number} */
function pick(row, u) {
  const total = sum(row);
  let reached = 0;
  for (let x = 0; x < row.length; x += 1) {
    reached += row[x];
    if (reached > u * total || reached >= total) return x;
  }
  return row.length - 1;
}

/** A number for which `pick` gives the token x, `share` of the way through its part of the row. @type {(row: Row, x: number, share: number) => number} */
function place(row, x, share) {
  const [before, total] = [sum(row.slice(0, x)), sum(row)];
  const number = (before + share * row[x]) / total;
  return pick(row, number) === x ? number : (before + row[x] / 2) / total;
}

/** Whether a rule that is not lossless is so with these settings. @type {(name: string, settings: Settings) => boolean} */
function exactWith(name, settings) {
  const { knob } = chain(name);
  return knob !== null && knob.exact !== null && settings[knob.option] <= knob.exact;
}

export { Along, CHAINS, chain, exactWith, explain, groundsAt, kept, lawOf, leftOver, likeliest };
export { mean, next, oneHot, order, pick, place, range, SETTINGS, stops, sum, USUAL, uses, usesDivergence, VANILLA };

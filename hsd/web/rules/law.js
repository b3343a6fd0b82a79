// The laws of all rules for a single draft, made from their records: probabilities in, probabilities out. p has γ+1 rows,
// q has γ, arrays of any kind (Float64Array too) with one probability per token; tokens are the γ drafted ids. No random
// number. hsd/rules/chain.py states the same laws as functions, and tests hold both together.
//
//   const law = lawOf("hsd", p, q, tokens)   // {forward, threshold: [γ], a: [γ], b: [γ], q, …}
//   stops(law.threshold, law.forward)        // the chances of keeping 0 … γ tokens
//   kept(law, coins)                         // how many are kept with these coins
//   next(law, t)                             // the row of the token after t kept ones
import { DIVERGENCES, entropy, leftOver, sum } from "./divergence.js";
import { lead, coupledLeft } from "./coupled.js";
import {
  CHAINS,
  factorsAt,
  forms,
  groundsOf,
  recipeOf,
  SETTINGS,
  stops,
  thresholdAt,
  USUAL,
  VANILLA,
} from "./tests.js";

const TINY = 1e-300; // keeps a draft that q cannot produce from dividing by zero
const range = (n) => Array.from({ length: n }, (_, i) => i);

/** The numbers along a draft by names of facts.letters, for one t after another: see `at`. */
class Along {
  constructor(recipe, p, q, tokens, { divergence, mode, ...settings }, raw) {
    const certain = (row, t) => row.map((_, x) => Number(x === tokens[t]));
    Object.assign(this, settings, { recipe, t: 0, tokens, rows: { p, q: recipe.certain ? q.map(certain) : q } });
    this.apart = DIVERGENCES[divergence];
    this.raw = raw ?? { p, q };
  }

  /** The same object with the numbers after t = 0 … γ tokens. */
  at(t) {
    this.t = t;
    return this;
  }

  get p() {
    return this.rows.p[this.t - 1][this.tokens[this.t - 1]];
  }

  get q() {
    return this.rows.q[this.t - 1][this.tokens[this.t - 1]];
  }

  /** For t = 0 … γ: log r, and the highest of them up to t. */
  get logs() {
    if (this.ratios) return this.ratios;
    const found = { log: [0], peak: [0] };
    this.tokens.forEach((x, t) => {
      const { p, q } = this.rows;
      const log = found.log[t] + Math.log(p[t][x]) - Math.log(Math.max(q[t][x], TINY));
      found.log.push(Math.abs(log - found.peak[t]) < 1e-14 ? found.peak[t] : log); // equal, but for rounding
      found.peak.push(Math.max(found.peak[t], found.log[t + 1]));
    });
    this.ratios = found;
    return found;
  }

  get ratio() {
    return Math.exp(this.logs.log[this.t]);
  }

  get above_ratio() {
    return Math.exp(this.logs.log[this.t - 1]);
  }

  get capped() {
    return Math.exp(this.logs.log[this.t] - this.logs.peak[this.t]);
  }

  get above_capped() {
    return Math.exp(this.logs.log[this.t - 1] - this.logs.peak[this.t - 1]);
  }

  get starred() {
    return Math.exp(this.logs.log[this.t] - this.logs.peak[Math.max(this.t - 1, 0)]);
  }

  get deficient() {
    return this.mass(1);
  }

  get excess() {
    return this.mass(-1);
  }

  /** Σ max(sign · (a p − b q), 0) over the branch. */
  mass(sign) {
    const { p, q } = this.rows;
    const [a, b] = factorsAt(this.recipe, this);
    return leftOver(sign * a, sign * b, p[this.t], q[this.t]);
  }

  get divergence() {
    return this.apart(this.rows.p[this.t - 1], this.rows.q[this.t - 1]);
  }

  get entropy() {
    return entropy(this.rows.p[this.t - 1]);
  }

  get lead() {
    const { p, q } = this.rows;
    return lead(p[this.t - 1], q[this.t - 1], this.tokens[this.t - 1]);
  }

  /** The mixture of target and draft after t kept tokens. */
  mixture(t) {
    const { p, q } = this.raw;
    const { draft_weight: w } = this;
    return p[t].map((x, i) => (1 - w) * x + w * q[t][i]);
  }

  get mixed() {
    return this.mixture(this.t - 1)[this.tokens[this.t - 1]];
  }

  /** The most that the mixture gives another token; of equals the first leads, by one rounding. */
  get rival() {
    const token = this.tokens[this.t - 1];
    const row = this.mixture(this.t - 1);
    const most = row.reduce((found, x, i) => (i === token ? found : Math.max(found, x)), 0);
    return most === row[token] && likeliest(row) === token ? most * (1 - 2 ** -52) : most;
  }
}

/** The row with everything on its likeliest token, the first of equals. */
function surest(row) {
  const found = row.slice().fill(0);
  found[likeliest(row)] = 1;
  return found;
}

function likeliest(row) {
  let best = 0;
  for (let i = 1; i < row.length; i += 1) if (row[i] > row[best]) best = i;
  return best;
}

/**
 * The law of a rule for one draft. threshold: the chance that the test at t = 1 … γ succeeds; forward: from 1 up, and the
 * first failure stops, else from γ down, and the first success decides; a, b: of the residual max(a p − b q, 0) after
 * t = 0 … γ-1 kept tokens, with the q that is given here: the certain one of a rule that counts the draft as certain. The
 * residual of a coupled rule depends on the token that was rejected, see `next`.
 * raw: {p, q}, the rows at temperature 1 with nothing cut off, for a rule that wants them at temperature 0.
 */
function lawOf(name, p, q, tokens, settings = SETTINGS, raw = null) {
  const recipe = recipeOf(name, settings);
  const along = new Along(recipe, p, q, tokens, { ...SETTINGS, ...settings }, raw);
  const gamma = tokens.length;
  const factors = range(gamma).map((t) => factorsAt(recipe, along.at(t)));
  const within = (h) => Math.min(Math.max(h, 0), 1); // masses of rows that were rounded
  const threshold = range(gamma).map((i) => within(thresholdAt(recipe, along.at(i + 1), i + 1 === gamma)));
  const [a, b] = [0, 1].map((i) => factors.map((both) => both[i]));
  return { name, recipe, along, forward: !recipe.whole, threshold, a, b, p, q: along.rows.q, tokens };
}

/**
 * What explains a draft, for t = 0 … γ: rho of the token (from t = 1), r, m (after how many earlier tokens r was largest,
 * if above 1), r* and c; for each branch t = 0 … γ-1 the factor a and the masses under it; D for a rule that judges by it.
 */
function explain({ along, a }) {
  const { log } = along.logs;
  const gamma = a.length;
  let best = 0;
  return range(gamma + 1).map((t) => {
    if (t > 1 && log[t - 1] >= log[best]) best = t - 1;
    const numbers = along.at(t);
    const branch = t < gamma;
    return {
      rho: t ? numbers.p / numbers.q : null,
      ratio: numbers.ratio,
      pivot: log[best] > 0 ? best : 0,
      star: numbers.starred,
      capped: numbers.capped,
      weight: branch ? a[t] : null,
      deficient: branch ? numbers.deficient : null,
      excess: branch ? numbers.excess : null,
      divergence: t && usesDivergence(along.recipe) ? numbers.divergence : null,
    };
  });
}

/** The same of every branch under its capped ratio, which no rule decides, as a trace has it. */
function explainCapped(p, q, tokens) {
  const along = new Along({ a: "capped", b: 1, each: [] }, p, q, tokens, SETTINGS);
  return explain({ along, a: tokens.map((_, t) => along.at(t).capped) });
}

/** Whether a rule's tests compare such a number, by its name in `Grounds`. */
const uses = ({ each }, name) => each.some((form) => name in forms[form].along);
const usesDivergence = (recipe) => uses(recipe, "divergence");

/** The numbers that the test at t compares, see `groundsOf`. */
const groundsAt = ({ recipe, along, threshold }, t) => groundsOf(recipe, along.at(t), t === threshold.length);

/**
 * The row of the token after t kept ones: the residual, p itself where none is left, the bonus row, or a likeliest token.
 * copy: of a row.
 */
function next({ recipe, along, threshold, a, b, p, q, tokens }, t, copy = (row) => row.slice()) {
  const all = t === threshold.length;
  if (recipe.follow) return surest(recipe.follow === "mixture" && !all ? along.mixture(t) : p[t]);
  if (all) return p[t];
  const residual = recipe.coupled ? coupledLeft(p[t], q[t], tokens[t]) : copy(p[t]);
  const [factor, taken, row] = [a[t], b[t], q[t]]; // over a vocabulary, a loop takes a third of a map
  if (!recipe.coupled)
    for (let i = 0; i < row.length; i += 1) residual[i] = Math.max(factor * residual[i] - taken * row[i], 0);
  const mass = sum(residual);
  if (!(mass > 0)) return p[t];
  for (let i = 0; i < row.length; i += 1) residual[i] /= mass;
  return residual;
}

/** The positions in the order in which they are tested. */
const order = ({ forward, threshold }) => range(threshold.length).map((i) => (forward ? i + 1 : threshold.length - i));

/** How many drafted tokens are kept with these coins. Strict <: a coin of 0 must not accept p = 0. */
function kept(law, coins) {
  for (const t of order(law)) {
    const success = coins[t - 1] < law.threshold[t - 1];
    if (success !== law.forward) return law.forward ? t - 1 : t;
  }
  return law.forward ? law.threshold.length : 0;
}

const mean = (chances) => chances.reduce((total, chance, t) => total + t * chance, 0);
const expectedKept = (law) => mean(stops(law.threshold, law.forward));

/** The token in whose part of the row the number u falls; rounding at the end never picks a token of probability 0. */
function pick(row, u) {
  const total = sum(row);
  let reached = 0;
  for (let x = 0; x < row.length; x += 1) {
    reached += row[x];
    if (reached > u * total || reached >= total) return x;
  }
  return row.length - 1;
}

/** A number for which `pick` gives the token x, `share` of the way through its part of the row. */
function place(row, x, share) {
  const [before, total] = [sum(row.subarray ? row.subarray(0, x) : row.slice(0, x)), sum(row)];
  const number = (before + share * row[x]) / total;
  return pick(row, number) === x ? number : (before + row[x] / 2) / total;
}

/** Whether a rule that is not lossless is so with these settings. */
function exactWith(name, settings) {
  const { knob } = CHAINS.get(name);
  return Boolean(knob) && knob.exact !== null && settings[knob.option] <= knob.exact;
}

export {
  CHAINS,
  exactWith,
  expectedKept,
  explain,
  explainCapped,
  groundsAt,
  kept,
  lawOf,
  leftOver,
  mean,
  next,
  order,
  pick,
  place,
  range,
  SETTINGS,
  stops,
  sum,
  USUAL,
  uses,
  usesDivergence,
  VANILLA,
};

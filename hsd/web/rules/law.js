// The laws of all rules for a single draft, made from their records; hsd/rules/chain.py has them as
// functions, and tests hold both together. p has γ+1 rows, q has γ, arrays of any kind with one
// probability per token; tokens are the γ drafted ids.
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

/**
 * The joint ratio of the first t tokens, capped by the highest of the first `highest`, where `logs`
 * has both.
 * @type {(logs: Along["logs"], t: number, highest: number) => number}
 */
const cappedRatio = ({ log, peak }, t, highest) => Math.exp(log[t] - peak[highest]);

/** The numbers after t tokens of a draft, by names of facts.letters. */
const LETTERS = /** @satisfies {Record<string, (draft: Along) => number>} */ ({
  p: ({ rows, t, token }) => rows.p[t - 1][token],
  clipped: ({ rows, t, token }) => rows.p[t - 1][token],
  q: ({ rows, t, token }) => rows.q[t - 1][token],
  ratio: ({ logs, t }) => Math.exp(logs.log[t]),
  above_ratio: ({ logs, t }) => Math.exp(logs.log[t - 1]),
  capped: ({ logs, t }) => cappedRatio(logs, t, t),
  above_capped: ({ logs, t }) => cappedRatio(logs, t - 1, t - 1),
  starred: ({ logs, t }) => cappedRatio(logs, t, Math.max(t - 1, 0)),
  deficient: (draft) => draft.mass(1),
  excess: (draft) => draft.mass(-1),
  divergence(draft) {
    const { p, q } = draft.last;
    return draft.apart(p, q);
  },
  entropy: (draft) => entropy(draft.last.p),
  lead(draft) {
    const { p, q } = draft.last;
    return lead(p, q, draft.token);
  },
  mixed: (draft) => draft.mixture(draft.t - 1)[draft.token],
  rival: (draft) => rival(draft.mixture(draft.t - 1), draft.token),
});

/**
 * Return the most that a row gives another token than this one. Where both have the same and this
 * one comes first, it is less by one rounding.
 * @type {(row: Row, token: number) => number}
 */
function rival(row, token) {
  let most = 0;
  for (let i = 0; i < row.length; i += 1) {
    if (i !== token) most = Math.max(most, row[i]);
  }
  const leads = most === row[token] && likeliest(row) === token;
  return leads ? most * (1 - 2 ** -52) : most;
}

/**
 * The numbers along a draft by their names in LETTERS, each computed when it is read, for one t
 * after another: see `at`.
 */
class Along {
  t = 0;

  /**
   * @param {Tests & {certain?: boolean, clipped?: boolean}} recipe
   * @param {Row[]} p
   * @param {Row[]} q
   * @param {number[]} tokens
   * @param {Settings} settings
   * @param {RawRows | null} [raw]
   */
  constructor(recipe, p, q, tokens, { divergence, mode, ...settings }, raw) {
    Object.assign(this, settings); // the numbers of rules, which their expressions name
    this.recipe = recipe;
    this.tokens = tokens;
    const judged = [...p];
    if (recipe.clipped) {
      q.forEach((row, t) => {
        judged[t] = clip(p[t], row, settings.tolerance);
      });
    }
    const drafted = recipe.certain ? oneHots(q, tokens) : q;
    this.rows = { p: judged, q: drafted };
    this.apart = DIVERGENCES[divergence];
    this.weight = settings.draft_weight;
    this.raw = raw ?? { p, q };
  }

  /**
   * The same object with the numbers after t = 0 … γ tokens.
   * @param {number} t
   * @returns {Along & Record<keyof typeof LETTERS, number>}
   */
  at(t) {
    this.t = t;
    return /** @type {any} */ (this);
  }

  /** The last of the t tokens. */
  get token() {
    return this.tokens[this.t - 1];
  }

  /** The rows from which the last of the t tokens comes. */
  get last() {
    const { p, q } = this.rows;
    return { p: p[this.t - 1], q: q[this.t - 1] };
  }

  /** For t = 0 … γ: log r, and the highest of them up to t. */
  get logs() {
    if (this.ratios) return this.ratios;
    const { p, q } = this.rows;
    let log = 0;
    let peak = 0;
    const logs = { log: [log], peak: [peak] };
    this.tokens.forEach((x, t) => {
      const drafted = Math.max(q[t][x], 1e-300); // also where q cannot draft the token
      log = log + Math.log(p[t][x]) - Math.log(drafted);
      if (Math.abs(log - peak) < 1e-14) log = peak; // equal, but for rounding
      peak = Math.max(peak, log);
      logs.log.push(log);
      logs.peak.push(peak);
    });
    this.ratios = logs;
    return logs;
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
    const drafted = q[t];
    return p[t].map((x, i) => (1 - this.weight) * x + this.weight * drafted[i]);
  }
}

for (const [name, number] of Object.entries(LETTERS)) {
  Object.defineProperty(Along.prototype, name, {
    get: /** @this {Along} */ function () {
      return number(this);
    },
  });
}

/**
 * Return a row like this one with everything on the token x.
 * @type {(row: Row, x: number) => Row}
 */
const oneHot = (row, x) => row.engine?.oneHot(row, x) ?? row.map((_, i) => Number(i === x));

/**
 * Return rows like these with everything on the tokens drawn from them.
 * @type {(rows: Row[], tokens: number[]) => Row[]}
 */
const oneHots = (rows, tokens) => rows.map((row, t) => oneHot(row, tokens[t]));

/** Return the token with the most, the first of equals. @param {Row} row */
function likeliest(row) {
  if (row.engine) return row.engine.largest(row, 1)[0];
  let best = 0;
  for (let i = 1; i < row.length; i += 1) {
    if (row[i] > row[best]) best = i;
  }
  return best;
}

/**
 * Return the law of a rule.
 * @param {string} name
 * @param {Row[]} p
 * @param {Row[]} q
 * @param {number[]} tokens
 * @param {Partial<Settings>} settings
 * @param {RawRows | null} raw - at temperature 1, for a rule that needs them at temperature 0
 * @returns {Law}
 */
function lawOf(name, p, q, tokens, settings = SETTINGS, raw = null) {
  const all = { ...SETTINGS, ...settings };
  const recipe = chainRecipe(name, all);
  const along = new Along(recipe, p, q, tokens, all, raw);
  const gamma = tokens.length;
  const factors = range(gamma).map((t) => {
    const [a, b] = factorsAt(recipe, along.at(t));
    return { a: Number(a), b: Number(b) };
  });
  const threshold = range(gamma).map((i) => {
    const h = Number(thresholdAt(recipe, along.at(i + 1), i + 1 === gamma));
    return Math.min(Math.max(h, 0), 1); // masses of rounded rows may leave it
  });
  return {
    name,
    recipe,
    along,
    forward: !recipe.whole,
    threshold,
    a: factors.map(({ a }) => a),
    b: factors.map(({ b }) => b),
    ...along.rows,
    tokens,
  };
}

/** @type {Tests} */
const CAPPED = { a: "capped", b: 1, each: [], whole: null, inner: null };

/**
 * Return what explains each branch t = 0 … γ-1 of a draft, as a trace has it: r, m (after how many
 * earlier tokens r was largest, if above 1), c, and the masses under it.
 * @param {Row[]} p
 * @param {Row[]} q
 * @param {number[]} tokens
 */
function explain(p, q, tokens) {
  const along = new Along(CAPPED, p, q, tokens, SETTINGS);
  const { log } = along.logs;
  let best = 0;
  return tokens.map((_, t) => {
    if (t > 1 && log[t - 1] >= log[best]) best = t - 1;
    const { ratio, capped, deficient, excess } = along.at(t);
    const pivot = log[best] > 0 ? best : 0;
    return { ratio, pivot, capped, deficient, excess };
  });
}

/**
 * Whether a rule's tests compare such a number, by its name in `GroundsRecord`.
 * @type {(recipe: Pick<Recipe, "each">, name: string) => boolean}
 */
function uses({ each }, name) {
  return each.some((form) => name in forms[form].along);
}
const usesDivergence = (/** @type {Pick<Recipe, "each">} */ recipe) => uses(recipe, "divergence");

/**
 * The numbers that the test at t compares, see `groundsOf`.
 * @type {(law: Law, t: number) => ReturnType<typeof groundsOf>}
 */
const groundsAt = ({ recipe, along, threshold }, t) =>
  groundsOf(recipe, along.at(t), t === threshold.length);

/**
 * Return the residual max(a p − b q, 0), rounded as Python rounds it.
 * @param {Row} p
 * @param {Row} q
 * @param {number} a
 * @param {number} b
 * @returns {Row}
 */
function residualOf(p, q, a, b) {
  const left = p.engine && p.engine === q.engine ? p.engine.residual(p, q, a, b) : null;
  if (left) return left;
  const round = p instanceof Float32Array ? Math.fround : (/** @type {number} */ x) => x;
  const residual = p.slice();
  const factor = round(a);
  const taken = round(b);
  // over a vocabulary, a loop takes a third of a map
  for (let i = 0; i < q.length; i += 1) {
    residual[i] = Math.max(round(factor * p[i]) - round(taken * q[i]), 0);
  }
  return residual;
}

/**
 * Return the row of the token after t kept ones: the residual, p itself where none is left, the
 * bonus row, or a likeliest token. A residual in an engine's memory is not divided by its sum.
 * @param {Law} law
 * @param {number} t
 * @returns {Row}
 */
function next({ recipe, along, threshold, a, b, p, q, tokens }, t) {
  const all = t === threshold.length;
  if (recipe.follow) {
    const row = recipe.follow === "mixture" && !all ? along.mixture(t) : p[t];
    return oneHot(row, likeliest(row));
  }
  if (all) return p[t];
  const residual = recipe.coupled
    ? coupledLeft(p[t], q[t], tokens[t])
    : residualOf(p[t], q[t], a[t], b[t]);
  const mass = sum(residual);
  if (!(mass > 0)) return p[t];
  if (residual.engine) return residual;
  return Float64Array.from(residual, (x) => x / mass);
}

/** @typedef {Pick<Law, "forward" | "threshold">} Thresholds */

/** Return the positions in the order in which they are tested. @param {Thresholds} law */
function order({ forward, threshold }) {
  const positions = threshold.map((_, i) => i + 1);
  return forward ? positions : positions.reverse();
}

/**
 * Return how many drafted tokens are kept with these coins. Strict <: a coin of 0 must not accept
 * p = 0.
 * @type {(law: Thresholds, coins: number[]) => number}
 */
function kept(law, coins) {
  for (const t of order(law)) {
    const success = coins[t - 1] < law.threshold[t - 1];
    if (success !== law.forward) return law.forward ? t - 1 : t;
  }
  return law.forward ? law.threshold.length : 0;
}

/** Return the mean of a number t = 0, 1, … from the chance of each. @param {number[]} chances */
const mean = (chances) => chances.reduce((total, chance, t) => total + t * chance, 0);

/**
 * Return the token in whose part of the row the number u falls; rounding at the end never picks a
 * token of probability 0.
 * @type {(row: Row, u: number) => number}
 */
function pick(row, u) {
  if (row.engine) return row.engine.pick(row, u);
  const total = sum(row);
  let reached = 0;
  for (let x = 0; x < row.length; x += 1) {
    reached += row[x];
    if (reached > u * total || reached >= total) return x;
  }
  return row.length - 1;
}

/**
 * Return a number for which `pick` gives the token x, `share` of the way through its part of the
 * row.
 * @type {(row: Row, x: number, share: number) => number}
 */
function place(row, x, share) {
  const before = sum(row.slice(0, x));
  const total = sum(row);
  const number = (before + share * row[x]) / total;
  return pick(row, number) === x ? number : (before + row[x] / 2) / total;
}

/**
 * Whether a rule that is not lossless is exact with these settings.
 * @type {(name: string, settings: Settings) => boolean}
 */
function exactWith(name, settings) {
  const { knob } = chain(name);
  return knob !== null && knob.exact !== null && settings[knob.option] <= knob.exact;
}

export {
  Along,
  CHAINS,
  chain,
  exactWith,
  explain,
  groundsAt,
  kept,
  lawOf,
  leftOver,
  likeliest,
  mean,
  next,
  oneHot,
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

// A step as a trace has it, from what a round decided; as hsd/decoding/record.py and describe.py
// tell it.
import { entropy, totalVariation } from "../../rules/divergence.js";
import { CHAINS, explain, groundsAt, kept, leftOver, mean, next } from "../../rules/law.js";
import { order, pick, range, stops, sum, usesDivergence, VANILLA } from "../../rules/law.js";
import { lawOver } from "./merged.js";
import { lead } from "../../rules/coupled.js";

const TOP = 8; // tokens listed of a row
const HIGHEST = Math.exp(690); // of ratios: finite in every format
const UNKNOWN = { divergence: null, entropy: null, mixed: null, rival: null };
const GROUNDS = { form: "", p: 0, q: 0, before: 1, mass: 0, weight: 0, ...UNKNOWN };

/** A number as JSON has it. @template T @param {T} x @returns {T | "Infinity"} */
const written = (x) => (x === Infinity ? "Infinity" : x);

/**
 * The places of the `count` largest numbers of a row, the largest first.
 * @type {(row: Row, count: number) => number[]}
 */
function largest(row, count) {
  const top = /** @type {number[]} */ ([]);
  for (let [i, least] = [0, -Infinity]; i < row.length; i += 1) {
    if (row[i] <= least) continue;
    let at = top.length;
    while (at > 0 && row[top[at - 1]] < row[i]) at -= 1;
    top.splice(at, 0, i);
    if (top.length > count) top.pop();
    if (top.length === count) least = row[top[count - 1]];
  }
  return top;
}

/**
 * The tokens that are likeliest by one of the rows, those in `first` before all others.
 * @type {(rows: Row[], first: number[]) => number[]}
 */
function ranked(rows, first) {
  const most = (/** @type {number} */ token) => Math.max(...rows.map((row) => row[token]));
  const sorted = (/** @type {number[]} */ tokens) =>
    [...new Set(tokens)].sort((a, b) => most(b) - most(a));
  const others = sorted(rows.flatMap((row) => largest(row, TOP))).filter(
    (token) => !first.includes(token),
  );
  return [...sorted(first), ...others].slice(0, Math.max(TOP, first.length));
}

/** The mass of a row outside `top`. @type {(row: Row, top: number[]) => number} */
const rest = (row, top) =>
  Math.max(sum(row) - top.reduce((total, token) => total + row[token], 0), 0);

/** Writes down what rounds of one run decided. */
class Recorder {
  /**
   * shadow: the rule to compare with, null for the usual one.
   * @param {Pick<Codec, "ends" | "described">} codec
   * @param {string} rule
   * @param {string | null} shadow
   * @param {Settings} settings
   */
  constructor(codec, rule, shadow, settings) {
    this.codec = codec;
    this.rule = rule;
    this.shadow = shadow ?? VANILLA;
    this.settings = settings;
    const others = [...CHAINS.values()].filter(({ knob }) => !knob).map(({ name }) => name);
    this.others = [...new Set([this.shadow, ...others])].filter((name) => name !== rule);
  }

  /**
   * @param {number[]} tokens
   * @param {number} count - of the kept ones
   * @param {boolean} bonus
   * @returns {Committed[]}
   */
  committed(tokens, count, bonus) {
    const after = bonus ? "bonus" : "correction";
    return tokens.map((token, i) => ({
      ...this.codec.described(token),
      origin: i < count ? "draft" : after,
    }));
  }

  /**
   * The fields that describe a draft, every branch, and the grounds of every decision.
   * @param {Omit<Round, "extra" | "bonus" | "committed">} played
   */
  details(played) {
    const { tokens, coins, law, number } = played;
    const laws = new Map([[this.rule, law]]);
    for (const name of this.others) laws.set(name, lawOver(name, played, this.settings));
    const own = this.verdict(played, law, played);
    const other = laws.get(this.shadow) ?? law;
    const count = kept(other, coins);
    const ended = count > 0 && this.codec.ends.includes(tokens[count - 1]);
    const row = next(other, count);
    const shadow = this.verdict(played, other, {
      kept: count,
      row,
      token: ended ? null : pick(row, number),
    });
    const chances = new Map(
      [...laws].map(([name, { threshold, forward }]) => [name, stops(threshold, forward)]),
    );
    return {
      nodes: this.nodes(played),
      paths: tokens.length ? [{ nodes: range(tokens.length).map((i) => i + 1), fork: 0 }] : [],
      branches: this.branches(played, [own, shadow]),
      verdict: { ...own, extra_draws: played.extraDraws },
      shadow,
      divergences: usesDivergence(law.recipe)
        ? tokens.map((_, i) => written(law.along.at(i + 1).divergence))
        : [],
      growth: [],
      events: [],
      expected_kept: Object.fromEntries([...chances].map(([name, stop]) => [name, mean(stop)])),
      kept_law: Object.fromEntries(
        [this.rule, this.shadow].map((name) => [name, chances.get(name) ?? []]),
      ),
    };
  }

  nodes(
    /** @type {Omit<Round, "extra" | "bonus" | "committed">} */ { tokens, p, q, draws, coins },
  ) {
    return tokens.map((token, i) => {
      const numbers = { p: p[i][token], q: q[i][token], order: i, draw: draws[i], coin: coins[i] };
      return { id: i + 1, parent: i, ...this.codec.described(token), ...numbers };
    });
  }

  /**
   * The likeliest tokens of each branch, those drafted and drawn there first, and what explains it.
   * @param {MergedDraft} played
   * @param {Verdict[]} verdicts
   */
  branches({ tokens, p, q, small }, verdicts) {
    const along = explain(small.p, small.q, small.tokens);
    let jointP = 1;
    let jointQ = 1;
    return tokens.map((token, i) => {
      const drawn = verdicts.flatMap(({ residual }) =>
        residual?.origin === "correction" && residual.node === i ? [residual.top[0].token] : [],
      );
      const top = ranked([p[i], q[i]], [token, ...drawn]);
      const branch = {
        node: i,
        top: top.map((one) => ({ ...this.codec.described(one), p: p[i][one], q: q[i][one] })),
        rest_p: rest(p[i], top),
        rest_q: rest(q[i], top),
        ...along[i],
        ratio: Math.min(along[i].ratio, HIGHEST),
        distance: totalVariation(small.p[i], small.q[i]),
        asymmetry: jointP - jointQ,
        joint_q: jointQ,
        entropy: entropy(p[i]),
        lead: lead(small.p[i], small.q[i], small.tokens[i]),
      };
      jointP *= p[i][token];
      jointQ *= q[i][token];
      return branch;
    });
  }

  /**
   * What a rule decided. token: what follows the kept ones, drawn from `row`; null where they end
   * the text.
   * @type {(played: Omit<Round, "extra" | "bonus" | "committed">, law: Law, ending: Pick<Round,
   *   "kept" | "row" | "token">) => Verdict}
   */
  verdict({ p, q, tokens, coins, number }, law, { kept: count, row, token }) {
    const decided = {
      rule: law.name,
      kept: count,
      decisions: this.decisions(law, coins),
      changes: [],
    };
    const nothing = { ...decided, residual: null, next: null, extra_draws: [] };
    if (token === null) return nothing;
    const bonus = count === tokens.length;
    const places = ranked([row], [token]);
    const top = places.map((one) => {
      const others = { p: p[count][one], q: bonus ? null : q[count][one] };
      return { ...this.codec.described(one), probability: row[one], ...others };
    });
    const [next] = this.committed([token], 0, bonus);
    /** @type {Residual} */
    const residual = {
      ...{ node: count, origin: bonus ? "bonus" : "correction", draw: number },
      ...{ top, rest: rest(row, places), ...left(law, count) },
    };
    return { ...nothing, residual, next };
  }

  /** @type {(law: Law, coins: number[]) => Decision[]} */
  decisions(law, coins) {
    const decisions = /** @type {Decision[]} */ ([]);
    for (const t of order(law)) {
      const threshold = law.threshold[t - 1];
      const coin = coins[t - 1];
      const test = law.forward ? "token" : t === law.threshold.length ? "draft" : "prefix";
      const accepted = coin < threshold;
      const grounds = { ...GROUNDS, ...groundsAt(law, t) };
      for (const [name, x] of Object.entries(grounds))
        Object.assign(grounds, { [name]: written(x) });
      decisions.push({ node: t, test, threshold, coin, accepted, draft: 0, grounds });
      if (accepted !== law.forward) break;
    }
    return decisions;
  }
}

/**
 * Factor and sum of the residual max(weight p − q, 0); both null for a bonus, for what a coupled
 * rule leaves, and without a draw.
 * @type {(law: Law, count: number) => Pick<Residual, "weight" | "mass">}
 */
function left({ recipe, threshold, a, b, p, q }, count) {
  if (recipe.follow || recipe.coupled || count === threshold.length)
    return { weight: null, mass: null };
  if (!b[count]) return { weight: "Infinity", mass: null };
  return {
    weight: a[count] / b[count],
    mass: leftOver(a[count], b[count], p[count], q[count]) / b[count],
  };
}

export { Recorder };

// A step as a trace has it, from a round of decoding; hsd/decoding/record.py and describe.py do the
// same in Python.
import { entropy, totalVariation } from "../../rules/divergence.js";
import { CHAINS, explain, groundsAt, kept, leftOver, mean, next } from "../../rules/law.js";
import { order, pick, stops, sum, usesDivergence, VANILLA } from "../../rules/law.js";
import { lawOver } from "./draft_rows.js";
import { lead } from "../../rules/coupled.js";

const TOP = 8; // tokens listed of a row
const HIGHEST = Math.exp(690); // of ratios: finite in every format
const UNKNOWN = { divergence: null, entropy: null, mixed: null, rival: null };
const GROUNDS = { form: "", p: 0, q: 0, before: 1, mass: 0, weight: 0, ...UNKNOWN };

/** A number as JSON has it. @template T @param {T} x @returns {T | "Infinity"} */
const written = (x) => (x === Infinity ? "Infinity" : x);

/**
 * Return the places of the `count` largest numbers of a row, the largest first.
 * @type {(row: Row, count: number) => number[]}
 */
function largest(row, count) {
  if (row.engine) return row.engine.largest(row, count);
  /** @type {number[]} */
  const top = [];
  let least = -Infinity;
  for (let i = 0; i < row.length; i += 1) {
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
 * Return the tokens that are likeliest by any of the rows, those in `first` before all others.
 * @type {(rows: Row[], first: number[]) => number[]}
 */
function ranked(rows, first) {
  const most = (/** @type {number} */ token) => {
    const shares = rows.map((row) => row[token]);
    return Math.max(...shares);
  };
  const sorted = (/** @type {number[]} */ tokens) =>
    [...new Set(tokens)].sort((a, b) => most(b) - most(a));
  const others = sorted(rows.flatMap((row) => largest(row, TOP))).filter(
    (token) => !first.includes(token),
  );
  return [...sorted(first), ...others].slice(0, Math.max(TOP, first.length));
}

/** The mass of a row outside `top`. @type {(row: Row, top: number[]) => number} */
function rest(row, top) {
  const listed = top.reduce((total, token) => total + row[token], 0);
  return Math.max(sum(row) - listed, 0);
}

/** Turns the rounds of one run into the fields of a trace's steps. */
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
    const others = new Set([this.shadow]);
    for (const { name, knob } of CHAINS.values()) {
      if (!knob) others.add(name);
    }
    others.delete(rule);
    this.others = [...others]; // the rules whose chances a step has, beside its own
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
    /** @type {Record<string, number[]>} */
    const chances = {};
    /** @type {Record<string, number>} */
    const expected = {};
    for (const [name, { threshold, forward }] of laws) {
      chances[name] = stops(threshold, forward);
      expected[name] = mean(chances[name]);
    }
    const path = { nodes: tokens.map((_, i) => i + 1), fork: 0 };
    return {
      nodes: this.nodes(played),
      paths: tokens.length ? [path] : [],
      branches: this.branches(played, [own, shadow]),
      verdict: { ...own, extra_draws: played.extraDraws },
      shadow,
      divergences: usesDivergence(law.recipe)
        ? tokens.map((_, i) => written(law.along.at(i + 1).divergence))
        : [],
      growth: [],
      events: [],
      expected_kept: expected,
      kept_law: {
        [this.rule]: chances[this.rule],
        [this.shadow]: chances[this.shadow],
      },
    };
  }

  nodes(
    /** @type {Omit<Round, "extra" | "bonus" | "committed">} */ { tokens, p, q, draws, coins },
  ) {
    return tokens.map((token, i) => ({
      id: i + 1,
      parent: i,
      ...this.codec.described(token),
      p: p[i][token],
      q: q[i][token],
      order: i,
      draw: draws[i],
      coin: coins[i],
    }));
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
      const drawn = verdicts.flatMap(({ residual }) => {
        if (residual?.origin !== "correction" || residual.node !== i) return [];
        return residual.top[0].token;
      });
      const top = ranked([p[i], q[i]], [token, ...drawn]);
      const branch = {
        node: i,
        top: top.map((candidate) => ({
          ...this.codec.described(candidate),
          p: p[i][candidate],
          q: q[i][candidate],
        })),
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
   * Return the verdict of a rule. ending: how many tokens it keeps, and the token that follows,
   * drawn from `row`; null where the kept ones end the text.
   * @param {Omit<Round, "extra" | "bonus" | "committed">} played
   * @param {Law} law
   * @param {Pick<Round, "kept" | "row" | "token">} ending
   * @returns {Verdict}
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
    const mass = bonus ? 1 : sum(row); // a residual may be one that was not divided
    const top = places.map((candidate) => ({
      ...this.codec.described(candidate),
      probability: row[candidate] / mass,
      p: p[count][candidate],
      q: bonus ? null : q[count][candidate],
    }));
    const [next] = this.committed([token], 0, bonus);
    /** @type {Residual} */
    const residual = {
      node: count,
      origin: bonus ? "bonus" : "correction",
      draw: number,
      top,
      rest: rest(row, places) / mass,
      ...left(law, count),
    };
    return { ...nothing, residual, next };
  }

  /** @type {(law: Law, coins: number[]) => Decision[]} */
  decisions(law, coins) {
    /** @type {Decision[]} */
    const decisions = [];
    for (const t of order(law)) {
      const threshold = law.threshold[t - 1];
      const coin = coins[t - 1];
      /** @type {Decision["test"]} */
      let test = "token";
      if (!law.forward) test = t === law.threshold.length ? "draft" : "prefix";
      const accepted = coin < threshold;
      const grounds = { ...GROUNDS, ...groundsAt(law, t) };
      for (const [name, x] of Object.entries(grounds)) {
        Object.assign(grounds, { [name]: written(x) });
      }
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

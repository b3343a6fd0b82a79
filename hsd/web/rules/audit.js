// Exact enumeration, as hsd/audit/chains.py does it: every draft, every outcome, no random number.
// A model here is {vocab, gamma, p, q}: rows that depend on the position only; `settings` may hold
// those of rules. A sequence of n tokens is a number in base V, first token highest, so that a law
// over all is an array of Vⁿ numbers.
import { relativeEntropy, totalVariation } from "./divergence.js";
import { CHAINS, chain, exactWith, lawOf, mean, next, range, SETTINGS, stops, sum } from "./law.js";

const MAX_OUTCOMES = 4096;
const ROUNDING = 1e-12; // a total variation below this is rounding

/**
 * Return the tokens of a sequence.
 * @type {(code: number, length: number, vocab: number) => number[]}
 */
const digits = (code, length, vocab) =>
  range(length).map((i) => {
    const place = vocab ** (length - 1 - i);
    return Math.floor(code / place) % vocab;
  });

/**
 * Return one law over all sequences of each length 0 … rows.length: the product of the rows.
 * @param {number[][]} rows
 */
function joints(rows) {
  let law = [1];
  const laws = [law];
  for (const row of rows) {
    law = law.flatMap((mass) => row.map((x) => mass * x));
    laws.push(law);
  }
  return laws;
}

/**
 * Return max(p(X, ·) − q(X, ·), 0) with joint probabilities, normalised; the target's row where
 * nothing is left.
 * @param {number} jointP - probability of the prefix X with the target
 * @param {number} jointQ - and with the draft
 * @param {Row} p
 * @param {Row} q
 * @returns {Row}
 */
function openResidual(jointP, jointQ, p, q) {
  const residual = p.map((x, i) => Math.max(jointP * x - jointQ * q[i], 0));
  const mass = sum(residual);
  return mass > 0 ? residual.map((x) => x / mass) : p;
}

/**
 * An array for each number of tokens 0 … γ, with a place for every sequence of so many.
 * @template T
 * @param {AuditModel} model
 * @param {T} value - of all places
 * @returns {T[][]}
 */
const bySequence = ({ vocab, gamma }, value) =>
  range(gamma + 1).map((t) => new Array(vocab ** t).fill(value));

/**
 * Return where the drafts end under a rule.
 *
 * - mass: by number of kept tokens and prefix.
 * - rows: the same, times the next token's row; null where the mass is 0.
 * - thresholds: of every draft; null where the draft has no mass.
 * @param {AuditModel} model
 * @param {string} name - of the rule
 * @param {number[]} drafts - their law
 */
function endings(model, name, drafts) {
  const { vocab, gamma, p, q } = model;
  const mass = bySequence(model, 0);
  const rows = bySequence(model, /** @type {Row | null} */ (null));
  /** @type {Row[][]} */
  const known = range(gamma + 1).map(() => []);
  /** @type {(number[] | null)[]} */
  const thresholds = [];
  drafts.forEach((weight, code) => {
    thresholds.push(null);
    if (weight === 0) return;
    const law = lawOf(name, p, q, digits(code, gamma, vocab), model.settings);
    thresholds[code] = law.threshold;
    stops(law.threshold, law.forward).forEach((chance, t) => {
      const prefix = Math.floor(code / vocab ** (gamma - t));
      const share = weight * chance;
      if (share === 0) return;
      // of other rules the prefix alone decides
      if (law.recipe.certain || law.recipe.coupled || !known[t][prefix])
        known[t][prefix] = next(law, t);
      const before = rows[t][prefix];
      const row = known[t][prefix];
      rows[t][prefix] = row.map((x, i) => (before ? before[i] : 0) + share * x);
      mass[t][prefix] += share;
    });
  });
  return { mass, rows, thresholds };
}

/**
 * Return the law of the first γ+1 tokens: where a draft ends the next token is added, and then the
 * target goes on.
 * @param {AuditModel} model
 * @param {Chain} rule
 * @param {ReturnType<typeof endings>} ends
 * @param {number[][]} targets
 * @param {number[][]} drafts
 */
function spread(model, rule, { rows }, targets, drafts) {
  const { vocab, gamma, p, q } = model;
  let flow = [0];
  for (const t of range(gamma + 1)) {
    const longer = new Array(vocab ** (t + 1)).fill(0);
    for (const prefix of range(vocab ** t)) {
      /** @type {Row} */
      let going = p[t];
      if (rule.resamples && t < gamma && t > 0)
        going = openResidual(targets[t][prefix], drafts[t][prefix], p[t], q[t]);
      const ending = rows[t][prefix];
      for (const x of range(vocab)) {
        const ended = ending ? ending[x] : 0;
        longer[prefix * vocab + x] = flow[prefix] * going[x] + ended;
      }
    }
    flow = longer;
  }
  return flow;
}

/**
 * Return everything exact about one rule. `output` is its law of the first γ+1 tokens, `divergence`
 * KL(output‖target), `extra` its further target calls; `exact` says that it follows the target on
 * this model, `strict` that its settings make it exact on all.
 * @param {AuditModel} model
 * @param {string} name
 * @param {number[][]} targets
 * @param {number[][]} drafts
 */
function audit(model, name, targets, drafts) {
  const rule = chain(name);
  const ends = endings(model, name, drafts[model.gamma]);
  const output = spread(model, rule, ends, targets, drafts);
  const stop = ends.mass.map((row) => sum(row));
  const kept = mean(stop);
  let extra = 0;
  let committed = kept + 1;
  if (rule.resamples) {
    extra = sum(stop, (chance, t) => chance * Math.max(model.gamma - t - 1, 0));
    committed = model.gamma + stop[model.gamma];
  }
  const distance = totalVariation(output, targets[model.gamma + 1]);
  const divergence = relativeEntropy(output, targets[model.gamma + 1]);
  const exact = distance < ROUNDING;
  const strict = exactWith(name, { ...SETTINGS, ...model.settings });
  return {
    name,
    output,
    stop,
    kept,
    extra,
    committed,
    calls: 1 + extra,
    distance,
    divergence,
    exact,
    strict,
    thresholds: ends.thresholds,
  };
}

/**
 * Return the largest difference between the thresholds of two rules over all drafts.
 * @type {(first: Audit, second: Audit) => number}
 */
function apart(first, second) {
  const between = first.thresholds.map((row, i) => {
    const others = second.thresholds[i];
    if (!row || !others) return 0;
    return Math.max(...row.map((h, t) => Math.abs(h - others[t])));
  });
  return Math.max(0, ...between);
}

/**
 * Audit all rules on one model; `ideal` is Σ min(p(X), q(X)) over all prefixes of 1 … γ tokens.
 * @param {AuditModel} model
 */
function enumerate(model) {
  const targets = joints(model.p);
  const drafts = joints(model.q);
  const ideal = sum(range(model.gamma), (t) => {
    const target = targets[t + 1];
    return sum(drafts[t + 1], (x, i) => Math.min(x, target[i]));
  });
  const names = [...CHAINS.keys()];
  const audits = names.map((name) => [name, audit(model, name, targets, drafts)]);
  return { target: targets[model.gamma + 1], rules: Object.fromEntries(audits), ideal };
}

/**
 * Return the law of the first n tokens, from the law of more.
 * @type {(output: number[], vocab: number, n: number) => number[]}
 */
function marginal(output, vocab, n) {
  const width = output.length / vocab ** n;
  return range(vocab ** n).map((i) => {
    const begin = i * width;
    return sum(output.slice(begin, begin + width));
  });
}

/**
 * Return how many tokens, from 1 to γ+1, fit into a chart with a bar for each sequence, of at most
 * `bars` bars.
 * @type {(vocab: number, gamma: number, bars?: number) => number}
 */
function shownLength(vocab, gamma, bars = 32) {
  let length = 1;
  while (length <= gamma && vocab ** (length + 1) <= bars) length += 1;
  return length;
}

export {
  audit,
  MAX_OUTCOMES,
  ROUNDING,
  digits,
  enumerate,
  apart,
  marginal,
  shownLength,
  openResidual,
};

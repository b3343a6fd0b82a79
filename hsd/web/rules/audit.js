// Exact enumeration, as hsd/audit/chains.py does it: every draft, every outcome, no random number.
// A model here is {vocab, gamma, p, q}: rows that depend on the position only; `settings` may hold those of rules.
// A sequence of n tokens is a number in base V, first token highest, so that a law over all is an array of Vⁿ numbers.
import { relativeEntropy, totalVariation } from "./divergence.js";
import { CHAINS, chain, exactWith, lawOf, mean, next, range, SETTINGS, stops, sum } from "./law.js";

const MAX_OUTCOMES = 4096;
const ROUNDING = 1e-12; // a total variation below this is rounding

/** The tokens of a sequence. @type {(code: number, length: number, vocab: number) => number[]} */
const digits = (code, length, vocab) => range(length).map((i) => Math.floor(code / vocab ** (length - 1 - i)) % vocab);

/** One law over all sequences of each length 0 … rows.length: the product of the rows. @param {number[][]} rows */
function joints(rows) {
  const out = [[1]];
  for (const row of rows) out.push(out[out.length - 1].flatMap((mass) => row.map((x) => mass * x)));
  return out;
}

/** max(p(X, ·) − q(X, ·), 0) with joint probabilities, normalised; the target's row if nothing is left. @type {(jointP: number, jointQ: number, p: Row, q: Row) => Row} */
function openResidual(jointP, jointQ, p, q) {
  const residual = p.map((x, i) => Math.max(jointP * x - jointQ * q[i], 0));
  const mass = sum(residual);
  return mass > 0 ? residual.map((x) => x / mass) : p;
}

/**
 * Where the drafts end under a rule: per number of kept tokens and prefix, its mass, and that times the next token's row.
 * @type {(model: AuditModel, name: string, drafts: number[]) => {mass: number[][], rows: (Row | null)[][], thresholds: (number[] | null)[]}}
 */
function endings(model, name, drafts) {
  const { vocab, gamma, p, q } = model;
  const mass = range(gamma + 1).map((t) => new Array(vocab ** t).fill(0));
  const rows = range(gamma + 1).map((t) => new Array(vocab ** t).fill(null));
  /** @type {Row[][]} */
  const known = range(gamma + 1).map(() => []);
  const thresholds = /** @type {(number[] | null)[]} */ ([]);
  drafts.forEach((weight, code) => {
    thresholds.push(null);
    if (weight === 0) return;
    const law = lawOf(name, p, q, digits(code, gamma, vocab), model.settings);
    thresholds[code] = law.threshold;
    stops(law.threshold, law.forward).forEach((chance, t) => {
      const prefix = Math.floor(code / vocab ** (gamma - t));
      const share = weight * chance;
      if (share === 0) return;
      if (law.recipe.certain || law.recipe.coupled || !known[t][prefix]) known[t][prefix] = next(law, t); // else the prefix alone decides
      const before = rows[t][prefix];
      rows[t][prefix] = known[t][prefix].map((x, i) => (before ? before[i] : 0) + share * x);
      mass[t][prefix] += share;
    });
  });
  return { mass, rows, thresholds };
}

/**
 * Add the next token to what ends after `t` tokens, then let the target go on to γ+1 tokens.
 * @type {(model: AuditModel, rule: Chain, ends: ReturnType<typeof endings>, targets: number[][], drafts: number[][]) => number[]}
 */
function spread(model, rule, { rows }, targets, drafts) {
  const { vocab, gamma, p, q } = model;
  let flow = [0];
  for (const t of range(gamma + 1)) {
    const longer = new Array(vocab ** (t + 1)).fill(0);
    for (const prefix of range(vocab ** t)) {
      const open = rule.resamples && t < gamma && t > 0;
      const going = open ? openResidual(targets[t][prefix], drafts[t][prefix], p[t], q[t]) : p[t];
      const ending = rows[t][prefix];
      for (const x of range(vocab)) longer[prefix * vocab + x] = flow[prefix] * going[x] + (ending ? ending[x] : 0);
    }
    flow = longer;
  }
  return flow;
}

/**
 * Everything exact about one rule. `output` is its law of the first γ+1 tokens, `divergence` KL(output‖target),
 * `extra` its further target calls; `exact` says that it follows the target here, `strict` that its settings make it exact anywhere.
 * @param {AuditModel} model @param {string} name @param {number[][]} targets @param {number[][]} drafts
 */
function audit(model, name, targets, drafts) {
  const rule = chain(name);
  const found = endings(model, name, drafts[model.gamma]);
  const output = spread(model, rule, found, targets, drafts);
  const stop = found.mass.map((row) => sum(row));
  const kept = mean(stop);
  const extra = rule.resamples ? sum(stop, (chance, t) => chance * Math.max(model.gamma - t - 1, 0)) : 0;
  const committed = rule.resamples ? model.gamma + stop[model.gamma] : kept + 1;
  const distance = totalVariation(output, targets[model.gamma + 1]);
  const divergence = relativeEntropy(output, targets[model.gamma + 1]);
  const [exact, strict] = [distance < ROUNDING, exactWith(name, { ...SETTINGS, ...model.settings })];
  const lengths = { stop, kept, extra, committed, calls: 1 + extra };
  return { name, output, ...lengths, distance, divergence, exact, strict, thresholds: found.thresholds };
}

/** The largest difference between the thresholds of two rules over all drafts. @type {(first: Audit, second: Audit) => number} */
function apart(first, second) {
  const between = first.thresholds.map((row, i) => {
    const others = second.thresholds[i];
    return row && others ? Math.max(...row.map((h, t) => Math.abs(h - others[t]))) : 0;
  });
  return Math.max(0, ...between);
}

/** All rules on one model; `ideal` is Σ min(p(X), q(X)) over all prefixes of 1 … γ tokens. @param {AuditModel} model */
function enumerate(model) {
  const targets = joints(model.p);
  const drafts = joints(model.q);
  const ideal = sum(range(model.gamma), (t) => sum(drafts[t + 1], (x, i) => Math.min(x, targets[t + 1][i])));
  const rules = Object.fromEntries([...CHAINS.keys()].map((name) => [name, audit(model, name, targets, drafts)]));
  return { target: targets[model.gamma + 1], rules, ideal };
}

/** The law of the first n tokens, from the law of more. @type {(output: number[], vocab: number, n: number) => number[]} */
function marginal(output, vocab, n) {
  const width = output.length / vocab ** n;
  return range(vocab ** n).map((i) => sum(output.slice(i * width, (i + 1) * width)));
}

/** How many tokens fit into a chart of at most `bars` bars. @type {(vocab: number, gamma: number, bars?: number) => number} */
function shownLength(vocab, gamma, bars = 32) {
  return range(gamma + 1).reduce((n, i) => (vocab ** (i + 1) <= bars ? i + 1 : n), 1);
}

export { audit, MAX_OUTCOMES, ROUNDING, digits, enumerate, apart, marginal, shownLength, openResidual, joints };

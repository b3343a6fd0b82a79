// The rules for one draft, as hsd/rules/chain.py and law.py state them: probabilities in, probabilities out.
// p has γ+1 rows, q has γ, each with one probability per token; tokens are the γ drafted ids. No page, no random number.
import * as fuzzy from "./fuzzy.js";
import * as relaxed from "./relaxed.js";

const TINY = 2.2250738585072014e-308; // keeps a draft that q cannot produce from dividing by zero
const sum = (row) => row.reduce((total, x) => total + x, 0);
const range = (n) => Array.from({ length: n }, (_, i) => i);

/** log r_t and log c_t for t = 0 … γ: the ratio of prefix probabilities, and the same with every surplus cut off. */
function prefixRatios(p, q, tokens) {
  const log = [0];
  const capped = [0];
  let highest = 0;
  tokens.forEach((x, t) => {
    log.push(log[t] + Math.log(p[t][x]) - Math.log(Math.max(q[t][x], TINY)));
    highest = Math.max(highest, log[t + 1]);
    capped.push(log[t + 1] - highest);
  });
  return { log, capped };
}

/** Definition 4: after how many tokens (1 … t-1) r was largest, if it exceeded 1 there; else 0. One per t = 0 … γ. */
function pivots(log) {
  let best = 0;
  return log.map((_, t) => {
    if (t > 1 && log[t - 1] >= (best ? log[best] : 0)) best = t - 1;
    return best && log[best] > 0 ? best : 0;
  });
}

/** Definition 5: log r*_t = log of min(r_m, 1) · r_t / r_m. */
const logStar = (log) => pivots(log).map((m, t) => (m ? Math.min(log[m], 0) + log[t] - log[m] : log[t]));

/** Σ max(a p − b q, 0): what the draft gives too little of. */
const deficientMass = (p, q, a, b = 1) => p.reduce((total, x, i) => total + Math.max(a * x - b * q[i], 0), 0);

/** Σ max(b q − a p, 0): what the draft gives too much of. */
const excessMass = (p, q, a, b = 1) => p.reduce((total, x, i) => total + Math.max(b * q[i] - a * x, 0), 0);

/** part / whole; 0/0 means that there is nothing to correct, and the prefix is kept for certain. */
const share = (part, whole) => (whole > 0 ? Math.min(Math.max(part / whole, 0), 1) : 1);

const capOne = (logs) => logs.map((x) => Math.exp(Math.min(x, 0)));

/** A law that steps back from the whole draft: inner(t) is the test of t < γ tokens, a_γ that of all. */
function backward(inner, a, b = null) {
  const gamma = a.length - 1;
  const threshold = range(gamma).map((i) => (i + 1 < gamma ? inner(i + 1) : a[gamma]));
  return { forward: false, threshold, a: a.slice(0, gamma), b: b && b.slice(0, gamma) };
}

/** Leviathan et al.: accept token t with min(1, p(x_t)/q(x_t)), stop at the first failure. */
function tokenwise(p, q, tokens) {
  const threshold = tokens.map((x, t) => Math.min(1, p[t][x] / Math.max(q[t][x], TINY)));
  return { forward: true, threshold, a: tokens.map(() => 1), b: null };
}

/**
 * Accept token t with p(x_t), as if the draft had been certain of it: what remains of p after a failure is p without
 * x_t. `q`: these certain rows, from which residuals are taken in place of the draft's own.
 */
function agreement(p, q, tokens) {
  const certain = tokens.map((x, t) => q[t].map((_, i) => Number(i === x)));
  return { ...tokenwise(p, certain, tokens), q: certain };
}

/** Sun et al.: keep the longest prefix whose test S_t / (S_t + 1 − c_t) succeeds; the whole draft's test is c_γ. */
function blockwise(p, q, tokens) {
  const { capped } = prefixRatios(p, q, tokens);
  const c = capped.map(Math.exp);
  const inner = (t) => {
    const deficient = deficientMass(p[t], q[t], c[t]);
    return share(deficient, deficient - Math.expm1(capped[t]));
  };
  return backward(inner, c);
}

/**
 * Zhou et al., algorithm 2: keep the longest prefix whose test D*(p,q) / D*(q,p) succeeds, with ratios capped by
 * Definition 5. Written from its own definitions, not from block verification: that both agree is a finding.
 */
function hsd(p, q, tokens) {
  const a = capOne(logStar(prefixRatios(p, q, tokens).log));
  return backward((t) => share(deficientMass(p[t], q[t], a[t]), excessMass(p[t], q[t], a[t])), a);
}

/** As `hsd`, but the whole draft is tested with the uncapped min(1, r_γ), as in the published code. Not lossless. */
function hsdReleased(p, q, tokens) {
  const law = hsd(p, q, tokens);
  const whole = capOne(prefixRatios(p, q, tokens).log.slice(-1));
  return { ...law, threshold: [...law.threshold.slice(0, -1), ...whole] };
}

/** Algorithm 1, without caps: D(p,q) / max(D(p,q), D(q,p)), both divided by max(r_t, 1) so that neither overflows. */
function naiveHsd(p, q, tokens) {
  const { log } = prefixRatios(p, q, tokens);
  const a = capOne(log);
  const b = capOne(log.map((x) => -x));
  const inner = (t) => {
    const deficient = deficientMass(p[t], q[t], a[t], b[t]);
    return share(deficient, Math.max(deficient, deficient + b[t] - a[t]));
  };
  return backward(inner, a, b);
}

/** The probability that exactly t = 0 … γ drafted tokens are kept. */
function stops({ forward, threshold }) {
  const gamma = threshold.length;
  const out = new Array(gamma + 1);
  let reached = 1;
  for (const i of range(gamma)) {
    const t = forward ? i : gamma - i;
    out[t] = reached * (forward ? 1 - threshold[t] : threshold[t - 1]);
    reached *= forward ? threshold[t] : 1 - threshold[t - 1];
  }
  out[forward ? gamma : 0] = reached;
  return out;
}

const expectedKept = (law) => stops(law).reduce((total, chance, t) => total + t * chance, 0);

/** The distribution of the token after t kept ones: the residual, p itself where none is left, or the bonus row. */
function next(law, p, q, t) {
  if (t === law.threshold.length) return p[t];
  const drafted = (law.q || q)[t];
  const residual = p[t].map((x, i) => Math.max(law.a[t] * x - (law.b ? law.b[t] : 1) * drafted[i], 0));
  const mass = sum(residual);
  return mass > 0 ? residual.map((x) => x / Math.max(mass, TINY)) : p[t];
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

/**
 * What explains a draft, for t = 0 … γ: ratio of the token (from t = 1), r, m, r* and c; and for each branch
 * t = 0 … γ-1 the deficient and excess mass under this rule's weight (1, c or r), relative to q(prefix).
 */
function explain(name, p, q, tokens) {
  const own = RULES[name].law(p, q, tokens).q || q;
  const { log, capped } = prefixRatios(p, own, tokens);
  const { forward } = RULES[name].law(p, q, tokens);
  const weight = (t) => (forward ? 1 : Math.exp((name === "naive-hsd" ? log : capped)[t]));
  const pivot = pivots(log);
  const star = logStar(log);
  return log.map((_, t) => ({
    rho: t ? p[t - 1][tokens[t - 1]] / own[t - 1][tokens[t - 1]] : null,
    ratio: Math.exp(log[t]),
    pivot: pivot[t],
    star: Math.exp(star[t]),
    capped: Math.exp(capped[t]),
    weight: t < tokens.length ? weight(t) : null,
    deficient: t < tokens.length ? deficientMass(p[t], own[t], weight(t)) : null,
    excess: t < tokens.length ? excessMass(p[t], own[t], weight(t)) : null,
  }));
}

/** The settings of the rules that have some. */
const SETTINGS = { ...fuzzy.FUZZY, ...relaxed.KNOBS };

/**
 * law(p, q, tokens, settings); resamples: positions after the correction are drawn anew, each for a target call;
 * exact(settings): whether a rule that is not lossless is so with these.
 */
const RULES = {
  "tokenwise": { law: tokenwise, resamples: false },
  "blockwise": { law: blockwise, resamples: false },
  "hsd": { law: hsd, resamples: false },
  "hsd-released": { law: hsdReleased, resamples: false },
  "naive-hsd": { law: naiveHsd, resamples: true },
  "agreement": { law: agreement, resamples: false },
  "fuzzy": { law: fuzzy.law, resamples: false, exact: ({ tolerance }) => tolerance <= 0 },
  "ensemble": { law: relaxed.ensemble, resamples: false, exact: ({ draft_weight: w }) => w === 0 },
  "typical": { law: relaxed.typical, resamples: false },
};

export { RULES, SETTINGS, stops, expectedKept, next, order, kept, explain, sum, range };

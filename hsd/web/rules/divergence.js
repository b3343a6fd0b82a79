// How far two rows of probabilities are apart, as hsd/rules/fuzzy.py has it, and the entropy of one; in nats. Pure.

/** Σ over the entries of one row, or of two beside each other. */
function sum(row, of = null) {
  let total = 0;
  if (!of) for (let i = 0; i < row.length; i += 1) total += row[i];
  if (!of) return total;
  for (let i = 0; i < row.length; i += 1) total += of(row[i], i);
  return total;
}

/** Σ max(a p − b q, 0). */
function leftOver(a, b, p, q) {
  let total = 0;
  for (let i = 0; i < p.length; i += 1) total += Math.max(a * p[i] - b * q[i], 0);
  return total;
}

/** log(b/a), from their difference where they are near to each other, so that equal rows give exactly 0. */
const logRatio = (a, b) => (Math.abs(b - a) < a / 2 ? Math.log1p((b - a) / a) : Math.log(b) - Math.log(a));

/** KL(of ‖ to), as Σ of·log(of/to) − of + to: the last two cancel over a row, and no term is negative. */
const relativeEntropy = (of, to) =>
  Math.max(
    sum(of, (a, i) => (a > 0 ? to[i] - a - a * logRatio(a, to[i]) : to[i])),
    0,
  );

/** (KL(p ‖ m) + KL(q ‖ m)) / 2 with m = (p + q) / 2, from 0 to ln 2. */
function jensenShannon(p, q) {
  const half = (x, total, lean) =>
    x > 0 ? x * (lean > -0.5 ? Math.log1p(lean) : Math.log(2 * x) - Math.log(total)) : 0;
  const term = (a, b) => half(a, a + b, (a - b) / (a + b)) + half(b, a + b, (b - a) / (a + b));
  return Math.min(Math.max(sum(p, (a, i) => term(a, q[i])) / 2, 0), Math.LN2);
}

function totalVariation(p, q) {
  let total = 0;
  for (let i = 0; i < p.length; i += 1) total += Math.abs(p[i] - q[i]);
  return total / 2;
}

const DIVERGENCES = {
  "kl": (p, q) => relativeEntropy(q, p),
  "reverse-kl": relativeEntropy,
  "js": jensenShannon,
  "tv": (p, q) => Math.min(totalVariation(p, q), 1),
};

function entropy(row) {
  let total = 0;
  for (let i = 0; i < row.length; i += 1) if (row[i] > 0) total -= row[i] * Math.log(row[i]);
  return total;
}

export { DIVERGENCES, entropy, leftOver, relativeEntropy, sum, totalVariation };

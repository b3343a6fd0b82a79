// How far two rows of probabilities are apart, as hsd/rules/fuzzy.py has it, and the entropy of
// one; in nats. Pure.

/**
 * Return the sum of the entries of a row, or of `term` of them.
 * @type {(row: Row, term?: ((x: number, i: number) => number) | null) => number}
 */
function sum(row, term = null) {
  if (row.engine && !term) return row.engine.sum(row);
  let total = 0;
  for (let i = 0; i < row.length; i += 1) {
    total += term ? term(row[i], i) : row[i];
  }
  return total;
}

/** Return Σ max(a p − b q, 0). @type {(a: number, b: number, p: Row, q: Row) => number} */
function leftOver(a, b, p, q) {
  if (p.engine && p.engine === q.engine) return p.engine.leftOver(a, b, p, q);
  let total = 0; // over a vocabulary, a loop of its own takes a third of `sum`
  for (let i = 0; i < p.length; i += 1) {
    total += Math.max(a * p[i] - b * q[i], 0);
  }
  return total;
}

/**
 * Return log(b/a), from their difference where they are near to each other, so that equal rows give
 * exactly 0.
 * @type {(a: number, b: number) => number}
 */
function logRatio(a, b) {
  const difference = b - a;
  if (Math.abs(difference) < a / 2) return Math.log1p(difference / a);
  return Math.log(b) - Math.log(a);
}

/**
 * Return KL(of ‖ to), as Σ of·log(of/to) − of + to: the last two cancel over a row, and no term is
 * negative.
 * @type {(of: Row, to: Row) => number}
 */
function relativeEntropy(of, to) {
  const total = sum(of, (a, i) => {
    const b = to[i];
    return a > 0 ? b - a - a * logRatio(a, b) : b;
  });
  return Math.max(total, 0);
}

/**
 * Return the largest number from `low` to `high` for which `holds` is true, as it is for all below.
 * @type {(low: number, high: number, holds: (x: number) => boolean) => number}
 */
function largest(low, high, holds) {
  if (holds(high)) return high;
  for (let i = 0; i < 60; i += 1) {
    const middle = (low + high) / 2;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/**
 * The last result of `clip` for a row p, as many drafts need the same.
 * @type {WeakMap<Row, {q: Row, T: number, row: Row}>}
 */
const known = new WeakMap();

/**
 * Return the row L = clip(q, α p, β p) that is nearest to q within KL(L‖p) ≤ T, as
 * hsd/rules/clipped.py has it.
 * @type {(p: Row, q: Row, T: number) => Row}
 */
function clip(p, q, T) {
  if (!(T > 0)) return p;
  if (relativeEntropy(q, p) <= T) return q;
  const last = known.get(p);
  if (last?.q === q && last.T === T) return last.row;
  /** @type {(a: number, b: number) => Row} */
  const between = (a, b) =>
    p.map((x, i) => {
      const raised = Math.max(q[i], a * x);
      return Math.min(raised, b * x);
    });
  /** The row with this β, and the largest α whose row sums to at most 1. @param {number} log */
  const rowAt = (log) => {
    const b = Math.exp(log);
    const a = largest(0, 1, (low) => sum(between(low, b)) <= 1);
    return between(a, b);
  };
  let widest = 1;
  for (let i = 0; i < p.length; i += 1) {
    if (p[i] > 0) widest = Math.max(widest, q[i] / p[i]);
  }
  const log = largest(0, Math.log(widest), (high) => relativeEntropy(rowAt(high), p) <= T);
  const row = rowAt(log);
  known.set(p, { q, T, row });
  return row;
}

/**
 * Return x·log(2x/total), from (x − y)/total, where total = x + y.
 * @type {(x: number, total: number, lean: number) => number}
 */
function half(x, total, lean) {
  if (!(x > 0)) return 0;
  return x * (lean > -0.5 ? Math.log1p(lean) : Math.log(2 * x) - Math.log(total));
}

/**
 * Return (KL(p ‖ m) + KL(q ‖ m)) / 2 with m = (p + q) / 2, from 0 to ln 2.
 * @type {(p: Row, q: Row) => number}
 */
function jensenShannon(p, q) {
  const both = sum(p, (a, i) => {
    const b = q[i];
    const total = a + b;
    const ofP = half(a, total, (a - b) / total);
    const ofQ = half(b, total, (b - a) / total);
    return ofP + ofQ;
  });
  return Math.min(Math.max(both / 2, 0), Math.LN2);
}

/**
 * Return half the sum of the absolute differences.
 * @param {Row} p
 * @param {Row} q
 */
function totalVariation(p, q) {
  const whole = sum(p, (x, i) => Math.abs(x - q[i]));
  return whole / 2;
}

/** @type {Record<string, (p: Row, q: Row) => number>} */
const DIVERGENCES = {
  "kl": (p, q) => relativeEntropy(q, p),
  "reverse-kl": relativeEntropy,
  "js": jensenShannon,
  "tv": (p, q) => Math.min(totalVariation(p, q), 1),
};

/** Return −Σ x·log x over the entries of a row. @param {Row} row */
function entropy(row) {
  if (row.engine) return row.engine.entropy(row);
  return sum(row, (x) => (x > 0 ? -x * Math.log(x) : 0));
}

export { clip, DIVERGENCES, entropy, leftOver, relativeEntropy, sum, totalVariation };

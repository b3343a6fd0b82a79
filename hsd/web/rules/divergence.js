// How far two rows of probabilities are apart, as hsd/rules/fuzzy.py has it, and the entropy of one; in nats. Pure.

/** Σ over the entries of a row, or of what `of` makes of them. @type {(row: Row, of?: ((x: number, i: number) => number) | null) => number} */
function sum(row, of = null) {
  let total = 0;
  for (let i = 0; i < row.length; i += 1) total += of ? of(row[i], i) : row[i];
  return total;
}

/** Σ max(a p − b q, 0). @type {(a: number, b: number, p: Row, q: Row) => number} */
function leftOver(a, b, p, q) {
  let total = 0; // over a vocabulary, a loop of its own takes a third of `sum`
  for (let i = 0; i < p.length; i += 1) total += Math.max(a * p[i] - b * q[i], 0);
  return total;
}

/** log(b/a), from their difference where they are near to each other, so that equal rows give exactly 0. @type {(a: number, b: number) => number} */
const logRatio = (a, b) => (Math.abs(b - a) < a / 2 ? Math.log1p((b - a) / a) : Math.log(b) - Math.log(a));

/** KL(of ‖ to), as Σ of·log(of/to) − of + to: the last two cancel over a row, and no term is negative. @type {(of: Row, to: Row) => number} */
const relativeEntropy = (of, to) =>
  Math.max(
    sum(of, (a, i) => (a > 0 ? to[i] - a - a * logRatio(a, to[i]) : to[i])),
    0,
  );

/** The largest number between both for which it holds, as it does up to there. @type {(low: number, high: number, holds: (x: number) => boolean) => number} */
function largest(low, high, holds) {
  if (holds(high)) return high;
  for (let i = 0; i < 60; i += 1) {
    const middle = (low + high) / 2;
    [low, high] = holds(middle) ? [middle, high] : [low, middle];
  }
  return low;
}

/** @type {WeakMap<Row, {q: Row, T: number, row: Row}>} what a row of p was last clipped to, as many drafts ask for it */
const known = new WeakMap();

/** The row L = clip(q, α p, β p) that is nearest to q within KL(L‖p) ≤ T, as hsd/rules/clipped.py has it. @type {(p: Row, q: Row, T: number) => Row} */
function clip(p, q, T) {
  const last = known.get(p);
  if (!(T > 0) || relativeEntropy(q, p) <= T) return T > 0 ? q : p;
  if (last?.q === q && last.T === T) return last.row;
  /** @type {(a: number, b: number) => Row} */
  const between = (a, b) => p.map((x, i) => Math.min(Math.max(q[i], a * x), b * x));
  const floor = (/** @type {number} */ b) => largest(0, 1, (a) => sum(between(a, b)) <= 1);
  const widest = p.reduce((most, x, i) => (x > 0 ? Math.max(most, q[i] / x) : most), 1);
  const row = (/** @type {number} */ log) => between(floor(Math.exp(log)), Math.exp(log));
  const b = largest(0, Math.log(widest), (log) => relativeEntropy(row(log), p) <= T);
  known.set(p, { q, T, row: row(b) });
  return clip(p, q, T);
}

/** x·log(2x/total), where lean is x's share of the difference. @type {(x: number, total: number, lean: number) => number} */
const half = (x, total, lean) => (x > 0 ? x * (lean > -0.5 ? Math.log1p(lean) : Math.log(2 * x) - Math.log(total)) : 0);

/** (KL(p ‖ m) + KL(q ‖ m)) / 2 with m = (p + q) / 2, from 0 to ln 2. @type {(p: Row, q: Row) => number} */
function jensenShannon(p, q) {
  const both = sum(p, (a, i) => {
    const [b, total] = [q[i], a + q[i]];
    return half(a, total, (a - b) / total) + half(b, total, (b - a) / total);
  });
  return Math.min(Math.max(both / 2, 0), Math.LN2);
}

/** Half the sum of the absolute differences. @type {(p: Row, q: Row) => number} */
const totalVariation = (p, q) => sum(p, (x, i) => Math.abs(x - q[i])) / 2;

const DIVERGENCES = /** @type {Record<string, (p: Row, q: Row) => number>} */ ({
  "kl": (p, q) => relativeEntropy(q, p),
  "reverse-kl": relativeEntropy,
  "js": jensenShannon,
  "tv": (p, q) => Math.min(totalVariation(p, q), 1),
});

/** −Σ x·log x over the entries of a row. @param {Row} row */
const entropy = (row) => sum(row, (x) => (x > 0 ? -x * Math.log(x) : 0));

export { clip, DIVERGENCES, entropy, leftOver, relativeEntropy, sum, totalVariation };

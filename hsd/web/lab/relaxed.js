// Two rules that give up exactness by one number, as hsd/rules/relaxed.py states them.
const TINY = 2.2250738585072014e-308;
const sum = (row) => row.reduce((total, x) => total + x, 0);

const KNOBS = { draft_weight: 0.5, epsilon: 0.09 };
const RANGE = [0, 1]; // of both

/** Token by token against (1 − w) p + w q in place of p; the residual has the same shape as without the draft's share. */
function ensemble(p, q, tokens, { draft_weight: w } = KNOBS) {
  const exact = tokens.map((x, t) => Math.min(1, p[t][x] / Math.max(q[t][x], TINY)));
  return { forward: true, threshold: exact.map((a) => w + (1 - w) * a), a: tokens.map(() => 1), b: null };
}

/** In nats. */
const entropy = (row) => sum(row.map((x) => (x > 0 ? -x * Math.log(x) : 0)));

/** What p must exceed in a row. */
const bar = (row, { epsilon } = KNOBS) => Math.min(epsilon, Math.sqrt(epsilon) * Math.exp(-entropy(row)));

/** Cai et al.: keep while p is above the bar, without a coin; after the first that is not, all of p follows. */
function typical(p, q, tokens, settings = KNOBS) {
  const likely = tokens.map((x, t) => p[t][x] > bar(p[t], settings));
  const bars = tokens.map((_, t) => bar(p[t], settings));
  return { forward: true, threshold: likely.map(Number), a: tokens.map(() => 1), b: tokens.map(() => 0), bars };
}

export { KNOBS, RANGE, ensemble, typical, entropy, bar };

// The fuzzy rule, as hsd/rules/fuzzy.py states it: four divergences and a law that depends on settings.
const TINY = 2.2250738585072014e-308;
const sum = (row) => row.reduce((total, x) => total + x, 0);

/** log(b/a), from their difference where they are near to each other, so that equal rows give exactly 0. */
const logRatio = (a, b) => (Math.abs(b - a) < a / 2 ? Math.log1p((b - a) / a) : Math.log(b) - Math.log(a));

/** KL(of ‖ to) in nats, as Σ of log(of/to) − of + to: the last two cancel over a row, and no term is negative. */
function relativeEntropy(of, to) {
  const term = (a, b) => (a > 0 ? b - a - a * logRatio(a, b) : b);
  return Math.max(sum(of.map((a, i) => term(a, to[i]))), 0);
}

/** (KL(p ‖ m) + KL(q ‖ m)) / 2 with m = (p + q) / 2, from 0 to ln 2. */
function jensenShannon(p, q) {
  const half = (x, total, lean) =>
    x > 0 ? x * (lean > -0.5 ? Math.log1p(lean) : Math.log(2 * x) - Math.log(total)) : 0;
  const term = (a, b) => half(a, a + b, (a - b) / (a + b)) + half(b, a + b, (b - a) / (a + b));
  return Math.min(Math.max(sum(p.map((a, i) => term(a, q[i]))) / 2, 0), Math.LN2);
}

const DIVERGENCES = {
  "kl": (p, q) => relativeEntropy(q, p),
  "reverse-kl": (p, q) => relativeEntropy(p, q),
  "js": jensenShannon,
  "tv": (p, q) => Math.min(sum(p.map((a, i) => Math.abs(a - q[i]))) / 2, 1),
};
const MODES = ["exact-first", "divergence-only"];
const RANGE = [-0.05, 1]; // of the tolerance; below 0 nothing passes
const FUZZY = { divergence: "kl", tolerance: 0.3, mode: "exact-first" };

/**
 * Holsman et al.: a drafted token passes where D(p, q) is at most the tolerance, whatever it is. Not lossless.
 * Elsewhere the exact test decides ("exact-first"), or the draft ends and all of p follows ("divergence-only").
 */
function law(p, q, tokens, { divergence, tolerance, mode } = FUZZY) {
  const values = tokens.map((_, t) => DIVERGENCES[divergence](p[t], q[t]));
  const near = values.map((value) => value <= tolerance);
  const first = mode === "exact-first";
  const exact = tokens.map((x, t) => Math.min(1, p[t][x] / Math.max(q[t][x], TINY)));
  const threshold = near.map((passes, t) => (passes ? 1 : first ? exact[t] : 0));
  const b = first ? null : tokens.map(() => 0);
  return { forward: true, threshold, a: tokens.map(() => 1), b, divergence: values, near };
}

export { DIVERGENCES, MODES, RANGE, FUZZY, relativeEntropy, law };

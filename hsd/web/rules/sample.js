// The real sampling process, with its own seeded generator: draft tokens are drawn, coins are thrown, residuals are
// drawn from. Nothing here knows the exact law that its counts are compared with.
import { joints, openResidual } from "./audit.js";
import { chain, kept, lawOf, next, pick, range, sum } from "./law.js";

/** sfc32, seeded by one whole number: numbers in [0, 1) with 32 bits. @param {number} seed */
function generator(seed) {
  let [a, b, c, d] = [0x9e3779b9, 0x243f6a88, seed | 0, 1];
  const draw = () => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + t) | 0;
    return (t >>> 0) / 4294967296;
  };
  for (let i = 0; i < 15; i++) draw(); // the first numbers still resemble the seed
  return draw;
}

/**
 * A simulation to which `run(n)` adds n steps of the rule. counts: how often each sequence of γ+1 tokens came out;
 * trials, keptSum and keptSquares give the mean number of kept tokens and its error.
 * @param {AuditModel} model @param {string} name @param {number} seed
 */
function simulation(model, name, seed) {
  const { vocab, gamma, p, q } = model;
  const { resamples } = chain(name);
  const random = generator(seed);
  const [jointP, jointQ] = [joints(p), joints(q)];
  /** @type {Map<number, Law>} a draft's law is worked out when it is first drawn */
  const laws = new Map();
  const state = { trials: 0, keptSum: 0, keptSquares: 0, counts: new Array(vocab ** (gamma + 1)).fill(0) };

  const code = (/** @type {number[]} */ tokens) => tokens.reduce((total, x) => total * vocab + x, 0);

  function known(/** @type {number[]} */ tokens) {
    const key = code(tokens);
    const law = laws.get(key) ?? lawOf(name, p, q, tokens, model.settings);
    laws.set(key, law);
    return law;
  }

  /** What the target, or naive HSD's resampling, draws next after the correction. @param {number[]} output */
  function following(output) {
    const t = output.length;
    const prefix = code(output);
    return resamples && t < gamma ? openResidual(jointP[t][prefix], jointQ[t][prefix], p[t], q[t]) : p[t];
  }

  function once() {
    const tokens = range(gamma).map((t) => pick(q[t], random()));
    const coins = range(gamma).map(() => random());
    const law = known(tokens);
    const count = kept(law, coins);
    const output = tokens.slice(0, count);
    output.push(pick(next(law, count), random()));
    while (output.length <= gamma) output.push(pick(following(output), random()));
    state.trials += 1;
    state.keptSum += count;
    state.keptSquares += count * count;
    state.counts[code(output)] += 1;
  }

  return { state, run: (/** @type {number} */ n) => range(n).forEach(once) };
}

/** Mean and standard error of the number of kept tokens. @param {{trials: number, keptSum: number, keptSquares: number}} state */
function meanKept({ trials, keptSum, keptSquares }) {
  const mean = keptSum / trials;
  const variance = Math.max(keptSquares / trials - mean * mean, 0) * (trials / Math.max(trials - 1, 1));
  return { mean, error: Math.sqrt(variance / trials) };
}

/** Wilson's 95 % interval of a share. @type {(count: number, trials: number, z?: number) => [number, number]} */
function interval(count, trials, z = 1.96) {
  const share = count / trials;
  const factor = 1 / (1 + (z * z) / trials);
  const middle = factor * (share + (z * z) / (2 * trials));
  const half = factor * z * Math.sqrt((share * (1 - share)) / trials + (z * z) / (4 * trials * trials));
  return [Math.max(middle - half, 0), Math.min(middle + half, 1)];
}

/**
 * The largest deviation of counts from a law, in standard errors: {deviation, cell}. Sequences expected fewer than
 * 5 times are judged together (cell −1), because a single rare one would look like a large deviation.
 * Something that the law never produces is an infinite deviation.
 * @type {(counts: number[], law: number[], trials: number) => {deviation: number, cell: number}}
 */
function deviation(counts, law, trials) {
  const isRare = (/** @type {number} */ i) => law[i] > 0 && law[i] * trials < 5;
  const rare = range(law.length).filter(isRare);
  const cells = range(law.length)
    .filter((i) => !isRare(i))
    .map((i) => ({ cell: i, mass: law[i], count: counts[i] }));
  const total = (/** @type {number[]} */ values) => sum(rare.map((i) => values[i]));
  if (rare.length) cells.push({ cell: rare.length === 1 ? rare[0] : -1, mass: total(law), count: total(counts) });
  const off = cells.map(({ cell, mass, count }) => ({ cell, deviation: standardErrors(count, mass, trials) }));
  return off.reduce((most, one) => (one.deviation > most.deviation ? one : most));
}

/** How many standard errors a count is away from what is expected. @type {(count: number, mass: number, trials: number) => number} */
function standardErrors(count, mass, trials) {
  const difference = Math.abs(count - mass * trials);
  const error = Math.sqrt(trials * mass * Math.max(1 - mass, 0));
  if (error < 1e-9) return difference < 0.5 ? 0 : Infinity;
  return difference / error;
}

export { generator, simulation, meanKept, interval, deviation };

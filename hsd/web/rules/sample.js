// The real sampling process, with a seeded generator: draft tokens are drawn, coins are thrown, residuals are drawn
// from. Nothing here knows the exact law that its counts are compared with.
import { joints, openResidual } from "./audit.js";
import { chain, kept, lawOf, next, pick, range, sum } from "./law.js";

const [SIZE, APART] = [624, 397];

/** A Mersenne Twister: numbers in [0, 1) with 53 bits, from the low 32 bits of a seed, as torch has them. @param {number} seed */
function generator(seed) {
  const state = new Uint32Array(SIZE);
  state[0] = seed;
  for (let i = 1; i < SIZE; i += 1) state[i] = Math.imul(1812433253, state[i - 1] ^ (state[i - 1] >>> 30)) + i;
  let at = 0;
  const bits = () => {
    const mixed = (state[at] & 0x80000000) | (state[(at + 1) % SIZE] & 0x7fffffff);
    let y = state[(at + APART) % SIZE] ^ (mixed >>> 1) ^ (mixed & 1 ? 0x9908b0df : 0);
    state[at] = y;
    at = (at + 1) % SIZE;
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  };
  return () => ((bits() & 0x1fffff) * 2 ** 32 + bits()) / 2 ** 53;
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
  const laws = /** @type {Law[]} */ ([]); // a draft's is worked out when it is first drawn
  const state = { trials: 0, keptSum: 0, keptSquares: 0, counts: new Array(vocab ** (gamma + 1)).fill(0) };

  const code = (/** @type {number[]} */ tokens) => tokens.reduce((total, x) => total * vocab + x, 0);

  /** What the target, or naive HSD's resampling, draws next after the correction. @param {number[]} output */
  function following(output) {
    const t = output.length;
    const prefix = code(output);
    return resamples && t < gamma ? openResidual(jointP[t][prefix], jointQ[t][prefix], p[t], q[t]) : p[t];
  }

  function once() {
    const tokens = range(gamma).map((t) => pick(q[t], random()));
    const coins = range(gamma).map(() => random());
    const law = (laws[code(tokens)] ??= lawOf(name, p, q, tokens, model.settings));
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

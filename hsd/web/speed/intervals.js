// Intervals of 95 % over prompts, with the numbers of hsd/bench/summary.py. Pure.
import { student, sum } from "../kit/statistics.js";

const ENDS = [0.025, 0.975];
// of fewer prompts an interval is Student's, by a jackknife: a bootstrap would make it too narrow
const FEW = 10;
const DRAWS = 1000; // choices of prompts in a bootstrap

/**
 * A value and its interval by Student's t. Of a single prompt both ends are the value.
 * @param {number} value
 * @param {number[]} without - for each prompt the value of all others
 * @returns {Interval}
 */
function jackknife(value, without) {
  const count = without.length;
  if (count < 2) return [value, value, value];
  const middle = sum(without) / count;
  const squares = sum(without.map((x) => (x - middle) ** 2));
  const half = student(count - 1) * Math.sqrt(((count - 1) / count) * squares);
  return [value, value - half, value + half];
}

/**
 * A value that is not below 0, and its interval.
 * @param {number} value
 * @param {number[]} values - of other choices of prompts, see `resampled`
 * @returns {Interval}
 */
function interval(value, values) {
  if (values.length < FEW) {
    const [, low, high] = jackknife(value, values);
    return [value, Math.max(low, 0), high];
  }
  const inOrder = values.toSorted((a, b) => a - b);
  const [low, high] = ENDS.map((end) => {
    const place = end * (values.length - 1);
    const below = Math.floor(place);
    return inOrder[below] + (place - below) * (inOrder[below + 1] - inOrder[below]);
  });
  return [value, low, high];
}

/**
 * The ratio of two sums over prompts, for other choices of prompts: of few prompts all but one, for
 * each of them, else `DRAWS` choices with repetition.
 * @param {Given[]} given - the two numbers of each prompt
 * @returns {number[]}
 */
function resampled(given) {
  const count = given.length;
  if (count === 1) return [given[0][0] / given[0][1]];
  const all = given.map((_, i) => i);
  const choices = count < FEW ? all.map((i) => all.toSpliced(i, 1)) : drawn(count);
  return choices.map((places) => {
    const above = sum(places.map((i) => given[i][0]));
    return above / sum(places.map((i) => given[i][1]));
  });
}

const known = /** @type {Map<number, number[][]>} */ (new Map());

/** `DRAWS` choices of so many places among as many, with repetition; drawn once. */
function drawn(/** @type {number} */ count) {
  const next = places(count);
  const once = () => Array.from({ length: DRAWS }, () => Array.from({ length: count }, next));
  const choices = known.get(count) ?? once();
  known.set(count, choices);
  return choices;
}

// ---- the generator of numpy.random.default_rng(0), so that intervals are those of a benchmark

const BEGIN = 0x1aa1b5345996452d09585eb7a69561e3n;
const STEP = 0x418ddadb3af71a82588133bc447873a9n;
const FACTOR = 0x2360ed051fc65da44385df649fccf645n;
const HALF = 2 ** 32; // a word of 64 bits gives two numbers below it

/** The numbers below 2³² of PCG64. */
function* numbers() {
  let state = BEGIN;
  for (;;) {
    state = BigInt.asUintN(128, state * FACTOR + STEP);
    const mixed = BigInt.asUintN(64, state ^ (state >> 64n));
    const turn = state >> 122n;
    const word = BigInt.asUintN(64, (mixed >> turn) | (mixed << (64n - turn)));
    yield Number(BigInt.asUintN(32, word));
    yield Number(word >> 32n);
  }
}

/**
 * Return a function that draws a whole number below `count`, each equally likely.
 * @param {number} count
 */
function places(count) {
  const source = numbers();
  const uneven = HALF % count;
  return () => {
    let product = 0;
    do {
      product = /** @type {number} */ (source.next().value) * count;
    } while (product % HALF < uneven);
    return Math.floor(product / HALF);
  };
}

export { interval, jackknife, resampled };

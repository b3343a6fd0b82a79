// From logits to the distribution that is sampled, as hsd/sampling.py has it: in single precision,
// as there, with the softmax of the engine.
import { likeliest, oneHot } from "../../rules/law.js";

const COLDEST = 1e-30; // below, logits divided by the temperature leave single precision
const LEAST = 1e-37; // of top-p, likewise
const UNCUT = { temperature: 1, top_k: 0, top_p: 1 };
const { fround } = Math;

/** The numbers of a row, the largest first. @param {WideRow} row */
const falling = (row) => row.slice().sort().reverse();

/**
 * Keep the k largest numbers of a row, and those that equal the last of them; the others become −∞,
 * in place.
 * @type {(row: WideRow, k: number) => WideRow}
 */
function topped(row, k) {
  if (k <= 0 || k >= row.length) return row;
  const least = falling(row)[k - 1];
  for (let i = 0; i < row.length; i += 1) {
    if (row[i] < least) row[i] = -Infinity;
  }
  return row;
}

/**
 * Keep the fewest likeliest tokens whose mass reaches `topP`, normalised again, in place; of equal
 * tokens the first.
 * @type {(shares: WideRow, topP: number) => WideRow}
 */
function nucleus(shares, topP) {
  if (topP >= 1) return shares;
  const order = falling(shares);
  const mass = Math.max(topP, LEAST);
  let sum = 0;
  let count = 0; // of the tokens that are kept
  while (count < order.length && fround(fround(sum + order[count]) - order[count]) < mass) {
    sum += order[count];
    count += 1;
  }
  const total = fround(sum);
  const least = order[count - 1];
  let equal = count - order.indexOf(least); // how many that equal the last may still be kept
  for (let i = 0; i < shares.length; i += 1) {
    const x = shares[i];
    if (x === least) equal -= 1;
    const kept = x > least || (x === least && equal >= 0);
    shares[i] = kept ? x / total : 0;
  }
  return shares;
}

/**
 * The probabilities of logits that stand in the engine's memory; top-k cuts them there. brief: see
 * Engine.soften.
 * @param {WideRow} logits
 * @param {Sampling} sampling
 * @param {import("./engine.js").Engine} engine
 * @param {boolean} brief
 * @returns {WideRow}
 */
function probabilities(logits, { temperature, top_k: topK, top_p: topP }, engine, brief) {
  if (temperature < COLDEST) return /** @type {WideRow} */ (oneHot(logits, likeliest(logits)));
  return nucleus(engine.soften(topped(logits, topK), temperature, brief), topP);
}

/**
 * Return the probabilities that are sampled, and in `raw` those at temperature 1 with nothing cut
 * off: the same where `wanted` is false.
 * @param {WideRow} logits
 * @param {Sampling} sampling
 * @param {import("./engine.js").Engine} engine
 * @param {boolean} wanted
 * @param {((row: WideRow) => WideRow) | null} change - applied to each row
 * @returns {Sampled}
 */
function rowsOf(logits, sampling, engine, wanted, change = null) {
  const made = (/** @type {Sampling} */ how) => {
    const row = probabilities(logits, how, engine, change !== null);
    return change ? change(row) : row;
  };
  // first, as top-k cuts the logits
  const raw = wanted ? made(UNCUT) : null;
  const row = made(sampling);
  return { row, raw: raw ?? row };
}

export { rowsOf };

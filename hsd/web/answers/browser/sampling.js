// From logits to the distribution that is sampled, as hsd/sampling.py has it: in single precision, as there, with the
// softmax of the engine.
import { likeliest } from "../../rules/law.js";

const COLDEST = 1e-30; // below, logits divided by the temperature leave single precision
const LEAST = 1e-37; // of top-p, likewise
const SPARE = 32; // how many tokens equal to the k-th likeliest top-k keeps besides it
const RARE = 1e-5; // tokens below are sorted only where top-p reaches down to them
const UNCHANGED = { temperature: 1, top_k: 0, top_p: 1 };
const { fround } = Math;

/** The places of the numbers of a row that are at least `least`, the largest first. @type {(row: WideRow, least: number) => number[]} */
function sorted(row, least) {
  const places = [];
  for (let i = 0; i < row.length; i += 1) if (row[i] >= least) places.push(i);
  return places.sort((a, b) => row[b] - row[a] || a - b);
}

/** The k largest, and those that equal the last of them: the others become −∞. @type {(row: WideRow, k: number) => WideRow} */
function topped(row, k) {
  if (k <= 0 || k >= row.length) return row;
  const order = sorted(row, -Infinity).slice(0, k + SPARE);
  const places = order.filter((place) => row[place] >= row[order[k - 1]]);
  return only(row, places, (x) => x, -Infinity);
}

/** The fewest likeliest tokens that reach the mass, of those in `places`; null where it lies deeper. @type {(places: number[], shares: WideRow, mass: number) => number[] | null} */
function reaching(places, shares, mass) {
  let sum = 0;
  for (const [i, place] of places.entries()) {
    sum += shares[place];
    if (fround(fround(sum) - shares[place]) >= mass) return places.slice(0, i);
  }
  return null;
}

/** Cut at top-p, and normalised again. @type {(shares: WideRow, topP: number) => WideRow} */
function nucleus(shares, topP) {
  if (topP >= 1) return shares;
  const mass = Math.max(topP, LEAST);
  const kept = reaching(sorted(shares, RARE), shares, mass) ?? reaching(sorted(shares, 0), shares, mass);
  if (!kept) return shares;
  const total = fround(kept.reduce((sum, place) => sum + shares[place], 0));
  return only(shares, kept, (x) => x / total, 0);
}

/** The row with these places as `change` makes them, and this in all others. @type {(row: WideRow, places: number[], change: (x: number) => number, others: number) => WideRow} */
function only(row, places, change, others) {
  const values = places.map((place) => change(row[place]));
  row.fill(others);
  for (const [i, place] of places.entries()) row[place] = values[i];
  return row;
}

/** The probabilities of logits that stand in the engine's memory; top-k cuts them there. @type {(logits: WideRow, sampling: Sampling, engine: import("./engine.js").Engine) => WideRow} */
function probabilities(logits, { temperature, top_k: topK, top_p: topP }, engine) {
  if (temperature < COLDEST) return only(logits.slice(), [likeliest(logits)], () => 1, 0);
  return nucleus(engine.soften(topped(logits, topK), temperature), topP);
}

/** The numbers of a row over `tokens` where they belong, and 0 elsewhere up to this size. @type {(row: ArrayLike<number>, tokens: number[], size: number) => WideRow} */
function spread(row, tokens, size) {
  const whole = new Float32Array(size);
  for (let i = 0; i < row.length; i += 1) whole[tokens[i]] = row[i];
  return whole;
}

export { probabilities, spread, UNCHANGED };

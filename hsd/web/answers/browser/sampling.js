// From logits to the distribution that is sampled, as hsd/sampling.py has it: in single precision, as there.
const COLDEST = 1e-30; // below, logits divided by the temperature leave single precision
const LEAST = 1e-37; // of top-p, likewise
const SPARE = 32; // how many tokens equal to the k-th likeliest top-k keeps besides it
const RARE = 1e-5; // tokens below are sorted only where top-p reaches down to them
const UNCHANGED = { temperature: 1, top_k: 0, top_p: 1 };
const { fround } = Math;

function likeliest(row) {
  let best = 0;
  for (let i = 1; i < row.length; i += 1) if (row[i] > row[best]) best = i;
  return best;
}

/** The places of the numbers of a row that are at least `least`, the largest first. */
function sorted(row, least) {
  const places = [];
  for (let i = 0; i < row.length; i += 1) if (row[i] >= least) places.push(i);
  return places.sort((a, b) => row[b] - row[a] || a - b);
}

/** The k largest, and those that equal the last of them: the others become −∞. */
function topped(row, k) {
  if (k <= 0 || k >= row.length) return row;
  const places = sorted(row, -Infinity).slice(0, k + SPARE);
  const least = row[places[k - 1]];
  const found = new Float32Array(row.length).fill(-Infinity);
  for (const place of places) if (row[place] >= least) found[place] = row[place];
  return found;
}

function softmax(row) {
  const most = row[likeliest(row)];
  const shares = new Float64Array(row.length);
  let total = 0;
  for (let i = 0; i < row.length; i += 1) total += shares[i] = Math.exp(row[i] - most);
  for (let i = 0; i < row.length; i += 1) shares[i] /= total;
  return new Float32Array(shares);
}

/** The fewest likeliest tokens that reach the mass, of those in `places`; null where it lies deeper. */
function reaching(places, shares, mass) {
  let sum = 0;
  for (const [i, place] of places.entries()) {
    sum += shares[place];
    if (fround(fround(sum) - shares[place]) >= mass) return places.slice(0, i);
  }
  return null;
}

/** Cut at top-p, and normalised again. */
function nucleus(shares, topP) {
  if (topP >= 1) return shares;
  const mass = Math.max(topP, LEAST);
  const kept = reaching(sorted(shares, RARE), shares, mass) ?? reaching(sorted(shares, 0), shares, mass);
  if (!kept) return shares;
  const total = fround(kept.reduce((sum, place) => sum + shares[place], 0));
  const found = new Float32Array(shares.length);
  for (const place of kept) found[place] = shares[place] / total;
  return found;
}

/** Probabilities from a row of logits, both Float32Array. */
function probabilities(logits, { temperature, top_k: topK, top_p: topP }) {
  if (temperature < COLDEST) {
    const certain = new Float32Array(logits.length);
    certain[likeliest(logits)] = 1;
    return certain;
  }
  const [scaled, by] = [logits.slice(), fround(temperature)];
  for (let i = 0; i < scaled.length; i += 1) scaled[i] /= by;
  return nucleus(softmax(topped(scaled, topK)), topP);
}

/** A row over a whole vocabulary of this size, from one over `tokens`. */
function spread(row, tokens, size) {
  const whole = new Float32Array(size);
  for (let i = 0; i < row.length; i += 1) whole[tokens[i]] = row[i];
  return whole;
}

export { likeliest, probabilities, spread, UNCHANGED };

// Two rows coupled by one exponential race, as hsd/rules/coupled.py has them: who wins with p, where a token won with q. Pure.
import { leftOver, sum } from "./divergence.js";

/** How far the other tokens are ahead of x with the target: Σ max(q(x) p − p(x) q, 0). @type {(p: Row, q: Row, x: number) => number} */
const lead = (p, q, x) => leftOver(q[x], p[x], p, q);

/** How likely each other token wins with p where x won with q, a row that sums to 1 − h; tokens with q = 0 are not sorted. @type {(p: Row, q: Row, x: number) => Row} */
function coupledLeft(p, q, x) {
  const [found, whole] = [p.slice(), sum(p)];
  const order = /** @type {number[]} */ ([]);
  let [ahead, behind] = [sum(q), 0]; // Σ q of the tokens with a ratio from here on, Σ p of those with a smaller one
  for (let i = 0; i < p.length; i += 1) {
    if (!q[i]) behind += p[i];
    else if (p[i]) order.push(i);
  }
  const ratio = (/** @type {number} */ i) => q[i] / p[i];
  order.sort((i, j) => ratio(i) - ratio(j));
  let [at, mass, area] = [0, ahead, 0];
  const areas = new Map();
  for (const i of order) {
    const widest = ahead + ratio(i) * behind;
    area += (ratio(i) - at) / (mass * widest);
    areas.set(i, area);
    [at, mass, ahead, behind] = [ratio(i), widest, ahead - q[i], behind + p[i]];
  }
  const most = areas.get(x) ?? area + 1 / (mass * whole);
  for (let i = 0; i < found.length; i += 1) found[i] *= Math.max(most - (areas.get(i) ?? 0), 0);
  return found;
}

/** The token with the least time for its weight, of those with a weight. @type {(row: Row, times: Row) => number} */
function winner(row, times) {
  let [best, least] = [0, Infinity];
  for (let i = 0; i < row.length; i += 1) {
    if (!(row[i] > 0) || times[i] / row[i] >= least) continue;
    [best, least] = [i, times[i] / row[i]];
  }
  return best;
}

/** A race as the coin of the token x that won it with q: below h exactly where p picks x as well. @type {(p: Row, q: Row, x: number, times: Row) => number} */
function coupledCoin(p, q, x, times) {
  const tau = times[x] / q[x];
  let spare = Infinity;
  for (let i = 0; i < p.length; i += 1) {
    const by = q[x] * p[i] - p[x] * q[i];
    if (by > 0) spare = Math.min(spare, (times[i] - q[i] * tau) / by);
  }
  const apart = lead(p, q, x) * Math.max(spare, 0);
  return Number.isFinite(apart) && tau + apart > 0 ? tau / (tau + apart) : 0;
}

export { lead, coupledCoin, coupledLeft, winner };

// Two rows coupled by one exponential race, as hsd/rules/coupled.py has them: who wins with p,
// where a token won with q. Pure.
import { leftOver, sum } from "./divergence.js";

/**
 * Return how far the other tokens are ahead of x with the target: Σ max(q(x) p − p(x) q, 0).
 * @type {(p: Row, q: Row, x: number) => number}
 */
const lead = (p, q, x) => leftOver(q[x], p[x], p, q);

/**
 * Return how likely each other token wins with p where x won with q: a row that sums to 1 − h.
 * @type {(p: Row, q: Row, x: number) => Row}
 */
function coupledLeft(p, q, x) {
  const left = p.slice();
  const whole = sum(p);
  // tokens by rising ratio q/p; those with q = 0 come first, in any order
  /** @type {number[]} */
  const order = [];
  let ahead = sum(q); // Σ q of the tokens from the current one on
  let behind = 0; // Σ p of the tokens before it
  for (let i = 0; i < p.length; i += 1) {
    if (!q[i]) behind += p[i];
    else if (p[i]) order.push(i);
  }
  const ratio = (/** @type {number} */ i) => q[i] / p[i];
  order.sort((i, j) => ratio(i) - ratio(j));
  let at = 0;
  let mass = ahead;
  let area = 0;
  const areas = new Map();
  for (const i of order) {
    const widest = ahead + ratio(i) * behind;
    area += (ratio(i) - at) / (mass * widest);
    areas.set(i, area);
    at = ratio(i);
    mass = widest;
    ahead = ahead - q[i];
    behind = behind + p[i];
  }
  const most = areas.get(x) ?? area + 1 / (mass * whole);
  for (let i = 0; i < left.length; i += 1) {
    const own = areas.get(i) ?? 0;
    left[i] *= Math.max(most - own, 0);
  }
  return left;
}

/**
 * Return the token with the least time for its weight, of those with a weight.
 * @type {(row: Row, times: Row) => number}
 */
function winner(row, times) {
  let best = 0;
  let least = Infinity;
  for (let i = 0; i < row.length; i += 1) {
    if (!(row[i] > 0) || times[i] / row[i] >= least) continue;
    best = i;
    least = times[i] / row[i];
  }
  return best;
}

/**
 * Return the coin that stands for a race which the token x won with q: below h exactly where p
 * picks x as well.
 * @type {(p: Row, q: Row, x: number, times: Row) => number}
 */
function coupledCoin(p, q, x, times) {
  const tau = times[x] / q[x];
  let spare = Infinity;
  for (let i = 0; i < p.length; i += 1) {
    const by = q[x] * p[i] - p[x] * q[i];
    if (!(by > 0)) continue;
    const time = (times[i] - q[i] * tau) / by;
    spare = Math.min(spare, time);
  }
  const apart = lead(p, q, x) * Math.max(spare, 0);
  return Number.isFinite(apart) && tau + apart > 0 ? tau / (tau + apart) : 0;
}

export { lead, coupledCoin, coupledLeft, winner };

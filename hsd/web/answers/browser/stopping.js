// When a draft is long enough, as hsd/draft/stopping.py has it: by the draft's own rows and the
// tokens drawn from them.

/**
 * What a head brings along for γ "auto".
 * @typedef {{weights: number[], usual: number, least: {browser?: number}}} Stopping
 */

/** @type {Stopping} */
const UNFITTED = {
  weights: [0, 1, 0, 0, 0],
  usual: 0.5,
  least: {},
};
const LEAST = 0.3; // where nobody has measured what a drafted token costs
const UNSPENT = 0.7; // of a token's cost, once its row is read
const DEEPEST = 3; // tokens: a greater depth makes no difference
const FURTHEST = 12; // of a logit

/**
 * The chance of being kept below which a run stops drafting. confidence: the visitor's choice, or 0
 * for the measured one.
 * @type {(stopping: Stopping | undefined, confidence: number) => number}
 */
const leastOf = (stopping = UNFITTED, confidence) =>
  confidence || (stopping.least.browser ?? LEAST);

/**
 * A draft under way, by the probabilities of rows at temperature 1: mayPay() before a row is read,
 * pays(largest) by the row's largest, and add(share) for the token that was drawn.
 * @param {Stopping | undefined} stopping
 * @param {number} least
 * @param {number} temperature
 */
function chain(stopping = UNFITTED, least, temperature) {
  const { weights, usual } = stopping;
  const [bias, byShare, byHeat, byBoth, byDepth] = weights;
  let kept = 1;
  let length = 0;
  const chance = (/** @type {number} */ share) => {
    let exact = FURTHEST * Math.sign(share - 0.5);
    if (share > 0 && share < 1) exact = Math.log(share / (1 - share));
    const near = Math.max(-FURTHEST, Math.min(FURTHEST, exact));
    const heat = temperature * (byHeat + byBoth * near);
    const depth = byDepth * Math.min(length, DEEPEST);
    const logit = bias + byShare * near + heat + depth;
    return 1 / (1 + Math.exp(-logit));
  };
  return {
    mayPay: () => !length || kept * usual >= least,
    pays: (/** @type {number} */ largest) => kept * chance(largest) >= UNSPENT * least,
    add(/** @type {number} */ share) {
      kept *= chance(share);
      length += 1;
    },
  };
}

export { chain, leastOf };

// When a draft is long enough, as hsd/draft/stopping.py has it: by the draft's own rows, the tokens
// drawn from them, and what earlier steps kept.

/**
 * What a head brings along for γ "auto".
 * @typedef {{weights: number[], usual: number}} Stopping
 */

/** @type {Stopping} */
const UNFITTED = {
  weights: [0, 1, 0, -0.75, 0],
  usual: 0.5,
};
const LEAST = 0.25; // the chance of being kept below which a run stops drafting
const UNSPENT = 0.7; // of a token's cost, once its row is read
const DEEPEST = 3; // tokens: a greater depth makes no difference
const FURTHEST = 12; // of a logit
const HOTTEST = 1; // temperature that weights are fitted for
const TRUST = 3; // tokens by which the fit is believed before the run has shown any
const MEMORY = 0.98; // what a step leaves of the counts before it

/**
 * The drafts of a run, by the probabilities of rows at temperature 1: begin() a draft, mayPay()
 * before a row is read, pays(largest) by the row's largest, add(share) for the token that was drawn,
 * and learn(kept) at the end of the step.
 * @param {Stopping | undefined} stopping
 * @param {number} least
 * @param {number} temperature
 */
function stoppingState(stopping = UNFITTED, least, temperature) {
  const { weights, usual } = stopping;
  const [bias, byShare, byHeat, byBoth, byDepth] = weights;
  const heat = Math.min(temperature, HOTTEST);
  let chances = /** @type {number[]} */ ([]);
  let allKept = 1;
  let likeliest = 0;
  let kept = 0;
  let expected = 0;
  const chance = (/** @type {number} */ share) => {
    let exact = FURTHEST * Math.sign(share - 0.5);
    if (share > 0 && share < 1) exact = Math.log(share / (1 - share));
    const near = Math.max(-FURTHEST, Math.min(FURTHEST, exact));
    const depth = byDepth * Math.min(chances.length, DEEPEST);
    const logit = bias + byShare * near + heat * (byHeat + byBoth * near);
    return 1 / (1 + Math.exp(-logit - depth));
  };
  const corrected = (/** @type {number} */ fitted) =>
    Math.min(1, (fitted * (TRUST + kept)) / (TRUST + expected));
  return {
    begin() {
      chances = [];
      allKept = 1;
    },
    mayPay: () => allKept * corrected(chances.length ? usual : 1) >= least,
    pays(/** @type {number} */ largest) {
      likeliest = chance(largest);
      return allKept * corrected(likeliest) >= UNSPENT * least;
    },
    add(/** @type {number} */ share) {
      allKept *= corrected(chance(share));
      chances.push(likeliest);
    },
    learn(/** @type {number} */ count) {
      kept = MEMORY * kept + count;
      expected *= MEMORY;
      for (const fitted of chances.slice(0, count + 1)) expected += fitted;
    },
  };
}

export { LEAST, stoppingState };

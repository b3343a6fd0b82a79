// When a draft is long enough, as hsd/draft/stopping.py has it: by the draft's own rows and the tokens drawn from them.

const UNFITTED = /** @type {Stopping} */ ({ weights: [0, 1, 0, 0, 0], usual: 0.5, least: {} });
const LEAST = 0.3; // where nobody has measured what a drafted token costs
const UNSPENT = 0.7; // of a token's cost, once its row is read
const DEEPEST = 3; // from there on depth tells no more
const FURTHEST = 12; // of a logit

/** The chance of being kept below which a run stops drafting. confidence: what the visitor asks for, or 0. @type {(stopping: Stopping | undefined, confidence: number) => number} */
const leastOf = (stopping = UNFITTED, confidence) => confidence || (stopping.least.browser ?? LEAST);

/** A draft under way: {mayPay(), pays(largest), add(share)}. largest, share: of a row at temperature 1. @param {Stopping | undefined} stopping @param {number} least @param {number} temperature */
function chain(stopping = UNFITTED, least, temperature) {
  const { weights, usual } = stopping;
  const [bias, byShare, byHeat, byBoth, byDepth] = weights;
  let [kept, length] = [1, 0];
  const chance = (/** @type {number} */ share) => {
    const known = share > 0 && share < 1 ? Math.log(share / (1 - share)) : FURTHEST * Math.sign(share - 0.5);
    const near = Math.max(-FURTHEST, Math.min(FURTHEST, known));
    const depth = byDepth * Math.min(length, DEEPEST);
    return 1 / (1 + Math.exp(-(bias + byShare * near + temperature * (byHeat + byBoth * near) + depth)));
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

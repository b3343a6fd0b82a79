// What a rule would have kept of drafts of a text that the target wrote, from the probabilities of
// its tokens alone: the sums of hsd/estimate/chances.py. Pure.
import { facts } from "../kit/facts.js";
import { sum } from "../kit/statistics.js";

/**
 * The next chance of keeping one more token, from the chance before it, the product of q / p up to
 * and with that token, and its own q / p.
 * @type {Record<string, (chance: number, product: number, ratio: number) => number>}
 */
const KEPT = {
  [facts.vanilla]: (chance, _, ratio) => chance * Math.min(1, ratio),
  [facts.usual]: (chance, product) => Math.min(chance, product),
};

/**
 * For each token the chances that a pass which begins there keeps at least its first 1, 2, …
 * tokens, given the text; at most as many as the text still has.
 * @type {(rule: string, ratios: number[], longest: number) => number[][]}
 */
function keptChances(rule, ratios, longest) {
  return ratios.map((_, i) => {
    let chance = 1;
    let product = 1;
    return ratios.slice(i, i + longest).map((ratio) => {
      product *= ratio;
      chance = KEPT[rule](chance, product, ratio);
      return chance;
    });
  });
}

/**
 * The chance that a pass of the target begins at each token; 1 minus it is the chance that the
 * token came free, with the pass of one before it.
 * @param {number[][]} chances - of `keptChances`
 * @param {number} gamma
 */
function passBegins(chances, gamma) {
  const begins = chances.map((_, i) => (i ? 0 : 1));
  for (const [i, begin] of begins.entries()) {
    const atLeast = [1, ...chances[i].slice(0, gamma)];
    for (const [kept, chance] of atLeast.entries()) {
      const next = i + kept + 1;
      if (next < begins.length) begins[next] += begin * (chance - (atLeast[kept + 1] ?? 0));
    }
  }
  return begins;
}

/**
 * The expected number of the target's passes for a text.
 * @type {(chances: number[][], gamma: number) => number}
 */
const expectedPasses = (chances, gamma) => sum(passBegins(chances, gamma));

export { expectedPasses, KEPT, keptChances, passBegins };

// Laws over large vocabularies. All tokens that a draft could not propose have q = 0, so that what
// a rule computes from them is the same as if they were one token; only the entropy of a row, and
// the token that is drawn, need each of them.
import { lawOf, oneHot, sum, uses } from "../../rules/law.js";
import { chainRecipe } from "../../rules/tests.js";

/**
 * Return a draft, and in `small` the same with all tokens outside `support` in one.
 * @param {Sampled[]} read - rows of the target
 * @param {Sampled[]} drafted - rows of the draft
 * @param {number[]} tokens
 * @param {number[]} support - ids, each once
 */
function draftOf(read, drafted, tokens, support) {
  const p = read.map(({ row }) => row);
  const q = drafted.map(({ row }) => row);
  const raw = {
    p: read.map((both) => both.raw),
    q: drafted.map((both) => both.raw),
  };
  /** @type {(all: Row, rest: boolean) => Row} */
  const row = (all, rest) => {
    const merged = new Float64Array(support.length + 1);
    for (let i = 0; i < support.length; i += 1) {
      merged[i] = all[support[i]];
    }
    merged[support.length] = rest ? Math.max(sum(all) - sum(merged), 0) : 0;
    return merged;
  };
  const small = {
    p: p.map((all) => row(all, true)),
    q: q.map((all) => row(all, false)),
    tokens: tokens.map((token) => support.indexOf(token)),
  };
  return { p, q, tokens, small, raw };
}

/**
 * The law of a rule with rows over the whole vocabulary.
 * @type {(name: string, draft: MergedDraft, settings: Settings) => Law}
 */
function lawOver(name, { p, q, tokens, small, raw }, settings) {
  const recipe = chainRecipe(name, settings);
  if (recipe.follow || uses(recipe, "entropy")) return lawOf(name, p, q, tokens, settings, raw);
  const law = lawOf(name, small.p, small.q, small.tokens, settings);
  return {
    ...law,
    tokens,
    p,
    get q() {
      // only when it is read: rows are large
      return recipe.certain ? q.map((row, t) => oneHot(row, tokens[t])) : q;
    },
  };
}

export { draftOf, lawOver };

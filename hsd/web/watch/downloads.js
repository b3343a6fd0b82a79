// Models that are downloaded while the page is open: how far they are, and which pairs are here.
import { ask } from "../answers/answers.js";

const BEAT = 1500; // milliseconds between two looks

/**
 * Look until nothing is on its way any more. `say` shows words on what comes, nothing for "";
 * `here` gets the pairs that can be chosen now, at first and whenever there is another.
 * @param {{say: (words: string, coming: boolean) => void, here: (pairs: Named[]) => void}} listener
 */
async function follow({ say, here }) {
  let known = /** @type {string[] | null} */ (null);
  for (let coming = true; coming; ) {
    // a server that is away says so elsewhere
    const state = await ask("downloads").catch(() => null);
    if (state) {
      const pairs = /** @type {Named[]} */ (state.here);
      const fresh = known ? pairs.filter(({ name }) => !known?.includes(name)) : [];
      if (!known || fresh.length) here(pairs);
      known ??= pairs.map(({ name }) => name);
      coming = state.coming;
      const news = fresh.map(({ title }) => `✓ ${title} is here: choose it under Pair`);
      say([...news, ...state.lines].join("; "), coming);
    }
    if (coming) await new Promise((done) => setTimeout(done, BEAT));
  }
}

export { follow };

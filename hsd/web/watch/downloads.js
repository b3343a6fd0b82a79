// Models that are downloaded while the page is open: how far they are, and which pairs are here.
import { ask } from "../answers/answers.js";

const BEAT = 1500; // milliseconds between two looks

/**
 * Look until nothing is on its way any more. `say` shows words on what comes, nothing for "", and
 * what may be fetched; `here` gets the pairs that can be chosen now, at first and whenever there is
 * another.
 * @param {Arrivals} listener
 */
async function follow(listener) {
  const { say, here } = listener;
  /** Fetch a pair, and follow it. @param {string} name */
  const fetchPair = async (name) => {
    try {
      await ask("fetch", { name });
    } catch (error) {
      say(String(error instanceof Error ? error.message : error), false, []);
      return;
    }
    await follow(listener);
  };
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
      const offers = /** @type {Offer[]} */ (state.offers ?? []);
      const fetchable = offers.map(({ name, title, bytes }) => ({
        label: `Fetch ${title} (${(bytes / 1e9).toFixed(1)} GB)`,
        begin: () => fetchPair(name),
      }));
      say([...news, ...state.lines].join("; "), coming, fetchable);
    }
    if (coming) await new Promise((done) => setTimeout(done, BEAT));
  }
}

export { follow };

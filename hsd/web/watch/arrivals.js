// Models that come from the package index while the page is open: a chip that tells how far they are.
import { ask } from "../kit/live.js";

const BEAT = 1500; // milliseconds between two looks

/**
 * Look until nothing is on its way any more. say(words, coming): show them, nothing for ""; came(): a pair can be chosen
 * that could not be before.
 */
async function watchArrivals(server, { say, came }) {
  let before = null; // names of the pairs that were there, once they are known
  for (;;) {
    const { error, lines, here, coming } = await ask(server, "read_arrivals", null);
    if (!error) {
      before ??= here.map(({ name }) => name);
      const fresh = here.filter(({ name }) => !before.includes(name));
      say([...fresh.map(({ title }) => `✓ ${title} is here: choose it under Pair`), ...lines].join("; "), coming);
      if (fresh.length) came();
      if (!coming) return;
    }
    await new Promise((done) => setTimeout(done, BEAT));
  }
}

export { watchArrivals };

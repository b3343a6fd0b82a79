// Models that are downloaded while the page is open: how far they are, and which pairs are here.
import { ask } from "../answers.js";

const BEAT = 1500; // milliseconds between two looks

/**
 * Look until nothing is on its way any more. say(words, coming): show them, nothing for ""; here(pairs): those that can be
 * chosen now, at first and whenever there is another.
 */
async function follow({ say, here }) {
  let known = null;
  for (let coming = true; coming; ) {
    const found = await ask("downloads").catch(() => null); // a server that is away says so elsewhere
    if (found) {
      const fresh = known ? found.here.filter(({ name }) => !known.includes(name)) : [];
      if (!known || fresh.length) here(found.here);
      known ??= found.here.map(({ name }) => name);
      say(
        [...fresh.map(({ title }) => `✓ ${title} is here: choose it under Pair`), ...found.lines].join("; "),
        found.coming,
      );
      coming = found.coming;
    }
    if (coming) await new Promise((done) => setTimeout(done, BEAT));
  }
}

export { follow };

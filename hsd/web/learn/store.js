// The guesses made so far, kept in this browser and nowhere else.
import { keep, kept } from "../kit/features.js";

const NAME = "hsd-learn";

/**
 * Return the guesses by the keys of their lessons; none where the browser keeps nothing.
 * @returns {Record<string, Guess>}
 */
function read() {
  try {
    const entries = Object.entries(JSON.parse(kept(NAME) || "{}"));
    const fits = entries.filter(
      ([, guess]) => guess && Number.isFinite(guess.value) && typeof guess.right === "boolean",
    );
    return Object.fromEntries(fits);
  } catch {
    return {};
  }
}

const write = (/** @type {Record<string, Guess>} */ guesses) => keep(NAME, JSON.stringify(guesses));

export { read, write };

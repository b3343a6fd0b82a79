// The guesses made so far, kept in this browser and nowhere else.
import { keep } from "../kit/files.js";

const NAME = "hsd-learn";

/** What was guessed, by the lesson's key; empty where the browser keeps nothing. @returns {Record<string, Guess>} */
function read() {
  try {
    const entries = Object.entries(JSON.parse(window.localStorage.getItem(NAME) || "{}"));
    const fits = entries.filter(([, one]) => one && Number.isFinite(one.value) && typeof one.right === "boolean");
    return Object.fromEntries(fits);
  } catch {
    return {};
  }
}

const write = (/** @type {Record<string, Guess>} */ guesses) => keep(NAME, JSON.stringify(guesses));

export { read, write };

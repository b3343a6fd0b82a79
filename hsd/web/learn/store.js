// The guesses made so far, kept in this browser and nowhere else.
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

function write(/** @type {Record<string, Guess>} */ guesses) {
  try {
    window.localStorage.setItem(NAME, JSON.stringify(guesses));
  } catch {
    // a browser that keeps nothing: the guesses last as long as the page
  }
}

export { read, write };

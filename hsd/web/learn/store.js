// The guesses made so far, kept in this browser and nowhere else.
const NAME = "hsd-learn";

/** {lesson's key: {value, right}}; empty where the browser keeps nothing. */
function read() {
  try {
    const found = JSON.parse(window.localStorage.getItem(NAME) || "{}");
    const fits = ([, one]) => one && Number.isFinite(one.value) && typeof one.right === "boolean";
    return Object.fromEntries(Object.entries(found).filter(fits));
  } catch {
    return {};
  }
}

function write(guesses) {
  try {
    window.localStorage.setItem(NAME, JSON.stringify(guesses));
  } catch {
    // a browser that keeps nothing: the guesses last as long as the page
  }
}

export { read, write };

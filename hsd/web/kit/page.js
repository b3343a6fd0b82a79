// The page around the screens: which tab is open, the line that tells what went wrong, and who wants to hear of what.
import "./glossary.js"; // which explains words, on every screen

const listeners = [];
let open = new URLSearchParams(window.location.search).get("tab") || "watch";
let line = (words) => put("alert", words, "alert-words");

/** The tab that is open. */
const tab = () => open;

/** Gradio tells that a tab was opened. Each screen keeps the address bar itself while it is open. */
function opened(name) {
  open = name;
  mark();
  tell("tab");
}

/** Lets the style sheets know which tab is open. */
function mark() {
  document.getElementById("hsd-layout").dataset.tab = open;
}

function showTab(name) {
  const button = document.querySelector(`#hsd-tabs button[data-tab-id="${name}"]`);
  if (button && button.getAttribute("aria-selected") !== "true") button.click();
}

/**
 * listener(what): "tab": another tab is open; "pair": another pair is chosen; and of Watch, "trace": another trace is
 * shown, or it grew; "place": another step or node is looked at; "run": a run was asked for, and will soon need the
 * model.
 */
const listen = (listener) => listeners.push(listener);

function tell(what) {
  for (const listener of listeners) listener(what);
}

/** Show one line about what went wrong; nothing for "". */
const alert = (words) => line(words);

/** Show one line about what goes on; nothing for "". */
const status = (words) => put("status", words);

/** Text in a part of the head that is hidden where there is none. */
function put(name, words, box = name) {
  document.querySelector(`.hf-${box}`).textContent = words;
  document.querySelector(`.hf-${name}`).hidden = !words;
}

/** show(words): how the page shows that line. */
function alertBy(show) {
  line = show;
}

export { tab, opened, mark, showTab, listen, tell, alert, alertBy, status };

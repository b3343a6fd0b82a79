// The page around the screens: which tab is open, the lines in its head, and who wants to hear of what. See ../page.js.
import "./glossary.js"; // which explains words, on every screen

const listeners = [];
let open = "watch";

/** The tab that is open. */
const tab = () => open;

/** page.js has opened a tab. Each screen keeps the address bar itself while its tab is open. */
function opened(name) {
  open = name;
  document.documentElement.dataset.tab = name; // for the style sheets
  tell("tab");
}

const showTab = (name) => document.getElementById(`hsd-tab-${name}-button`).click();

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
const alert = (words) => put("alert", words, "alert-words");

/** Show one line about what goes on; nothing for "". */
const status = (words) => put("status", words);

/** Text in a part of the head that is hidden where there is none. */
function put(name, words, box = name) {
  document.querySelector(`.hf-${box}`).textContent = words;
  document.querySelector(`.hf-${name}`).hidden = !words;
}

export { tab, opened, showTab, listen, tell, alert, status };

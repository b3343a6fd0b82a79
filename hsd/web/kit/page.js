// The page around the screens: which tab is open, the lines in its head, and the listeners to its
// news. See ../page.js.
import { find } from "./dom.js";
import { addPlace } from "./features.js";
import "./glossary.js"; // which explains words, on every screen

/** @type {((what: string) => void)[]} */
const listeners = [];
let open = "watch";

/** The tab that is open. */
const tab = () => open;

/**
 * Note that page.js has opened a tab. Each screen keeps the address bar while its tab is open.
 * @param {string} name
 */
function opened(name) {
  open = name;
  document.documentElement.dataset.tab = name; // for the style sheets
  tell("tab");
}

/** Open a tab as a click on it does. @param {string} name */
const showTab = (name) => find(`#hsd-tab-${name}-button`).click();

/**
 * Call listener(what) at every change of the page.
 *
 * - "tab": another tab is open.
 * - "pair": another pair is chosen.
 * - "trace": Watch shows another trace, or more of it.
 * - "place": Watch shows another step or node.
 * - "run": Watch was asked for a run, which will soon need the model.
 * @param {(what: string) => void} listener
 */
const listen = (listener) => listeners.push(listener);

/** Call all listeners, see `listen`. @param {string} what */
function tell(what) {
  for (const listener of listeners) listener(what);
}

/**
 * Go where a link to another place of this page leads, without loading the page anew.
 * @param {string} href
 */
function follow(href) {
  if (!addPlace(href)) {
    window.location.href = href;
    return;
  }
  window.dispatchEvent(new PopStateEvent("popstate"));
  const place = find(`#hsd-tab-${open}`);
  place.tabIndex = -1;
  place.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

/** Show one line about what went wrong; nothing for "". @param {string} words */
const alert = (words) => put("alert", words, "alert-words");

/** Show one line about what goes on; nothing for "". @param {string} words */
const status = (words) => put("status", words);

/**
 * Put text into a part of the page's head, which is hidden where the text is empty.
 * @type {(name: string, words: string, box?: string) => void}
 */
function put(name, words, box = name) {
  find(`.hf-${box}`).textContent = words;
  find(`.hf-${name}`).hidden = !words;
}

export { tab, opened, showTab, follow, listen, alert, status };

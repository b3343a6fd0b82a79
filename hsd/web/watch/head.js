// Around the player: what is shown and what it runs on, how it stands, options that fold out, files
// that are opened.
import { find } from "../kit/dom.js";
import { keep, matches } from "../kit/features.js";
import * as page from "../kit/page.js";
import { button } from "../kit/controls.js";

const PHONE = "(max-width: 860px)";
const part = (/** @type {string} */ name) => find(`.hf-${name}`);

/**
 * Show words in a chip of the head; hide it for "".
 * @param {string} name
 * @param {string} words
 * @param {string} title - what a hover says
 */
function chip(name, words, title = "") {
  const element = part(name);
  element.textContent = words;
  element.title = title;
  element.hidden = !words;
  return element;
}

/** Whether only a draft and both verdicts are shown, which early.js settles at first. */
const first = () => document.documentElement.classList.contains("hsd-brief");

/**
 * Show all of the board, or a first look only, now and whenever this browser comes again.
 * @param {boolean} brief
 */
function turn(brief) {
  document.documentElement.classList.toggle("hsd-brief", brief);
  keep("hsd-board", brief ? "first" : "full");
}

/**
 * Pass keys on to the player while nothing has the focus, but for those that scroll; and let the
 * button at the start of the page play.
 * @param {HTMLElement} place - of the player
 */
function keys(place) {
  document.addEventListener("keydown", (event) => {
    const scrolls = /^(Arrow[UD]|Home|End|Enter)/.test(event.key);
    if (event.target !== document.body || scrolls || page.tab() !== "watch") return;
    const unused = place.dispatchEvent(new KeyboardEvent("keydown", event));
    if (!unused) event.preventDefault();
  });
  find("#hsd-play").addEventListener("click", () => {
    page.showTab("watch");
    place.dispatchEvent(new KeyboardEvent("keydown", { key: " " }));
  });
}

/**
 * Show one line about what goes on. action: the words of a button beside it, and what it does.
 * @type {(words: string, action?: [string, () => void]) => void}
 */
function status(words, action) {
  page.status(words);
  if (!words || !action) return;
  const [name, act] = action;
  part("status").append(" ", button(name, name, act));
}

/**
 * Make the options fold out; on phones they are a page of their own. Returns a function that folds
 * them there.
 */
function folding() {
  const opener = find(".hf-options");
  const layout = find("#hsd-layout");
  const side = find("#hsd-side");
  const isPhone = () => matches(PHONE);
  const unfold = (/** @type {boolean} */ on) => {
    layout.classList.toggle("is-folded", !on);
    opener.setAttribute("aria-expanded", String(on));
    opener.textContent = on && isPhone() ? "✕ Close" : "☰ Options";
  };
  opener.addEventListener("click", () => {
    const on = layout.classList.contains("is-folded");
    unfold(on);
    if (on) side.focus({ preventScroll: true });
  });
  return () => isPhone() && unfold(false);
}

/**
 * Let a visitor open a file, by a button or by letting it go over the page.
 * @param {(file: File) => void} take
 */
function files(take) {
  /** @type {HTMLInputElement} */
  const input = find(".hf-file");
  part("open").addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    const [file] = input.files ?? [];
    if (file) take(file);
    input.value = "";
  });
  const carriesFiles = (/** @type {DragEvent} */ { dataTransfer }) =>
    dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => carriesFiles(event) && event.preventDefault());
  document.addEventListener("drop", (event) => {
    const file = carriesFiles(event) && event.dataTransfer?.files[0];
    if (!file) return;
    event.preventDefault();
    page.showTab("watch");
    take(file);
  });
}

export { chip, files, first, folding, keys, part, status, turn };

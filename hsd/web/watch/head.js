// Around the player: what is shown and what it runs on, how it stands, options that fold out, files that are opened.
import { find } from "../kit/dom.js";
import { keep } from "../kit/files.js";
import * as page from "../kit/page.js";
import { button } from "../kit/parts.js";

const PHONE = "(max-width: 860px)";
const part = (/** @type {string} */ name) => find(`.hf-${name}`);

/** A chip of the head; nothing for "". title: what a hover says. @param {string} name @param {string} words */
function chip(name, words, title = "") {
  const element = part(name);
  element.textContent = words;
  element.title = title;
  element.hidden = !words;
  return element;
}

/** Whether a draft and both verdicts are shown alone; early.js says so at first. */
const first = () => document.documentElement.classList.contains("hsd-brief");

/** Show all of the board, or a first look only, now and whenever this browser comes again. @param {boolean} brief */
function turn(brief) {
  document.documentElement.classList.toggle("hsd-brief", brief);
  keep("hsd-board", brief ? "first" : "full");
}

/** Keys that do not scroll mean what they mean to the player while nothing has the focus; a button of the page's start plays. @param {HTMLElement} place */
function keys(place) {
  document.addEventListener("keydown", (event) => {
    const free = event.target === document.body && !/^(Arrow[UD]|Home|End|Enter)/.test(event.key);
    if (free && page.tab() === "watch" && !place.dispatchEvent(new KeyboardEvent("keydown", event)))
      event.preventDefault();
  });
  find("#hsd-play").addEventListener("click", () => {
    page.showTab("watch");
    place.dispatchEvent(new KeyboardEvent("keydown", { key: " " }));
  });
}

/** One line about what goes on. action: [words, what a click does], a button beside it. @type {(words: string, action?: [string, () => void]) => void} */
function status(words, action) {
  page.status(words);
  if (words && action) part("status").append(" ", button(action[0], action[0], action[1]));
}

/** Options that fold out, and are a page of their own on phones. Returns a function that folds them there. */
function folding() {
  const [opener, layout, side] = [".hf-options", "#hsd-layout", "#hsd-side"].map((css) => find(css));
  const phone = window.matchMedia(PHONE);
  const unfold = (/** @type {boolean} */ on) => {
    layout.classList.toggle("is-folded", !on);
    opener.setAttribute("aria-expanded", String(on));
    opener.textContent = on && phone.matches ? "✕ Close" : "☰ Options";
  };
  opener.addEventListener("click", () => {
    const on = layout.classList.contains("is-folded");
    unfold(on);
    if (on) side.focus({ preventScroll: true });
  });
  return () => phone.matches && unfold(false);
}

/** take(file): a file was chosen, or let go over the page. @param {(file: File) => void} take */
function files(take) {
  /** @type {HTMLInputElement} */
  const input = find(".hf-file");
  part("open").addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    if (input.files?.[0]) take(input.files[0]);
    input.value = "";
  });
  const carriesFiles = (/** @type {DragEvent} */ { dataTransfer }) => dataTransfer?.types.includes("Files");
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

// Words that are explained where they stand: hover, focus or tap shows the entry of
// hsd/glossary.yaml, Esc closes it. One box for the whole page, above everything and outside its
// layout. Every element with a `data-term` is such a word.
import { explained, h, targetOf } from "./dom.js";
import { facts } from "./facts.js";
import { hideAbove, showAbove } from "./features.js";

const GAP = 6; // pixels between a word and its entry
const EDGE = 8; // pixels between the entry and the edge of the window
const LEAVE = 200; // milliseconds in which a pointer may reach the entry

/** @type {HTMLElement | null} the word that is explained now */
let word = null;
let pinned = false; // a click keeps the entry until the next
/** @type {ReturnType<typeof setTimeout>} */
let timer;
const tip = h("div.hsd-kit.hp-tip", {
  id: "hp-tip",
  role: "tooltip",
  popover: "manual",
  onpointerenter: () => clearTimeout(timer),
  onpointerleave: () => leave(),
});

/**
 * A word that can be explained. words: its form in the sentence; if left out, the sign of a
 * quantity, else the entry's label.
 * @type {(key: string, words?: string) => HTMLElement}
 */
function term(key, words) {
  const { sign, label } = facts.glossary[key];
  return explained(key, words ?? (key === sign ? key : label));
}

/** @param {Event} event @returns {HTMLElement | null} */
const termAt = ({ target }) => (target instanceof Element ? target.closest("[data-term]") : null);

function show(/** @type {HTMLElement} */ element) {
  clearTimeout(timer);
  const entry = facts.glossary[element.dataset.term ?? ""];
  if (!entry || word === element) return;
  hide();
  word = element;
  const { sign, label, words } = entry;
  if (!tip.isConnected) document.body.append(tip);
  tip.replaceChildren(
    h("strong", sign && sign !== label ? `${sign}, ${label}` : label),
    ": ",
    words,
  );
  element.setAttribute("aria-describedby", tip.id);
  showAbove(tip);
  place();
}

function hide() {
  clearTimeout(timer);
  if (!word) return;
  word.removeAttribute("aria-describedby");
  word = null;
  pinned = false;
  hideAbove(tip);
}

/** Put the entry under its word, or above it where there is more room. */
function place() {
  if (!word) return;
  if (!word.isConnected) return hide();
  const at = word.getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const fits = at.bottom + GAP + height <= clientHeight - EDGE;
  const below = fits || at.top < clientHeight - at.bottom;
  const left = Math.max(EDGE, Math.min(at.left, clientWidth - width - EDGE));
  tip.style.left = `${left}px`;
  tip.style.top = `${below ? at.bottom + GAP : at.top - GAP - height}px`;
}

function leave() {
  clearTimeout(timer);
  timer = setTimeout(() => pinned || word?.matches(":focus-visible") || hide(), LEAVE);
}

function clicked(/** @type {Event} */ event) {
  const element = termAt(event);
  if (!element) {
    if (word && !tip.contains(targetOf(event))) hide();
    return;
  }
  event.preventDefault(); // not what a click does to a label around it
  event.stopPropagation();
  if (word === element && pinned) return hide();
  show(element);
  pinned = true;
}

function pressed(/** @type {KeyboardEvent} */ event) {
  if (event.key !== "Escape" || !word) return;
  event.stopPropagation();
  hide();
}

/**
 * Listen on the document, before any element inside is told of the event.
 * @type {typeof document.addEventListener}
 */
const hear = (/** @type {string} */ name, /** @type {EventListener} */ listener) =>
  document.addEventListener(name, listener, true);
hear("pointerover", (event) => {
  const element = termAt(event);
  if (event.pointerType !== "touch" && element) show(element);
});
hear("pointerout", (event) => word && termAt(event) === word && leave());
hear("focusin", (event) => {
  const element = targetOf(event);
  if (element.matches("[data-term]:focus-visible")) show(element);
});
hear("focusout", (event) => event.target === word && hide());
hear("click", clicked);
hear("keydown", pressed);
hear("scroll", place);

export { term };

// Small pieces of a screen: cards, buttons, sliders, fields, passing lines, and how the keyboard
// reaches them.
import { h, targetOf } from "./dom.js";

const SAID = 4000; // milliseconds that a passing line stays
const UNIT = { min: 0, max: 1, step: 0.01 };

let serial = 0;

/** A name that nothing else in the page has. @param {string} name */
function unique(name) {
  serial += 1;
  return `${name}-${serial}`;
}

/**
 * A card: one idea, a title and one line about it. css: its own classes.
 * @type {(css: string, title: string, hint: Child, ...children: Child[]) => HTMLElement}
 */
function card(css, title, hint, ...children) {
  const head = h("header.hp-head", h("h3.hp-title", title), hint ? h("p.hp-hint", hint) : null);
  return h("section", { "class": `hp-card ${css}`, "aria-label": title }, head, children);
}

/**
 * A card that is folded up, for what not everybody needs at once.
 * @type {(css: string, title: string, hint: Child, ...children: Child[]) => HTMLDetailsElement}
 */
function folded(css, title, hint, ...children) {
  const head = [h("summary", h("h3.hp-title", title)), hint ? h("p.hp-hint", hint) : null];
  return h("details", { "class": `hp-card hp-folded ${css}`, "aria-label": title }, head, children);
}

/**
 * A box that scrolls, by keys too, around what may be wider than its place. label: what it holds.
 * @type {(label: string, ...children: Child[]) => HTMLElement}
 */
const scroller = (label, ...children) =>
  h("div.hp-scroll", { "tabindex": 0, "role": "group", "aria-label": label }, children);

/**
 * A button. One with words is named by them, one with a sign by its title.
 * @param {Child} label
 * @param {string | null} title
 * @param {(event: MouseEvent) => unknown} onclick
 * @param {Attributes} [attributes]
 * @returns {HTMLButtonElement}
 */
function button(label, title, onclick, attributes = {}) {
  const name = typeof label === "string" && label.length !== 1 ? null : title;
  return h(
    "button.hp-button",
    { "type": "button", title, "aria-label": name, onclick, ...attributes },
    label,
  );
}

/**
 * The mark beside the name of a rule that is not lossless, or is one of one's own; null for all
 * others.
 * @param {{lossless: boolean, own?: OwnRecord, mark?: string}} rule
 */
function lossy({ lossless, own, mark }) {
  if (own && own.lossless !== false)
    return h("span.hp-lossy", { "class": lossless && "is-exact", "title": own.words }, ` ${mark}`);
  if (lossless !== false) return null;
  const title = own?.words ?? "its text does not follow the target's distribution exactly";
  return h("span.hp-lossy", { title }, " ✕ not lossless");
}

/**
 * Set text only where it changed, so that a screen reader hears of changes only.
 * @type {(element: Element, text: string) => void}
 */
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * A notice in place of something this page cannot do, with a link to where it can be done.
 * @param {string} words - the reason, as `why` of answers.js gives it
 */
const elsewhere = (words) =>
  h(
    "p.hp-hint.hp-elsewhere",
    `${words[0].toUpperCase()}${words.slice(1)}. `,
    h("a", { href: "#hsd-live" }, "How to run it live"),
  );

/** A line that goes away by itself: {element, say(words)}. */
function said(css = "") {
  const element = h("span", { class: `hp-hint hp-said ${css}`.trim(), role: "status" });
  let timer = 0;
  return {
    element,
    say(/** @type {string} */ words) {
      element.textContent = words;
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        element.textContent = "";
      }, SAID);
    },
  };
}

/**
 * A row of radio buttons: {element, set(value, options)}. Options are [value, words]; drawn anew if
 * they change.
 * @template {string | number} V
 * @param {string} legend
 * @param {(value: V) => void} onchange
 */
function segments(legend, onchange) {
  const name = unique("choice");
  const box = h("div.hp-segments");
  const element = h("fieldset.hp-choice", h("legend", legend), box);
  let drawn = "";
  const option = (/** @type {[V, Child]} */ [value, words]) => {
    const input = h("input", {
      type: "radio",
      name,
      value,
      onchange: () => onchange(value),
    });
    return h("label.hp-button.hp-option", input, words);
  };
  /** @type {(value: V, options: [V, Child][]) => void} */
  const set = (value, options) => {
    const wanted = JSON.stringify(options);
    if (wanted !== drawn) box.replaceChildren(...options.map(option));
    drawn = wanted;
    for (const input of box.querySelectorAll("input"))
      input.checked = input.value === String(value);
  };
  return { element, set };
}

/**
 * A slider whose track is filled up to its value; from 0 to 1, where `attributes` have no min and
 * max.
 * @type {(label: string, attributes: Attributes & {css?: string}) => HTMLInputElement}
 */
const slider = (label, { css = "", ...attributes }) =>
  h("input.hp-slider", {
    "type": "range",
    "class": css,
    "aria-label": label,
    ...UNIT,
    ...attributes,
  });

/**
 * Move a slider. text: the value in words.
 * @type {(input: HTMLInputElement, value: number | string, text: string | null) => void}
 */
function setSlider(input, value, text) {
  const min = Number(input.min);
  const max = Number(input.max);
  if (input.value !== String(value)) input.value = String(value);
  const at = (Number(input.value) - min) / (max - min);
  const share = Math.min(Math.max(at || 0, 0), 1);
  input.style.setProperty("--at", String(share));
  input.setAttribute("aria-valuetext", text ?? "");
}

/**
 * A field for a number that is typed. A decimal comma is taken for a point.
 * @param {string} label
 * @param {(text: string) => void} onchange
 * @param {Attributes} [attributes]
 * @returns {HTMLInputElement}
 */
function field(label, onchange, attributes = {}) {
  const kind = {
    type: "text",
    inputmode: "decimal",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 20,
  };
  const oninput = (/** @type {Event} */ { target }) =>
    target instanceof HTMLInputElement && onchange(target.value.trim().replace(",", "."));
  return h("input.hp-field", { ...kind, "aria-label": label, oninput, ...attributes });
}

/**
 * Show a value in a field, unless someone is typing there.
 * @type {(input: HTMLInputElement, text: string) => void}
 */
function setField(input, text) {
  if (input !== document.activeElement && input.value !== text) input.value = text;
}

/**
 * A menu to choose from.
 * @param {string} label
 * @param {[string | number, Child][]} options - value and words of each
 * @param {string | number} value
 * @param {(value: string) => void} onchange
 * @param {Attributes} [attributes]
 * @returns {HTMLSelectElement}
 */
function menu(label, options, value, onchange, attributes = {}) {
  const offered = options.map(([name, words]) => h("option", { value: name }, words));
  const select = h("select.hp-speed", { "aria-label": label, ...attributes }, offered);
  select.addEventListener("change", () => onchange(select.value));
  select.value = String(value);
  return select;
}

// ---- the keyboard

const UP_DOWN = /** @type {Moves} */ ({ ArrowDown: 1, ArrowUp: -1 });
const ENDS = /** @type {Moves} */ ({ Home: 0, End: -1 });
const ANY_WAY = /** @type {Moves} */ ({ ...UP_DOWN, ArrowRight: 1, ArrowLeft: -1, ...ENDS });

/**
 * Make a group one tab stop, within which arrow keys, Home and End move, or only `keys`. items():
 * the group's elements in order; moved(item): called where a move is also a choice. Returns a
 * function that makes an item the tab stop.
 * @template {HTMLElement | SVGElement} E
 * @param {HTMLElement | SVGElement} group
 * @param {() => E[]} items
 * @param {((item: E) => void) | null} [moved]
 */
function roving(group, items, moved, keys = ANY_WAY) {
  const stop = (/** @type {E | null | undefined} */ wanted) => {
    for (const item of items()) item.setAttribute("tabindex", item === wanted ? "0" : "-1");
  };
  const on = /** @type {HTMLElement} */ (group); // an SVG element hears the same
  on.addEventListener("focusin", (event) => {
    const focused = items().find((item) => item.contains(targetOf(event)));
    if (focused) stop(focused);
  });
  on.addEventListener("keydown", (event) => {
    const all = items();
    const at = all.findIndex((item) => item.contains(targetOf(event)));
    if (at < 0 || !(event.key in keys)) return;
    event.preventDefault();
    const place = event.key in ENDS ? ENDS[event.key] : (at + keys[event.key]) % all.length;
    const next = all.at(place);
    next?.focus();
    if (next) moved?.(next);
  });
  return stop;
}

/**
 * Call `action` at a click, Enter or Space on an element that is not a button; returns the element.
 * @template {HTMLElement | SVGElement} E
 * @param {E} element
 * @param {() => void} action
 */
function press(element, action) {
  element.addEventListener("click", action);
  /** @type {HTMLElement} */ (element).addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    action();
  });
  return element;
}

export {
  unique,
  card,
  button,
  say,
  scroller,
  elsewhere,
  said,
  segments,
  slider,
  setSlider,
  field,
  folded,
};
export { setField, lossy, menu, roving, press, UP_DOWN };

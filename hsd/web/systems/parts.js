// Small pieces that the panels share. All elements come from the player's dom.js.
import { h, s } from "../kit/dom.js";
import { number, subscript } from "../kit/format.js";
import { button } from "../kit/parts.js";

let serial = 0;

const unique = (name) => `sy-${name}-${(serial += 1)}`;

/** A card: one idea, a title and one line about it. */
function card(name, title, hint, ...children) {
  const id = unique("title");
  return h(
    "section",
    { "class": `sy-card sy-${name}`, "aria-labelledby": id },
    h(
      "header",
      { class: "sy-head" },
      h("h3", { class: "sy-title", id }, title),
      hint && h("p", { class: "sy-hint" }, hint),
    ),
    children,
  );
}

/** Set text only where it changed, so that a screen reader hears of changes only. */
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Four significant digits. */
const four = (x) => number(x, 4);

/** "M₀", …, "target": model i of `count`. */
const modelName = (i, count) => (i === count - 1 ? "target" : `M${subscript(i)}`);

const KEYS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/**
 * One tab stop for a group; arrow keys, Home and End move within it. items() in order; moved(item) where a move is
 * also a choice. Returns a function that makes an item the tab stop.
 */
function roving(group, items, moved) {
  const stop = (wanted) => {
    for (const item of items()) item.setAttribute("tabindex", item === wanted ? "0" : "-1");
  };
  group.addEventListener("focusin", (event) => {
    const item = items().find((one) => one.contains(event.target));
    if (item) stop(item);
  });
  group.addEventListener("keydown", (event) => {
    const all = items();
    const at = all.findIndex((one) => one.contains(event.target));
    const ends = { Home: 0, End: all.length - 1 };
    if (at < 0 || !(event.key in KEYS || event.key in ends)) return;
    event.preventDefault();
    const next = all[event.key in ends ? ends[event.key] : (at + KEYS[event.key] + all.length) % all.length];
    next.focus();
    if (moved) moved(next);
  });
  return stop;
}

/** What an Enter or a Space does to something that is no button, and a click. */
function press(element, action) {
  element.addEventListener("click", action);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    action();
  });
  return element;
}

/** A slider whose track is filled up to its value. attributes: min, max, step. */
function slider(label, attributes, oninput) {
  return h("input", { "type": "range", "class": "sy-slider", "aria-label": label, oninput, ...attributes });
}

function setSlider(input, value, text) {
  const { min, max } = input;
  input.value = String(value);
  input.style.setProperty("--at", String((Number(input.value) - min) / (max - min)));
  input.setAttribute("aria-valuetext", text);
}

/** A number that is typed. A decimal comma is taken for a point. */
function field(label, onchange) {
  const input = h("input", {
    "type": "text",
    "class": "sy-field",
    "inputmode": "decimal",
    "autocomplete": "off",
    "spellcheck": "false",
    "maxlength": 20,
    "aria-label": label,
    "oninput": () => onchange(input.value.trim().replace(",", ".")),
  });
  return input;
}

/** Show a value in a field, unless someone is typing there. */
function setField(input, text) {
  if (input !== document.activeElement && input.value !== text) input.value = text;
}

export { h, s, button, card, say, four, modelName, roving, press, unique, slider, setSlider, field, setField };

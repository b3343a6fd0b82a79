// The fields of a lane, each with its words and one way to change: a menu, a number, a list of numbers.
// They take {field, words, label, value, …} and call changed(value) with a value that can be one.
import { h } from "../kit/dom.js";

const NO_LIST = /[^\d\s,;_+-]/g; // what is no list of numbers is taken out; the server checks the rest

/** options: value and title of each entry. */
function menu({ field, words, label, value, options }, changed) {
  const select = h(
    "select",
    {
      "class": "hp-speed",
      "data-field": field,
      "aria-label": label,
      "onchange": (event) => changed(event.target.value),
    },
    options.map(([name, title]) => h("option", { value: name }, title)),
  );
  select.value = value;
  return named(words, select);
}

/** A whole number from 1 to `high`. */
function whole({ high, ...rest }, changed) {
  const settled = (text) => Math.min(Math.max(Math.round(Number(text)) || 1, 1), high);
  return input(rest, { type: "number", min: 1, max: high, step: 1 }, settled, changed);
}

/** Any number; what is none becomes `usual`. */
function number({ usual, ...rest }, changed) {
  const settled = (text) => (text.trim() && Number.isFinite(Number(text)) ? Number(text) : usual);
  return input(rest, { type: "number", step: 0.1 }, settled, changed);
}

/** Numbers with commas, as text; empty for what `placeholder` says. */
function list({ placeholder, ...rest }, changed) {
  const settled = (text) => text.replace(NO_LIST, "").trim();
  return input(rest, { type: "text", maxlength: 40, autocomplete: "off", placeholder }, settled, changed);
}

function input({ field, words, label, value, title }, kind, settled, changed) {
  const box = h("input", {
    ...kind,
    "class": kind.type === "text" ? "rc-number-box rc-list-box" : "rc-number-box",
    "data-field": field,
    "aria-label": label,
    value,
    title,
  });
  box.addEventListener("change", () => {
    const found = settled(box.value);
    box.value = String(found);
    changed(found);
  });
  return named(words, box);
}

const named = (words, box) => h("label", { class: "rc-field" }, words, " ", box);

export { menu, whole, number, list };

// Pieces that the panels share besides the kit's.
import { why } from "../answers/answers.js";
import { h, SIGNS } from "../kit/dom.js";
import { number, subscript } from "../kit/format.js";
import * as kit from "../kit/parts.js";
import { button, elsewhere, roving, say, scroller, setField } from "../kit/parts.js";

const tag =
  (name) =>
  (css, ...children) =>
    h(name, { class: css || null }, ...children);
/** div("sy-row", child, …): an element with a class and no other attribute. */
const [div, span, p] = ["div", "span", "p"].map(tag);

/** A line about what went wrong: {element, say(words)}; it is there only while there is something to say. */
function problem() {
  const element = h("p", { class: "hp-problem", role: "alert", hidden: true });
  return {
    element,
    say(words) {
      say(element, words && capital(words));
      element.hidden = !words;
    },
  };
}

const capital = (words) => words[0].toUpperCase() + words.slice(1);

/** Four significant digits. */
const four = (x) => number(x, 4);

/** "M₀", …, "target": model i of `count`. */
const modelName = (i, count) => (i === count - 1 ? "target" : `M${subscript(i)}`);

/** What signs and colours mean: pairs of a sign and words. */
const legend = (items, ...before) =>
  p(
    "hp-hint sy-legend",
    before,
    items.map(([sign, words]) => h("span", {}, sign, ` ${words}`)),
  );

/** The sign of where a token came from. */
const sign = (origin) => h("span", { "class": `hp-sign is-${origin}`, "aria-hidden": "true" }, SIGNS[origin]);

/** name: what it holds; heads: {text, title} or texts; rows: {level, head, cells}, where a cell is a text or attributes with its text. */
function table(name, css, heads, rows) {
  const head = ({ text, title }) => h(text ? "th" : "td", { scope: text ? "col" : null, title }, text);
  const cell = ({ text, ...attributes }) => h("td", attributes, text);
  const whole = (one) => (typeof one === "string" ? { text: one } : one);
  const line = ({ level, head: first, cells }) =>
    h("tr", { "data-level": level }, h("th", { scope: "row" }, first), cells.map(whole).map(cell));
  const top = h("thead", {}, h("tr", {}, heads.map(whole).map(head)));
  return scroller(name, h("table", { class: `lv-table ${css}` }, top, h("tbody", {}, rows.map(line))));
}

/**
 * A group that is always drawn anew as a whole. name: the data attribute that tells its items apart; moved(item) where
 * a move is also a choice. Returns draw(children, current): current is the key of the item to tab to; an item that has
 * the focus keeps it.
 */
function group(box, name, moved) {
  const items = () => [...box.querySelectorAll(`[data-${name}]`)];
  const stop = roving(box, items, moved);
  return (children, current) => {
    const held = box.contains(document.activeElement) ? document.activeElement.dataset[name] : undefined;
    box.replaceChildren(...children);
    const all = items();
    const [same, other] = [held, String(current)].map((key) => all.find((one) => one.dataset[name] === key));
    stop(same || other || all[0]);
    if (same) same.focus({ preventScroll: true });
  };
}

/** A row of buttons of which one is pressed: {element, buttons, set(value)}. values: {value: title}. */
function choice(name, values, choose, shown = name) {
  const buttons = Object.entries(values).map(([value, title]) =>
    button(title, title, () => choose(value), { "data-value": value, "aria-pressed": "false" }),
  );
  const attributes = { "class": "sy-row sy-choice", "role": "group", "aria-label": name, "data-choice": name };
  const set = (value) => {
    for (const one of buttons) one.setAttribute("aria-pressed", String(one.dataset.value === value));
  };
  return { element: h("div", attributes, shown && span("hp-note sy-labelled", shown), buttons), buttons, set };
}

/** {name: title} of a list, such as presets; or {name: what else they are called by}. */
const titles = (list, key = "title") => Object.fromEntries(list.map((one) => [one.name, one[key]]));

/** The kit's slider, for a range [min, max, step]. */
const slider = (label, [min, max, step], onvalue) =>
  kit.slider(label, { min, max, step, oninput: (event) => onvalue(event.target.value) });

/** A text of several lines that is typed: {element, set(text)}. */
function area(label, rows, onvalue) {
  const attributes = { "class": "hp-field sy-text", rows, "maxlength": 4000, "aria-label": label };
  const element = h("textarea", { ...attributes, oninput: () => onvalue(element.value) });
  return { element, set: (text) => setField(element, text) };
}

/** The buttons of a live run, and how it stands: {element, update({words, running})}. */
function runBar({ run, cancel, copy }, ...before) {
  const status = h("span", { class: "hp-hint sy-status", role: "status" });
  const stop = button("Cancel", "end the run; what there is stays", cancel, { disabled: true });
  const start = button("Run", "decode this on the embedded models", run, { class: "hp-button sy-run" });
  const link = button("Copy link", "a link to what is shown", copy);
  const update = ({ words, running }) => {
    say(status, words);
    stop.disabled = !running;
  };
  const bar = why("levels")
    ? div("", div("sy-row", link), elsewhere(why("levels")))
    : div("sy-row", before, start, stop, link, status);
  return { element: bar, update };
}

export { div, span, p, problem, capital, four, modelName, legend, sign, table };
export { group, choice, titles, slider, area, runBar };

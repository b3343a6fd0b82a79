// What a run with levels is asked for: recorded runs to start from, sliders and menus, and the buttons of a run.
//
// A field: {name, at, label, hint, and one of range: [min, max, step] (a slider and a number to type), options:
// [[value, words], …] (a menu), text: rows (a text)}. name: of a request; at: the place in it where it is a list. label,
// hint and options may be functions of what is asked; wanted(asked) says whether the field has a meaning.
import { button, card, field, h, say, setField, setSlider, slider } from "./parts.js";

const THRESHOLD = [1, 24, 1];
const RULES = [
  ["hsd", "HSD"],
  ["blockwise", "block verification"],
  ["tokenwise", "token by token (vanilla)"],
];
/** Fields that every run with levels has. */
const SHARED = [
  { name: "temperature", label: "Temperature", hint: "0 is greedy.", range: [0, 1.5, 0.05] },
  { name: "length", label: "Length", hint: "New tokens.", range: [4, 96, 1] },
  { name: "seed", label: "Seed", hint: "Same seed, same text.", number: true },
  { name: "prompt", label: "Prompt", hint: "The text that is continued.", text: 2 },
];

/** The value of a field as text. */
const fieldOf = (asked, { name, at }) => String((at === undefined ? asked[name] : (asked[name] || [])[at]) ?? "");

/** What is asked with one field changed. */
function changed(asked, { name, at }, text) {
  if (at === undefined) return { ...asked, [name]: text };
  const list = [...asked[name]];
  list[at] = text;
  return { ...asked, [name]: list };
}

const of = (given, asked) => (typeof given === "function" ? given(asked) : given);

/** actions: preset(name), edit(asked), run(), cancel(), copy(). */
function create({ title, hint, presets, fields }, actions) {
  const chips = presets.map(({ name, title: words }) =>
    button(words, `show the recorded run: ${words}`, () => actions.preset(name), { "data-run": name }),
  );
  const why = h("p", { class: "sy-hint lv-why" });
  const problem = h("p", { class: "lv-problem", role: "alert", hidden: true });
  const status = h("span", { class: "sy-hint lv-status", role: "status" });
  const run = button("Run", "run this on the embedded models", () => actions.run(), { class: "hp-button lv-run" });
  const cancel = button("Cancel", "end the run; what there is stays", () => actions.cancel(), { disabled: true });
  const copy = button("Copy link", "a link to this run and this moment", () => actions.copy());
  const state = { asked: null };
  const rows = fields.map((one) => row(one, (text) => actions.edit(changed(state.asked, one, text))));
  const element = card(
    "runs",
    title,
    hint,
    h("div", { "class": "sy-row", "role": "group", "aria-label": "Recorded runs" }, chips),
    why,
    h(
      "details",
      { "class": "lv-more", "open": window.innerWidth > 700 },
      h("summary", {}, "Change it, then run it"),
      h(
        "div",
        { class: "lv-fields" },
        rows.map((one) => one.element),
      ),
    ),
    h("div", { class: "sy-row" }, run, cancel, copy, status),
    problem,
  );

  /** asked: the values in the fields; preset: the recorded run that is shown, or null. */
  function update({ asked, preset, words, problem: wrong, running }) {
    state.asked = asked;
    const shown = presets.find((one) => one.name === preset);
    for (const chip of chips) chip.setAttribute("aria-pressed", String(chip.dataset.run === preset));
    say(why, shown ? `Recorded. ${shown.why}` : "A run of your own.");
    say(status, words);
    say(problem, wrong);
    problem.hidden = !wrong;
    cancel.disabled = !running;
    for (const one of rows) one.set(asked);
  }

  return { element, update };
}

function row(one, onchange) {
  const label = h("span", { class: "lv-label" });
  const hint = h("span", { class: "sy-hint" });
  const [controls, set] = one.range
    ? sliding(one, onchange)
    : one.options
      ? menu(one, onchange)
      : one.text
        ? area(one, onchange)
        : typed(one, onchange);
  const element = h(
    "div",
    { class: `lv-field${one.text ? " is-wide" : ""}`, "data-field": one.name + (one.at ?? "") },
    h("div", { class: "lv-field-head" }, label, hint),
    h("div", { class: "lv-control" }, controls),
  );
  return {
    element,
    set(values) {
      element.hidden = Boolean(one.wanted) && !one.wanted(values);
      if (element.hidden) return;
      say(label, of(one.label, values));
      say(hint, of(one.hint, values));
      set(fieldOf(values, one), of(one.label, values), values);
    },
  };
}

function sliding({ range: [min, max, step], name }, onchange) {
  const bar = slider(name, { min, max, step }, () => onchange(bar.value));
  const number = field(name, (text) => onchange(text));
  const set = (text, label) => {
    bar.setAttribute("aria-label", `${label}, slider`);
    number.setAttribute("aria-label", label);
    setSlider(bar, Number.isFinite(Number.parseFloat(text)) ? text : min, text);
    setField(number, text);
  };
  return [[bar, number], set];
}

function menu({ options, name }, onchange) {
  const select = h("select", { "class": "lv-select", "onchange": () => onchange(select.value), "aria-label": name });
  let drawn = "";
  const set = (text, label, values) => {
    const list = of(options, values);
    if (JSON.stringify(list) !== drawn) {
      drawn = JSON.stringify(list);
      select.replaceChildren(...list.map(([value, words]) => h("option", { value }, words)));
    }
    select.setAttribute("aria-label", label);
    select.value = text;
  };
  return [[select], set];
}

function area({ text: rows }, onchange) {
  const box = h("textarea", { "class": "lv-text", rows, "maxlength": 4000, "oninput": () => onchange(box.value) });
  const set = (text, label) => {
    box.setAttribute("aria-label", label);
    if (box !== document.activeElement && box.value !== text) box.value = text;
  };
  return [[box], set];
}

function typed({ name }, onchange) {
  const number = field(name, (text) => onchange(text));
  const set = (text, label) => {
    number.setAttribute("aria-label", label);
    setField(number, text);
  };
  return [[number], set];
}

export { create, SHARED, RULES, THRESHOLD };

// What a run is asked for: recorded runs to start from, sliders and menus, and the buttons of a run.
//
// A field: {name, at, label, hint, and one of range: [min, max, step] (a slider and a number to type), options: [[value,
// words], …] (a menu), text: rows (a text), number: true}. name: of a request; at: the place in it where it is a list.
// label and hint may be functions of what is asked; wanted(asked) says whether the field has a meaning.
import { why } from "../answers/answers.js";
import { h } from "../kit/dom.js";
import { facts } from "../kit/facts.js";
import { card, field, menu, say, setField, setSlider } from "../kit/parts.js";
import * as parts from "./parts.js";
import { choice, div, p, runBar, slider, span, titles } from "./parts.js";

const THRESHOLD = [1, 24, 1];
/** Rules that fit any level: lossless, and for a chain. */
const RULES = facts.rules.filter((rule) => rule.below).map(({ name, title }) => [name, title]);
/** Fields that every run with levels has. */
const SHARED = [
  { name: "temperature", label: "Temperature", hint: "0 is greedy.", range: [0, 1.5, 0.05] },
  { name: "max_new_tokens", label: "Length", hint: "New tokens.", range: [4, 96, 1] },
  { name: "seed", label: "Seed", hint: "Same seed, same text.", number: true },
  { name: "prompt", label: "Prompt", hint: "The text that is continued.", text: 2 },
];

/** The value of a field as text. */
const textOf = (asked, { name, at }) => String((at === undefined ? asked[name] : (asked[name] || [])[at]) ?? "");

/** What is asked with one field changed. */
function changed(asked, { name, at }, text) {
  return { ...asked, [name]: at === undefined ? text : asked[name].with(at, text) };
}

const of = (given, asked) => (typeof given === "function" ? given(asked) : given);

/**
 * actions: preset(name), edit(asked), run(), cancel(), copy(). above(presets, actions): {element, update(asked, runs)} to
 * stand under the recorded runs, or nothing.
 */
function create({ title, hint, presets, fields, above = () => null }, actions) {
  const recorded = choice("Recorded runs", titles(presets), actions.preset, "");
  const first = above(presets, actions);
  const [words, problem, bar] = [p("hp-hint lv-why"), parts.problem(), runBar(actions)];
  const rows = fields.map((one) => row(one, (text) => actions.edit(changed(now, one, text))));
  const more = { class: "lv-more" };
  const form = h(
    "details",
    more,
    h("summary", {}, "Change it, then run it"),
    div(
      "lv-fields",
      rows.map((r) => r.element),
    ),
  );
  const shown = [recorded.element, first && first.element, words, !why("levels") && form, bar.element, problem.element];
  const element = card("sy-runs", title, hint, shown);
  let now = null;

  /** asked: the values in the fields; runs: what is shown, see runs.js. */
  function update(asked, runs) {
    now = asked;
    recorded.set(runs.name);
    if (first) first.update(asked, runs);
    say(words, runs.about);
    bar.update(runs);
    problem.say(runs.problem);
    for (const one of rows) one.set(asked);
  }

  return { element, update };
}

function row(one, onchange) {
  const [label, hint] = [span("lv-label"), span("hp-hint")];
  const make = Object.keys(KINDS).find((kind) => kind in one);
  const { inputs, set } = KINDS[make](one, onchange);
  const css = `lv-field${one.text ? " is-wide" : ""}`;
  const inside = [div("lv-field-head", label, hint), div("lv-control", inputs)];
  const element = h("div", { "class": css, "data-field": one.name + (one.at ?? "") }, inside);
  return {
    element,
    set(asked) {
      element.hidden = Boolean(one.wanted) && !one.wanted(asked);
      if (element.hidden) return;
      say(label, of(one.label, asked));
      say(hint, of(one.hint, asked));
      for (const input of inputs)
        input.setAttribute("aria-label", label.textContent + (input.type === "range" ? ", slider" : ""));
      set(textOf(asked, one));
    },
  };
}

const KINDS = {
  range({ range, name }, onchange) {
    const inputs = [slider(name, range, onchange), field(name, onchange)];
    const set = (text) => {
      setSlider(inputs[0], Number.isFinite(Number.parseFloat(text)) ? text : range[0], text);
      setField(inputs[1], text);
    };
    return { inputs, set };
  },
  options({ options, name }, onchange) {
    const select = menu(name, options, "", onchange, { class: "lv-select" });
    return { inputs: [select], set: (text) => (select.value = text) };
  },
  text({ text: rows, name }, onchange) {
    const { element, set } = parts.area(name, rows, onchange);
    return { inputs: [element], set };
  },
  number({ name }, onchange) {
    const box = field(name, onchange);
    return { inputs: [box], set: (text) => setField(box, text) };
  },
};

export { create, SHARED, RULES, THRESHOLD };

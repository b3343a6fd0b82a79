// The planner's inputs: what to start from, the cost of every model, and the chance that one keeps
// a token of another.
import { h } from "../../kit/dom.js";
import { button, field, say, segments, setField, setSlider, slider } from "../../kit/controls.js";
import { modelName } from "../ways.js";
import { value } from "./models.js";

/**
 * preset(name), cost(i, text), further(i, text), acceptance(i, j, text), add(), remove(i), copy().
 * @typedef {Record<string, (...given: any[]) => void>} PlannerActions
 */
/**
 * What shows each number.
 * @typedef {((inputs: PlannerInputs) => void)[]} PlannerFillers
 */

const DECADES = { low: -2, high: 3 }; // the cost slider goes from 0.01 to 1000
const HINT =
  "c is the time of one pass. Then, for every two models, the chance that the larger keeps a " +
  "token of the smaller.";

const costAt = (/** @type {string} */ position) =>
  String(Number((10 ** Number(position)).toPrecision(2)));
const positionOf = (/** @type {string} */ text) =>
  Math.log10(Math.max(value(text, 0), 10 ** DECADES.low));

/**
 * A slider and a field for one number, and `set`, which shows a text in both.
 * @param {string} name
 * @param {object} range - of the slider
 * @param {(text: string) => void} onvalue - called with a new text
 * @param {{at: (text: string) => number, of?: (position: string) => string}} scale - the slider's
 *   position for a text, and the other way round
 */
function number(name, range, onvalue, { at, of = (position) => position }) {
  const typed = field(name, onvalue);
  const oninput = () => onvalue(of(dragged.value));
  /** @type {HTMLInputElement} */
  const dragged = slider(`${name}, slider`, { ...range, oninput });
  const set = (/** @type {string} */ text) => {
    setField(typed, text);
    setSlider(dragged, at(text), text);
  };
  return { typed, dragged, set };
}

/**
 * The form of the inputs.
 * @param {PlannerPreset[]} presets - to start from
 * @param {number} most - models
 * @param {PlannerActions} actions
 */
function inputs(presets, most, actions) {
  const start = segments("Start from", actions.preset);
  const options = presets.map(({ name, title }) => /** @type {[string, string]} */ ([name, title]));
  const note = h("p.hp-hint.hf-note");
  const warned = h("p.hp-hint.hf-warnings");
  const problem = h("p.hp-problem", { role: "alert" });
  const body = h("div.hf-inputs-body");
  const look = { class: "hp-button hf-add" };
  const add = button("+ Add a smaller model", "one more below the others", actions.add, look);
  const copy = button("Copy link", "a link to these inputs and this view", actions.copy);
  const row = h("div.hp-row", add, copy);
  const head = [start.element, note, h("p.hp-hint", HINT), problem];
  const element = h("div.hf-inputs", head, body, row, warned);
  /** @type {PlannerFillers} */
  let shown = [];
  let drawn = 0;

  /** @type {(now: PlannerInputs, words: string, warnings: string[]) => void} */
  function update(now, words, warnings) {
    const count = now.costs.length;
    if (count !== drawn) {
      const held = body.contains(document.activeElement); // its button has gone
      shown = [];
      body.replaceChildren(costs(count, actions, shown), acceptances(count, actions, shown));
      drawn = count;
      add.disabled = count >= most;
      const free = add.disabled ? copy : add;
      if (held) free.focus();
    }
    const preset = presets.find(({ name }) => name === now.preset);
    start.set(now.preset, options);
    say(note, preset?.note ?? "Your own numbers; costs in any unit, the same for all models.");
    say(problem, words && words[0].toUpperCase() + words.slice(1));
    say(warned, warnings.map((line) => `Note: ${line}.`).join(" "));
    for (const show of shown) show(now);
  }

  return { element, update };
}

/**
 * The costs, a line for each model: name, slider, cost, cost per further token, remove.
 * @param {number} count
 * @param {PlannerActions} actions
 * @param {PlannerFillers} shown
 */
function costs(count, actions, shown) {
  const rows = Array.from({ length: count }, (_, i) => {
    const name = modelName(i, count);
    const range = { min: DECADES.low, max: DECADES.high, step: 0.05 };
    const scale = { at: positionOf, of: costAt };
    const cost = number(`cost of ${name}`, range, (text) => actions.cost(i, text), scale);
    const further = field(`cost of each further token for ${name}`, (/** @type {string} */ text) =>
      actions.further(i, text),
    );
    shown.push(({ costs: all, perToken }) => {
      cost.set(all[i]);
      setField(further, perToken[i]);
    });
    const few = { class: "hp-button hf-remove", disabled: count <= 2 };
    return h(
      "div.hf-cost",
      { "data-model": i },
      h("b", name),
      cost.dragged,
      h("label.hp-note.hf-labelled", "c ", cost.typed),
      h("label.hp-note.hf-labelled", "+ ", further, " per further token"),
      i < count - 1 ? button("✕", `remove ${name}`, () => actions.remove(i), few) : null,
    );
  });
  return h("div.hf-costs", { "role": "group", "aria-label": "Costs" }, rows);
}

/**
 * The acceptances, an upper triangle: in row i and column j the chance that M_j keeps a token of
 * M_i.
 * @param {number} count
 * @param {PlannerActions} actions
 * @param {PlannerFillers} shown
 */
function acceptances(count, actions, shown) {
  const range = { min: 0, max: 1, step: 0.01 };
  const cell = (/** @type {number} */ i, /** @type {number} */ j) => {
    const words = `${modelName(i, count)} kept by ${modelName(j, count)}`;
    const at = (/** @type {string} */ text) => Math.min(1, Math.max(0, value(text, 0)));
    const chance = number(words, range, (text) => actions.acceptance(i, j, text), { at });
    shown.push(({ acceptance }) => chance.set(acceptance[i][j - i - 1]));
    const names = { "data-label": words, "data-pair": `${i}-${j}` };
    return h("td", names, h("div.hf-cell", chance.typed, chance.dragged));
  };
  const smaller = Array.from({ length: count - 1 }, (_, k) => k);
  const heads = smaller.map((k) => {
    const larger = modelName(k + 1, count);
    return h("th", { scope: "col" }, `kept by ${larger}`);
  });
  const rows = smaller.map((i) => {
    const name = h("th", { scope: "row" }, `token of ${modelName(i, count)}`);
    const cells = smaller.map((k) => (k >= i ? cell(i, k + 1) : h("td.is-empty")));
    return h("tr", name, cells);
  });
  const head = h("thead", h("tr", h("td"), heads));
  const table = h("table.hf-matrix", head, h("tbody", rows));
  return h("div.hf-scroll", { "role": "group", "aria-label": "Acceptances" }, table);
}

export { inputs };

// The planner's first card: presets, the cost of every model, and the chance that one keeps a token of another.
import { h } from "../../kit/dom.js";
import { button, card, field, say, setField, setSlider } from "../../kit/parts.js";
import { choice, div, modelName, p, problem, slider, titles } from "../parts.js";
import { value } from "./models.js";

const DECADES = { low: -2, high: 3 }; // the cost slider goes from 0.01 to 1000

const costAt = (position) => String(Number((10 ** Number(position)).toPrecision(2)));
const positionOf = (text) => Math.log10(Math.max(value(text, 0), 10 ** DECADES.low));

/** actions: preset(name), cost(i, text), further(i, text), acceptance(i, j, text), add(), remove(i), copy(). */
function inputs({ presets, most }, actions) {
  const start = choice("Presets", titles(presets), actions.preset, "");
  const [note, warnings, body] = [p("hp-hint sy-note"), p("hp-hint sy-warnings"), div("sy-inputs-body")];
  const wrong = problem();
  const add = button("+ Add a smaller model", "one more model below the others", () => actions.add(), {
    class: "hp-button sy-add",
  });
  const copy = button("Copy link", "a link to these inputs and this view", () => actions.copy());
  const element = card(
    "sy-inputs",
    "The models",
    "c is the time of one forward pass. Then, for every two models, the chance that the larger one keeps a token " +
      "of the smaller. Drag or type.",
    start.element,
    note,
    wrong.element,
    body,
    div("sy-row", add, copy),
    warnings,
  );
  let cells = []; // show(state), one per pair of a slider and a field
  let drawn = 0;

  function update({ state, problem: words, warned }) {
    const count = state.costs.length;
    if (count !== drawn) {
      cells = [];
      drawn = count;
      body.replaceChildren(costs(count, actions, cells), acceptances(count, actions, cells));
    }
    const preset = presets.find((one) => one.name === state.preset);
    start.set(state.preset);
    say(note, preset ? preset.note : "Your own numbers; costs in any unit, the same for all models.");
    wrong.say(words);
    say(warnings, warned.map((line) => `Note: ${line}.`).join(" "));
    add.disabled = count >= most;
    for (const show of cells) show(state);
  }

  return { element, update, focusAdd: () => (add.disabled ? copy : add).focus() };
}

/** One line per model: name, slider, cost, cost per further token, remove. */
function costs(count, actions, cells) {
  const rows = Array.from({ length: count }, (_, i) => {
    const name = modelName(i, count);
    const change = (text) => actions.cost(i, text);
    const bar = slider(`cost of ${name}, slider`, [DECADES.low, DECADES.high, 0.05], (at) => change(costAt(at)));
    const cost = field(`cost of ${name}`, change);
    const further = field(`cost of each further token for ${name}`, (text) => actions.further(i, text));
    cells.push((state) => {
      setField(cost, state.costs[i]);
      setField(further, state.perToken[i]);
      setSlider(bar, positionOf(state.costs[i]), state.costs[i]);
    });
    const few = { class: "hp-button sy-remove", disabled: count <= 2 };
    return h(
      "div",
      { "class": "sy-cost", "data-model": i },
      h("b", { class: "sy-name" }, name),
      bar,
      h("label", { class: "hp-note sy-labelled" }, "c ", cost),
      h("label", { class: "hp-note sy-labelled" }, "+ ", further, " per further token"),
      i < count - 1 ? button("✕", `remove ${name}`, () => actions.remove(i), few) : null,
    );
  });
  return h("div", { "class": "sy-costs", "role": "group", "aria-label": "Costs" }, rows);
}

/** The upper triangle: row i, column j: a token of M_i is kept by M_j. */
function acceptances(count, actions, cells) {
  const cell = (i, j) => {
    const words = `${modelName(i, count)} kept by ${modelName(j, count)}`;
    const change = (text) => actions.acceptance(i, j, text);
    const bar = slider(`${words}, slider`, [0, 1, 0.01], change);
    const text = field(words, change);
    cells.push((state) => {
      const shown = state.acceptance[i][j - i - 1];
      setField(text, shown);
      setSlider(bar, Math.min(1, Math.max(0, value(shown, 0))), shown);
    });
    return h("td", { "data-label": words, "data-pair": `${i}-${j}` }, div("sy-cell", text, bar));
  };
  const upTo = Array.from({ length: count - 1 }, (_, k) => k);
  const head = upTo.map((k) => h("th", { scope: "col" }, `kept by ${modelName(k + 1, count)}`));
  const rows = upTo.map((i) => {
    const name = h("th", { scope: "row" }, `token of ${modelName(i, count)}`);
    return h(
      "tr",
      {},
      name,
      upTo.map((k) => (k + 1 > i ? cell(i, k + 1) : h("td", { class: "is-empty" }))),
    );
  });
  const matrix = h("table", { class: "sy-matrix" }, h("thead", {}, h("tr", {}, h("td"), head)), h("tbody", {}, rows));
  return h("div", { "class": "sy-scroll", "role": "group", "aria-label": "Acceptances" }, matrix);
}

export { inputs };

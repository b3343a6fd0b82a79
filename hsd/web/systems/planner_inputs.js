// The planner's first card: presets, the cost of every model, and the chance that one keeps a token of another.
import { button, card, field, h, modelName, say, setField, setSlider, slider } from "./parts.js";
import { value } from "./planner_models.js";

const DECADES = { low: -2, high: 3 }; // the cost slider goes from 0.01 to 1000

const costAt = (position) => String(Number((10 ** Number(position)).toPrecision(2)));
const positionOf = (text) => Math.log10(Math.max(value(text, 0), 10 ** DECADES.low));

/** actions: preset(name), cost(i, text), further(i, text), acceptance(i, j, text), add(), remove(i), copy(). */
function inputs({ presets, most }, actions) {
  const chips = presets.map(({ name, title }) =>
    button(title, `start from: ${title}`, () => actions.preset(name), { "data-preset": name }),
  );
  const note = h("p", { class: "sy-hint sy-note" });
  const problem = h("p", { class: "sy-problem", role: "alert", hidden: true });
  const warnings = h("p", { class: "sy-hint sy-warnings" });
  const body = h("div", { class: "sy-inputs-body" });
  const add = button("+ Add a smaller model", "one more model below the others", () => actions.add(), {
    class: "hp-button sy-add",
  });
  const copy = button("Copy link", "a link to these inputs and this view", () => actions.copy(), {
    class: "hp-button sy-copy",
  });
  const element = card(
    "inputs",
    "Which models to stack? The planner",
    "c is the time of one forward pass. Then, for every two models, the chance that the larger one keeps a token " +
      "of the smaller. Drag or type.",
    h("div", { "class": "sy-row", "role": "group", "aria-label": "Presets" }, chips),
    note,
    problem,
    body,
    h("div", { class: "sy-row" }, add, copy),
    warnings,
  );
  let cells = [];
  let drawn = 0;

  function update({ state, problem: words, warned }) {
    const count = state.costs.length;
    if (count !== drawn) rebuild(count);
    for (const chip of chips) chip.setAttribute("aria-pressed", String(chip.dataset.preset === state.preset));
    const preset = presets.find((one) => one.name === state.preset);
    say(note, preset ? preset.note : "Your own numbers; costs in any unit, the same for all models.");
    say(problem, words);
    problem.hidden = !words;
    say(warnings, warned.map((line) => `Note: ${line}.`).join(" "));
    add.disabled = count >= most;
    for (const cell of cells) cell(state);
  }

  function rebuild(count) {
    cells = [];
    drawn = count;
    body.replaceChildren(costs(count, actions, cells), acceptances(count, actions, cells));
  }

  return { element, update, focusAdd: () => (add.disabled ? copy : add).focus() };
}

/** One line per model: name, slider, cost, cost per further token, remove. */
function costs(count, actions, cells) {
  const rows = Array.from({ length: count }, (_, i) => {
    const name = modelName(i, count);
    const bar = slider(`cost of ${name}, slider`, { min: DECADES.low, max: DECADES.high, step: 0.05 }, () =>
      actions.cost(i, costAt(bar.value)),
    );
    const cost = field(`cost of ${name}`, (text) => actions.cost(i, text));
    const further = field(`cost of each further token for ${name}`, (text) => actions.further(i, text));
    cells.push((state) => {
      setField(cost, state.costs[i]);
      setField(further, state.perToken[i]);
      setSlider(bar, positionOf(state.costs[i]), state.costs[i]);
    });
    const gone = button("✕", `remove ${name}`, () => actions.remove(i), {
      class: "hp-button sy-remove",
      disabled: count <= 2,
    });
    return h(
      "div",
      { class: "sy-cost", "data-model": i },
      h("b", { class: "sy-name" }, name),
      bar,
      h("label", { class: "sy-labelled" }, "c ", cost),
      h("label", { class: "sy-labelled" }, "+ ", further, " per further token"),
      i < count - 1 ? gone : null,
    );
  });
  return h("div", { "class": "sy-costs", "role": "group", "aria-label": "Costs" }, rows);
}

/** The upper triangle: row i, column j: a token of M_i is kept by M_j. */
function acceptances(count, actions, cells) {
  const cell = (i, j) => {
    const words = `${modelName(i, count)} kept by ${modelName(j, count)}`;
    const bar = slider(`${words}, slider`, { min: 0, max: 1, step: 0.01 }, () => actions.acceptance(i, j, bar.value));
    const text = field(words, (typed) => actions.acceptance(i, j, typed));
    cells.push((state) => {
      const shown = state.acceptance[i][j - i - 1];
      setField(text, shown);
      setSlider(bar, Math.min(1, Math.max(0, value(shown, 0))), shown);
    });
    return h("td", { "data-label": words, "data-pair": `${i}-${j}` }, h("div", { class: "sy-cell" }, text, bar));
  };
  const upTo = Array.from({ length: count - 1 }, (_, k) => k);
  const head = upTo.map((k) => h("th", { scope: "col" }, `kept by ${modelName(k + 1, count)}`));
  const rows = upTo.map((i) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, `token of ${modelName(i, count)}`),
      upTo.map((k) => (k + 1 > i ? cell(i, k + 1) : h("td", { class: "is-empty" }))),
    ),
  );
  return h(
    "div",
    { "class": "sy-scroll", "role": "group", "aria-label": "Acceptances" },
    h("table", { class: "sy-matrix" }, h("thead", {}, h("tr", {}, h("td", {}), head)), h("tbody", {}, rows)),
  );
}

export { inputs };

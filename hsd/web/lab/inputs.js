// The first card: number of tokens, draft length, and every probability as a slider and as a
// number.
import { h } from "../kit/dom.js";
import { plural, short, subscript } from "../kit/format.js";
import {
  button,
  card,
  field,
  say,
  segments,
  setField,
  setSlider,
  slider,
} from "../kit/controls.js";
import { range } from "../rules/law.js";
import { names, parse, PRESETS, rowName } from "./state.js";

/**
 * Something in the card that follows the state; bad: the rows that are wrong, by side and position.
 * @typedef {{update: (state: LabState, bad: Set<string>) => void}} LabCell
 */

const SIDES = { p: "Target", q: "Draft" };

/** The card. @param {LabActions} actions */
function inputs(actions) {
  const chips = Object.entries(PRESETS).map(([name, { title }]) =>
    button(title, `start from: ${title}`, () => actions.preset(name), { "data-preset": name }),
  );
  const presets = h("div.hp-row", { "role": "group", "aria-label": "Presets" }, chips);
  const vocab = segments("Tokens", (/** @type {number} */ value) =>
    actions.reshape({ vocab: value }),
  );
  const gamma = segments("Draft length γ", (/** @type {number} */ value) =>
    actions.reshape({ gamma: value }),
  );
  const kind = segments("Rows", (/** @type {LabKind} */ value) => actions.reshape({ kind: value }));
  const words = h("p.hp-problem", { role: "alert" });
  const repair = button("Normalise", "scale the rows so that each sums to 1", actions.normalise);
  const rows = h("div.hf-rows");
  const element = card(
    "hf-inputs",
    "What the two models believe",
    "p: the target's next-token probabilities. q: the draft's. " +
      "Drag, or type numbers such as 0.25 or 1/3.",
    presets,
    h("div.hf-choices", vocab.element, gamma.element, kind.element),
    h("div.hp-bar.hf-wrong", words, repair),
    rows,
  );
  let drawn = "";
  /** @type {LabCell[]} */
  let cells = [];

  /**
   * @param {object} view
   * @param {LabState} view.state
   * @param {LabProblem[]} view.problems
   * @param {string} view.message
   * @param {string | null} view.presetName - of the preset that the state is
   */
  function update({ state, problems, message, presetName }) {
    const wanted = [state.kind, state.vocab, state.gamma].join();
    if (wanted !== drawn) {
      cells = [];
      rows.replaceChildren(...draw(state, actions, cells));
    }
    drawn = wanted;
    choose(state, { vocab, gamma, kind });
    for (const chip of chips)
      chip.setAttribute("aria-pressed", String(chip.dataset.preset === presetName));
    say(words, message);
    repair.hidden = !problems.length;
    const bad = new Set(problems.map(({ side, t }) => side + t));
    for (const cell of cells) cell.update(state, bad);
  }

  return { element, update };
}

/**
 * Show the number of tokens, the draft length and the kind of rows in their controls. A larger
 * number that a link has brought is offered too. The paper's step has no such choice.
 * @param {LabState} state
 * @param {Record<string, {element: HTMLElement, set: Function}>} controls
 */
function choose(state, controls) {
  const { kind, vocab, gamma } = state;
  /** @type {(usual: number[], value: number) => [number, string][]} */
  const upTo = (usual, value) => {
    const offered = usual.includes(value) ? usual : [...usual, value];
    return offered.map((n) => [n, String(n)]);
  };
  controls.vocab.set(vocab, upTo([2, 3, 4, 5], vocab));
  controls.gamma.set(gamma, upTo([1, 2, 3, 4], gamma));
  controls.kind.set(kind, [
    ["same", "same p and q at every position"],
    ["own", "own rows per position"],
  ]);
  for (const { element } of Object.values(controls)) element.hidden = state.kind === "step";
}

/**
 * The elements of all rows. Each part that follows the state is added to `cells`.
 * @param {LabState} state
 * @param {LabActions} actions
 * @param {LabCell[]} cells
 */
function draw(state, actions, cells) {
  const side = (/** @type {LabSide} */ name, /** @type {number} */ t) =>
    t < state[name].length &&
    !(state.kind === "step" && t === state.gamma) &&
    row(state, name, t, actions, cells);
  const block = (/** @type {number} */ t) => h("div.hf-block", side("p", t), side("q", t));
  if (state.kind === "same") return [block(0)];
  const count = state.kind === "own" ? state.gamma + 1 : state.gamma;
  return range(count).map((t) => position(state, t, block(t), cells));
}

/**
 * The element of one position, which folds: its rows in short, and the sliders when it is opened.
 * @param {LabState} state
 * @param {number} t
 * @param {HTMLElement} block - the sliders
 * @param {LabCell[]} cells
 */
function position(state, t, block, cells) {
  const after = t === 0 ? "first token" : `after ${plural(t, "token")}`;
  const place = state.kind === "step" ? `${t + 1}. “${names(state, t)[0]}”` : after;
  const digest = h("span.hf-digest");
  const element = h(
    "details.hf-position",
    { open: t === 0 },
    h("summary.hp-row", h("b", place), digest),
    block,
  );
  const text = (/** @type {string[] | undefined} */ row) =>
    row?.map((cell) => short(parse(cell))).join(" ");
  cells.push({
    update: (now, bad) => {
      const hasP = !(now.kind === "step" && t === now.gamma);
      const q = text(now.q[t]);
      const target = hasP ? `p${subscript(t)} ${text(now.p[t])}` : "";
      const draft = q ? ` · q${subscript(t)} ${q}` : "";
      say(digest, target + draft);
      if (bad.has(`p${t}`) || bad.has(`q${t}`)) element.open = true;
    },
  });
  return element;
}

/**
 * The element of one distribution.
 * @param {LabState} state
 * @param {LabSide} side
 * @param {number} t
 * @param {LabActions} actions
 * @param {LabCell[]} cells
 */
function row(state, side, t, actions, cells) {
  const name = `${SIDES[side]} ${rowName(state.kind, side, t)}`;
  const lines = names(state, t).map((token, i) =>
    line(token, `${name}, ${token}`, { side, t, i }, actions, cells),
  );
  const long = state.kind === "step" ? " is-long" : "";
  const attributes = { "class": `hf-row is-${side}${long}`, "data-row": side + t };
  const element = h("fieldset", attributes, h("legend", name), lines);
  cells.push({ update: (_, bad) => element.classList.toggle("is-bad", bad.has(side + t)) });
  return element;
}

/**
 * The element of one entry of a row: its slider and its number. A drag scales the other entries
 * from where they stood when it began.
 * @param {string} token
 * @param {string} label - the name of both controls
 * @param {{side: LabSide, t: number, i: number}} place
 * @param {LabActions} actions
 * @param {LabCell[]} cells
 */
function line(token, label, { side, t, i }, actions, cells) {
  /** @type {number[] | null} */
  let before = null;
  const range = slider(`${label}, slider`, {
    css: `is-${side}`,
    oninput: () => {
      before = actions.drag(side, t, i, Number(range.value), before);
    },
    onchange: () => {
      before = null;
    },
  });
  const number = field(label, (text) => actions.cell(side, t, i, text), {
    inputmode: "text",
    maxlength: 40,
  });
  cells.push({
    update: (state, bad) => {
      const text = state[side][t][i];
      setField(number, text);
      number.setAttribute("aria-invalid", String(bad.has(side + t)));
      setSlider(range, Number.isFinite(parse(text)) ? parse(text) : 0, text);
    },
  });
  return h("div.hf-line", h("span.hf-token", token), range, number);
}

export { inputs };

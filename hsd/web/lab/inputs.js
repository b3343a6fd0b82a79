// The first card: number of tokens, draft length, and every probability as a slider and as a number.
import { h } from "../kit/dom.js";
import { plural, short, subscript } from "../kit/format.js";
import { button, card, field, say, segments, setField, setSlider, slider } from "../kit/parts.js";
import { range } from "../rules/law.js";
import { names, parse, PRESETS, rowName } from "./state.js";

const SIDES = { p: "Target", q: "Draft" };

/** actions: preset(name), reshape(change), cell(side, t, i, text), drag(side, t, i, value, before), normalise(). @param {LabActions} actions */
function inputs(actions) {
  const chips = Object.entries(PRESETS).map(([name, { title }]) =>
    button(title, `start from: ${title}`, () => actions.preset(name), { "data-preset": name }),
  );
  const presets = h("div.hp-row", { "role": "group", "aria-label": "Presets" }, chips);
  const vocab = segments("Tokens", (/** @type {number} */ value) => actions.reshape({ vocab: value }));
  const gamma = segments("Draft length γ", (/** @type {number} */ value) => actions.reshape({ gamma: value }));
  const kind = segments("Rows", (/** @type {LabKind} */ value) => actions.reshape({ kind: value }));
  const words = h("p.hp-problem", { role: "alert" });
  const repair = button("Normalise", "scale the rows so that each sums to 1", actions.normalise);
  const rows = h("div.hf-rows");
  const element = card(
    "hf-inputs",
    "What the two models believe",
    "p: the target's next-token probabilities. q: the draft's. Drag, or type numbers such as 0.25 or 1/3.",
    presets,
    h("div.hf-choices", vocab.element, gamma.element, kind.element),
    h("div.hf-wrong", words, repair),
    rows,
  );
  let drawn = "";
  let cells = /** @type {LabCell[]} */ ([]);

  /** @param {{state: LabState, problems: LabProblem[], message: string, presetName: string | null}} shown */
  function update({ state, problems, message, presetName }) {
    const wanted = [state.kind, state.vocab, state.gamma].join();
    if (wanted !== drawn) {
      cells = [];
      rows.replaceChildren(...draw(state, actions, cells));
    }
    drawn = wanted;
    choose(state, { vocab, gamma, kind });
    for (const chip of chips) chip.setAttribute("aria-pressed", String(chip.dataset.preset === presetName));
    say(words, message);
    repair.hidden = !problems.length;
    const bad = new Set(problems.map(({ side, t }) => side + t));
    for (const cell of cells) cell.update(state, bad);
  }

  return { element, update };
}

/** The segmented choices; a link may have brought a larger value, which is then offered too. @param {LabState} state @param {Record<string, {element: HTMLElement, set: Function}>} controls */
function choose({ kind, vocab, gamma }, controls) {
  const upTo = (/** @type {number[]} */ list, /** @type {number} */ value) =>
    (list.includes(value) ? list : [...list, value]).map((n) => [n, String(n)]);
  const fixed = kind === "step";
  controls.vocab.set(vocab, upTo([2, 3, 4, 5], vocab));
  controls.gamma.set(gamma, upTo([1, 2, 3, 4], gamma));
  controls.kind.set(kind, [
    ["same", "same p and q at every position"],
    ["own", "own rows per position"],
  ]);
  controls.vocab.element.hidden = controls.gamma.element.hidden = controls.kind.element.hidden = fixed;
}

/** The rows; what in them follows the state is added to `cells`. @type {(state: LabState, actions: LabActions, cells: LabCell[]) => HTMLElement[]} */
function draw(state, actions, cells) {
  const side = (/** @type {LabSide} */ name, /** @type {number} */ t) =>
    t < state[name].length && !(state.kind === "step" && t === state.gamma) && row(state, name, t, actions, cells);
  const block = (/** @type {number} */ t) => h("div.hf-block", side("p", t), side("q", t));
  if (state.kind === "same") return [block(0)];
  return range(state.gamma + (state.kind === "own" ? 1 : 0)).map((t) => position(state, t, block(t), cells));
}

/** One position, folded: its rows in short, and the sliders when it is opened. @type {(state: LabState, t: number, block: HTMLElement, cells: LabCell[]) => HTMLElement} */
function position(state, t, block, cells) {
  const after = t === 0 ? "first token" : `after ${plural(t, "token")}`;
  const place = state.kind === "step" ? `${t + 1}. “${names(state, t)[0]}”` : after;
  const digest = h("span.hf-digest");
  const element = h("details.hf-position", { open: t === 0 }, h("summary", h("b", place), digest), block);
  const text = (/** @type {string[] | undefined} */ row) => row?.map((cell) => short(parse(cell))).join(" ");
  cells.push({
    update: (now, bad) => {
      const hasP = !(now.kind === "step" && t === now.gamma);
      const q = text(now.q[t]);
      say(digest, `${hasP ? `p${subscript(t)} ${text(now.p[t])}` : ""}${q ? ` · q${subscript(t)} ${q}` : ""}`);
      if (bad.has(`p${t}`) || bad.has(`q${t}`)) element.open = true;
    },
  });
  return element;
}

/** One distribution. @type {(state: LabState, side: LabSide, t: number, actions: LabActions, cells: LabCell[]) => HTMLElement} */
function row(state, side, t, actions, cells) {
  const name = rowName(state.kind, side, t);
  const lines = names(state, t).map((token, i) =>
    line(token, `${SIDES[side]} ${name}, ${token}`, { side, t, i }, actions, cells),
  );
  const element = h(
    "fieldset",
    { "class": `hf-row is-${side}${state.kind === "step" ? " is-long" : ""}`, "data-row": side + t },
    h("legend", `${SIDES[side]} ${name}`),
    lines,
  );
  cells.push({ update: (_, bad) => element.classList.toggle("is-bad", bad.has(side + t)) });
  return element;
}

/** One entry of a row: its slider and its number. A drag scales the others from where they stood when it began. @type {(token: string, label: string, place: LabPlace, actions: LabActions, cells: LabCell[]) => HTMLElement} */
function line(token, label, { side, t, i }, actions, cells) {
  let before = /** @type {number[] | null} */ (null);
  const range = slider(`${label}, slider`, {
    css: `is-${side}`,
    oninput: () => (before = actions.drag(side, t, i, Number(range.value), before)),
    onchange: () => (before = null),
  });
  const number = field(label, (text) => actions.cell(side, t, i, text), { inputmode: "text", maxlength: 40 });
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

// The first card: number of tokens, draft length, and every probability as a slider and as a number.
import { h } from "../kit/dom.js";
import { plural, short, subscript } from "../kit/format.js";
import { button, card, field, say, segments, setField, setSlider, slider } from "../kit/parts.js";
import { range } from "../rules/law.js";
import { names, parse, PRESETS, rowName } from "./state.js";

const SIDES = { p: "Target", q: "Draft" };

/** actions: preset(name), reshape(change), cell(side, t, i, text), drag(side, t, i, value, before), normalise(). */
function inputs(actions) {
  const chips = Object.entries(PRESETS).map(([name, { title }]) =>
    button(title, `start from: ${title}`, () => actions.preset(name), { "data-preset": name }),
  );
  const presets = h("div.hl-tools", { "role": "group", "aria-label": "Presets" }, chips);
  const vocab = segments("Tokens", (value) => actions.reshape({ vocab: value }));
  const gamma = segments("Draft length γ", (value) => actions.reshape({ gamma: value }));
  const kind = segments("Rows", (value) => actions.reshape({ kind: value }));
  const words = h("p.hp-problem", { role: "alert" });
  const repair = button("Normalise", "scale the rows so that each sums to 1", actions.normalise);
  const rows = h("div.hl-rows");
  const element = card(
    "hl-inputs",
    "What the two models believe",
    "p: the target's next-token probabilities. q: the draft's. Drag, or type numbers such as 0.25 or 1/3.",
    presets,
    h("div.hl-choices", vocab.element, gamma.element, kind.element),
    h("div.hl-wrong", words, repair),
    rows,
  );
  let drawn = "";
  let cells = [];

  function rebuild(state) {
    const built = draw(state, actions);
    rows.replaceChildren(...built.elements);
    cells = built.cells;
  }

  function update({ state, problems, message, presetName }) {
    const wanted = [state.kind, state.vocab, state.gamma].join();
    if (wanted !== drawn) rebuild(state);
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

/** The segmented choices; a link may have brought a larger value, which is then offered too. */
function choose({ kind, vocab, gamma }, controls) {
  const upTo = (list, value) => (list.includes(value) ? list : [...list, value]).map((n) => [n, String(n)]);
  const fixed = kind === "step";
  controls.vocab.set(vocab, upTo([2, 3, 4, 5], vocab));
  controls.gamma.set(gamma, upTo([1, 2, 3, 4], gamma));
  controls.kind.set(kind, [
    ["same", "same p and q at every position"],
    ["own", "own rows per position"],
  ]);
  controls.vocab.element.hidden = controls.gamma.element.hidden = controls.kind.element.hidden = fixed;
}

function draw(state, actions) {
  const cells = [];
  const known = (name, t) => t < state[name].length && !(state.kind === "step" && t === state.gamma);
  const side = (name, t) => known(name, t) && row(state, name, t, actions, cells);
  const block = (t) => h("div.hl-block", side("p", t), side("q", t));
  if (state.kind === "same") return { elements: [block(0)], cells };
  const count = state.kind === "step" ? state.gamma : state.gamma + 1;
  return { elements: range(count).map((t) => position(state, t, block(t), cells)), cells };
}

/** One position, folded: its rows in short, and the sliders when it is opened. */
function position(state, t, block, cells) {
  const after = t === 0 ? "first token" : `after ${plural(t, "token")}`;
  const place = state.kind === "step" ? `${t + 1}. “${names(state, t)[0]}”` : after;
  const digest = h("span.hl-digest");
  const element = h("details.hl-position", { open: t === 0 }, h("summary", h("b", place), digest), block);
  const text = (row) => (row ? row.map((cell) => short(parse(cell))).join(" ") : null);
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

function row(state, side, t, actions, cells) {
  const name = rowName(state.kind, side, t);
  const lines = names(state, t).map((token, i) =>
    line(token, `${SIDES[side]} ${name}, ${token}`, { side, t, i }, actions, cells),
  );
  const element = h(
    "fieldset",
    { "class": `hl-row is-${side}${state.kind === "step" ? " is-long" : ""}`, "data-row": side + t },
    h("legend", `${SIDES[side]} ${name}`),
    lines,
  );
  cells.push({ update: (_, bad) => element.classList.toggle("is-bad", bad.has(side + t)) });
  return element;
}

/** One entry of a row: its slider and its number. A drag scales the others from where they stood when it began. */
function line(token, label, { side, t, i }, actions, cells) {
  let before = null;
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
  return h("div.hl-line", h("span.hl-token", token), range, number);
}

export { inputs };

// The card with the fuzzy rule's settings: which divergence, how much of it may pass, and what decides beyond that.
import { h } from "../kit/dom.js";
import { facts } from "../kit/facts.js";
import { card, say, segments, setSlider, slider, unique } from "../kit/parts.js";
import { RANGE } from "./fuzzy.js";
import { excludedWords, modeWords, nearWords } from "./words.js";

const FORMULAS = facts.divergences.map(({ name, formula }) => [name, formula]);
const MODES = facts.modes.map(({ name, title }) => [name, title]);

/** actions: fuzzy(change). */
function tuning(actions) {
  const id = unique("tolerance");
  const divergence = segments("Divergence D", (value) => actions.fuzzy({ divergence: value }));
  const mode = segments("Where D > T", (value) => actions.fuzzy({ mode: value }));
  const tolerance = slider("tolerance T", {
    css: "is-tolerance",
    id,
    min: RANGE[0],
    max: RANGE[1],
    oninput: () => actions.fuzzy({ tolerance: Number(tolerance.value) }),
  });
  const number = h("output", { for: id });
  const lines = [nearWords, modeWords, excludedWords].map((words) => ({ words, element: h("p") }));
  const element = card(
    "hl-tuning",
    "FSD: how far from the target may a token be",
    "Where the two rows are near, D ≤ T, the draft's token passes, whatever it is. That is not lossless, by design.",
    h("div.hl-choices", divergence.element, mode.element),
    h("div.hl-tolerance", h("label", { for: id }, "Tolerance T"), tolerance, number),
    h(
      "div.hl-near",
      { "aria-live": "polite" },
      lines.map((one) => one.element),
    ),
  );

  function update({ valid, model }) {
    element.hidden = valid.rule !== "fuzzy";
    divergence.set(valid.fuzzy.divergence, FORMULAS);
    mode.set(valid.fuzzy.mode, MODES);
    say(number, String(valid.fuzzy.tolerance));
    setSlider(tolerance, valid.fuzzy.tolerance, number.textContent);
    for (const one of lines) say(one.element, one.words(model, valid.kind));
  }

  return { element, update };
}

export { tuning };

// The card with the settings of a rule that has some: its one number, and FSD's divergence and mode.
import { h } from "../kit/dom.js";
import { facts, rule as known } from "../kit/facts.js";
import { card, say, segments, setSlider, slider, unique } from "../kit/parts.js";
import { barWords, excludedWords, mixtureWords, modeWords, nearWords } from "./words.js";

const FORMULAS = facts.divergences.map(({ name, formula }) => [name, formula]);
const MODES = facts.modes.map(({ name, title }) => [name, title]);
const TOLD = {
  fuzzy: {
    title: "FSD: how far from the target may a token be",
    hint: "Where the two rows are near, D ≤ T, the draft's token passes, whatever it is. That is not lossless, by design.",
    lines: [nearWords, modeWords, excludedWords],
  },
  ensemble: {
    title: "Ensemble: how much of the draft stands in for the target",
    hint: "The classic test against (1 − w)·p + w·q in place of p: exact for that mixture, and not for the target.",
    lines: [mixtureWords],
  },
  typical: {
    title: "Typical acceptance: how likely must a token be",
    hint: "A token passes where p > min(ε, √ε·e⁻ᴴ), H being the entropy of the target's row. No coin, and q is not asked.",
    lines: [barWords],
  },
};

/** actions: settings(change). */
function tuning(actions) {
  const id = unique("knob");
  const divergence = segments("Divergence D", (value) => actions.settings({ divergence: value }));
  const mode = segments("Where D > T", (value) => actions.settings({ mode: value }));
  const choices = h("div.hl-choices", divergence.element, mode.element);
  let knob = null;
  const number = slider("", {
    css: "is-knob",
    id,
    oninput: () => actions.settings({ [knob.option]: Number(number.value) }),
  });
  const label = h("label", { for: id });
  const text = h("output", { for: id });
  const lines = h("div.hl-near", { "aria-live": "polite" });
  const element = card("hl-tuning", " ", " ", choices, h("div.hl-knob", label, number, text), lines);
  const [title, hint] = [".hp-title", ".hp-hint"].map((one) => element.querySelector(one));

  function update({ valid, model }) {
    const { rule, settings, kind } = valid;
    knob = known(rule).knob;
    element.hidden = !knob;
    if (!knob) return;
    const told = TOLD[rule];
    element.setAttribute("aria-label", told.title);
    say(title, told.title);
    say(hint, told.hint);
    choices.hidden = rule !== "fuzzy";
    divergence.set(settings.divergence, FORMULAS);
    mode.set(settings.mode, MODES);
    say(label, `${knob.title} ${knob.sign}`);
    say(text, String(settings[knob.option]));
    Object.assign(number, { min: knob.low, max: knob.high, ariaLabel: `${knob.title} ${knob.sign}` });
    setSlider(number, settings[knob.option], text.textContent);
    while (lines.children.length < told.lines.length) lines.append(h("p"));
    while (lines.children.length > told.lines.length) lines.lastChild.remove();
    told.lines.forEach((words, i) => say(lines.children[i], words(model, kind)));
  }

  return { element, update };
}

export { tuning };

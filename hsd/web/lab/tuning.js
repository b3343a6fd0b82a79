// The card with the settings of a rule that has some: its one number, FSD's divergence and mode, what follows typical ones.
import { h } from "../kit/dom.js";
import { facts, rule as known } from "../kit/facts.js";
import { card, say, segments, setSlider, slider, unique } from "../kit/parts.js";
import { forms, recipeOf } from "../rules/tests.js";
import { barWords, excludedWords, mixtureWords, modeWords, nearWords } from "./words.js";

const FORMULAS = facts.divergences.map(({ name, formula }) => [name, formula]);
const MODES = facts.modes.map(({ name, title }) => [name, title]);
const AFTER = facts.options.properties.after_kept;
const AFTERS = AFTER.oneOf.map(({ const: name, title }) => [name, title]);

/** What the numbers of the model say of a rule with these settings: functions of (model, kind). */
function linesOf(name, settings) {
  if (known(name).by_divergence) return [nearWords, modeWords, excludedWords];
  const [form] = recipeOf(name, settings).each.map((one) => forms[one]);
  if (!form.coin) return [(model, kind) => barWords(model, kind, form.when)];
  return Object.values(form.along).includes("draft_weight") ? [mixtureWords] : [];
}

/** actions: settings(change). */
function tuning(actions) {
  const id = unique("knob");
  const divergence = segments("Divergence D", (value) => actions.settings({ divergence: value }));
  const mode = segments("Where D > T", (value) => actions.settings({ mode: value }));
  const after = segments(AFTER.title, (value) => actions.settings({ after_kept: value }));
  const choices = h("div.hl-choices", divergence.element, mode.element, after.element);
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
    const { head, term, by_divergence: byDivergence, modes } = known(rule);
    const follows = AFTERS.some(([name]) => modes[name]);
    const told = linesOf(rule, settings);
    element.setAttribute("aria-label", `${head}: ${knob.title.toLowerCase()}`);
    say(title, `${head}: ${knob.title.toLowerCase()}`);
    say(hint, term ? facts.glossary[term].words : knob.words);
    choices.hidden = !byDivergence && !follows;
    for (const { element: one } of [divergence, mode]) one.hidden = !byDivergence;
    after.element.hidden = !follows;
    divergence.set(settings.divergence, FORMULAS);
    mode.set(settings.mode, MODES);
    after.set(settings.after_kept, AFTERS);
    say(label, `${knob.title} ${knob.sign}`);
    say(text, String(settings[knob.option]));
    Object.assign(number, { min: knob.low, max: knob.high, ariaLabel: `${knob.title} ${knob.sign}` });
    setSlider(number, settings[knob.option], text.textContent);
    while (lines.children.length < told.length) lines.append(h("p"));
    while (lines.children.length > told.length) lines.lastChild.remove();
    told.forEach((words, i) => say(lines.children[i], words(model, kind)));
  }

  return { element, update };
}

export { tuning };

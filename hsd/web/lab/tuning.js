// The card with the settings of a rule that has some: its one number, FSD's divergence and mode,
// what follows typical ones.
import { find, h } from "../kit/dom.js";
import { facts, rule as known } from "../kit/facts.js";
import { card, say, segments, setSlider, slider, unique } from "../kit/controls.js";
import { chainRecipe, forms } from "../rules/tests.js";
import { barWords, excludedWords, mixtureWords, modeWords, nearWords } from "./words.js";

/** @typedef {[string, string][]} Options values, and their words */

/** @type {Options} */
const FORMULAS = facts.divergences.map(({ name, formula }) => [name, formula]);
/** @type {Options} */
const MODES = facts.modes.map(({ name, title }) => [name, title]);
const AFTER = facts.options.properties.after_kept;
/** @type {Options} */
const AFTERS = (AFTER.oneOf ?? []).map(({ const: name, title }) => [name, title]);

/**
 * The functions that write the sentences about a rule with these settings.
 * @type {(name: string, settings: Settings) => ((model: LabModel, kind: LabKind) => string)[]}
 */
function linesOf(name, settings) {
  if (known(name).by_divergence) return [nearWords, modeWords, excludedWords];
  const form = forms[chainRecipe(name, settings).each[0]];
  if (!form.coin) return [(model, kind) => barWords(model, kind, form.when)];
  return Object.values(form.along).includes("draft_weight") ? [mixtureWords] : [];
}

/** The card. @param {LabActions} actions */
function tuning(actions) {
  const id = unique("knob");
  const choice = (/** @type {string} */ title, /** @type {string} */ name) =>
    segments(title, (/** @type {string} */ value) => actions.settings({ [name]: value }));
  const divergence = choice("Divergence D", "divergence");
  const mode = choice("Where D > T", "mode");
  const after = choice(AFTER.title, "after_kept");
  const choices = h("div.hf-choices", divergence.element, mode.element, after.element);
  let option = ""; // that the slider sets
  const number = slider("", { css: "is-knob", id });
  number.addEventListener("input", () => actions.settings({ [option]: Number(number.value) }));
  const label = h("label", { for: id });
  const text = h("output", { for: id });
  const lines = h("div.hf-near", { "aria-live": "polite" });
  const slide = h("div.hf-knob", label, number, text);
  const element = card("hf-tuning", " ", " ", choices, slide, lines);
  const title = find(".hp-title", element);
  const hint = find(".hp-hint", element);

  function update(/** @type {LabDraftView} */ { valid, model }) {
    const { rule, settings, kind } = valid;
    const { knob, capitalised_name, term, by_divergence: byDivergence, modes } = known(rule);
    element.hidden = !knob;
    if (!knob) return;
    option = knob.option;
    const follows = AFTERS.some(([name]) => modes[name]);
    const heading = `${capitalised_name}: ${knob.title.toLowerCase()}`;
    element.setAttribute("aria-label", heading);
    say(title, heading);
    say(hint, term ? facts.glossary[term].words : knob.words);
    choices.hidden = !byDivergence && !follows;
    divergence.element.hidden = !byDivergence;
    mode.element.hidden = !byDivergence;
    after.element.hidden = !follows;
    divergence.set(settings.divergence, FORMULAS);
    mode.set(settings.mode, MODES);
    after.set(settings.after_kept, AFTERS);
    const name = `${knob.title} ${knob.sign}`;
    const value = settings[option];
    say(label, name);
    say(text, String(value));
    Object.assign(number, { min: knob.low, max: knob.high, ariaLabel: name });
    setSlider(number, value, text.textContent);
    const sentences = linesOf(rule, settings);
    const { children } = lines;
    while (children.length < sentences.length) lines.append(h("p"));
    while (children.length > sentences.length) lines.lastChild?.remove();
    sentences.forEach((words, i) => say(children[i], words(model, kind)));
  }

  return { element, update };
}

export { tuning };

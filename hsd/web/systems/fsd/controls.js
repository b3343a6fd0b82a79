// The FSD panel's settings: what to open, which divergence, how much may pass, and the run's own values.
import { why } from "../../answers/answers.js";
import { h } from "../../kit/dom.js";
import { percent } from "../../kit/format.js";
import { card, field, say, setField, setSlider } from "../../kit/parts.js";
import { area, choice, div, p, problem, runBar, slider, titles } from "../parts.js";
import { DIVERGENCES, GROUNDS, MODES, TEXTS } from "./model.js";
import * as words from "./words.js";

/** actions: open(name), change(values), share(index), run(), cancel(), copy(). presets: [{name, title}]. */
function controls({ presets, shares }, actions) {
  const { change } = actions;
  const opened = choice("Recorded", titles(presets), actions.open);
  const text = choice("Text", words.TEXT_NAMES, (value) => change({ text: value, prompt: TEXTS[value] }));
  const divergence = choice("Divergence D", DIVERGENCES, (value) => change({ divergence: value }));
  const mode = choice("Mode", MODES, (value) => change({ mode: value }));
  const on = choice("Rows", GROUNDS, (value) => change({ on: value }));
  const prompt = area("prompt", 2, (value) => change({ prompt: value }));
  const [temperature, seed, tolerance] = ["temperature", "seed", "tolerance"].map((name) => {
    const input = field(name, (value) => change({ [name]: value }));
    input.dataset.field = name;
    return input;
  });
  const labelled = (name, input) => h("label", { class: "hp-note sy-labelled" }, name, input);
  const bar = runBar(actions, labelled("temperature", temperature), labelled("seed", seed));
  const range = slider("Accept this share of what would be rejected", [0, shares.length - 1, 1], (value) =>
    actions.share(Number(value)),
  );
  range.id = "fs-share";
  const accepted = h("output", { class: "sy-figure", for: range.id });
  const share = [
    h("label", { class: "hp-note sy-labelled", for: range.id }, "Accept of what would be rejected"),
    range,
    accepted,
    labelled("T", tolerance),
  ];
  const [about, meaning, calibrated] = [p("hp-hint fs-why"), p("hp-hint"), p("hp-hint fs-calibration")];
  const wrong = problem();
  const element = card(
    "sy-fsd",
    "FSD: a token may pass because the two rows are close",
    "Fuzzy speculative decoding keeps a drafted token, whatever it is, where the divergence D of the two rows is at " +
      "most the tolerance T. Not lossless, by design: quality for speed.",
    opened.element,
    about,
    div("fs-settings", divergence.element, mode.element, on.element),
    meaning,
    div("fs-passing", div("fs-share", share), calibrated),
    div("fs-own", !why("levels") && [text.element, prompt.element], bar.element),
    wrong.element,
  );

  /** share: the one that the tolerance accepts, null where it is no number. */
  function update({ state, runs, share: current, calibration }) {
    opened.set(runs.name);
    say(
      about,
      runs.name && !why("levels") ? `${runs.about} Change a setting and press Run to decode anew.` : runs.about,
    );
    text.set(state.text);
    divergence.set(state.divergence);
    mode.set(state.mode);
    on.set(state.on);
    say(meaning, `${words.MEANING[state.divergence]} ${words.MODE[state.mode]}`);
    say(accepted, current === null ? "–" : current ? percent(current) : "0 %");
    setSlider(range, current === null ? 0 : shares.indexOf(current), accepted.textContent);
    say(calibrated, calibration);
    setField(tolerance, state.tolerance);
    setField(temperature, state.temperature);
    setField(seed, state.seed);
    prompt.set(state.prompt);
    bar.update(runs);
    wrong.say(runs.problem);
  }

  return { element, update };
}

export { controls };

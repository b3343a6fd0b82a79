// The FSD panel's settings: what to open, which divergence, how much may pass, and the run's own values.
import { percent } from "../kit/format.js";
import { DIVERGENCES, GROUNDS, MODES, TEXTS } from "./fsd_model.js";
import * as words from "./fsd_words.js";
import { button, card, field, h, say, setField, setSlider, slider, unique } from "./parts.js";

/** A row of buttons of which one is pressed: {element, set(value)}. */
function choice(name, values, choose) {
  const made = Object.entries(values).map(([value, title]) =>
    button(title, title, () => choose(value), { "data-value": value, "aria-pressed": "false" }),
  );
  const label = h("span", { class: "sy-labelled" }, name);
  const element = h(
    "div",
    { "class": "sy-row fs-choice", "role": "group", "aria-label": name, "data-choice": name },
    label,
    made,
  );
  const set = (value) => made.forEach((one) => one.setAttribute("aria-pressed", String(one.dataset.value === value)));
  return { element, set };
}

const titles = (table) => Object.fromEntries(Object.entries(table).map(([name, { title }]) => [name, title]));

/** actions: open(name), change(values), share(index), run(), cancel(), copy(). recorded: [{name, title, why}]. */
function controls({ recorded, shares }, actions) {
  const opened = choice("Recorded", Object.fromEntries(recorded.map((one) => [one.name, one.title])), actions.open);
  const why = h("p", { class: "sy-hint fs-why" });
  const text = choice("Text", titles(TEXTS), (value) => actions.change({ text: value, prompt: TEXTS[value].prompt }));
  const divergence = choice("Divergence D", DIVERGENCES, (value) => actions.change({ divergence: value }));
  const mode = choice("Mode", MODES, (value) => actions.change({ mode: value }));
  const on = choice("D of", GROUNDS, (value) => actions.change({ on: value }));
  const meaning = h("p", { class: "sy-hint" });
  const tolerance = passing(shares, actions);
  const own = ownRun(actions);
  const problem = h("p", { class: "sy-problem", role: "alert", hidden: true });
  const element = card(
    "fsd",
    "FSD: a token may pass because the two rows are near",
    "Fuzzy speculative decoding keeps a drafted token, whatever it is, where the divergence D of the two rows is at most the tolerance T. Not lossless, by design: quality for speed.",
    opened.element,
    why,
    h("div", { class: "fs-settings" }, divergence.element, mode.element, on.element),
    meaning,
    tolerance.element,
    h("div", { class: "fs-own" }, text.element, own.element),
    problem,
  );

  function update({ state, name, share, calibration, busy, message }) {
    opened.set(name);
    const shown = recorded.find((one) => one.name === name);
    say(why, shown ? shown.why : "");
    why.hidden = !shown;
    text.set(state.text);
    divergence.set(state.divergence);
    mode.set(state.mode);
    on.set(state.on);
    say(meaning, `${words.MEANING[state.divergence]} ${words.MODE[state.mode]}`);
    tolerance.update(state, share, calibration);
    own.update(state, busy);
    problem.hidden = !message;
    say(problem, message);
  }

  return { element, update };
}

/** The tolerance, as a number and as the share of what would be rejected that it accepts. */
function passing(shares, { change, share }) {
  const id = unique("share");
  const range = slider(
    "Accept this share of what would be rejected",
    { id, min: 0, max: shares.length - 1, step: 1 },
    () => share(Number(range.value)),
  );
  const number = field("tolerance T", (value) => change({ tolerance: value }));
  number.dataset.field = "tolerance";
  const said = h("output", { class: "sy-figure", for: id });
  const hint = h("p", { class: "sy-hint fs-calibration" });
  const element = h(
    "div",
    { class: "fs-passing" },
    h(
      "div",
      { class: "fs-share" },
      h("label", { class: "sy-labelled", for: id }, "Accept of what would be rejected"),
      range,
      said,
      h("label", { class: "sy-labelled" }, "T", number),
    ),
    hint,
  );

  function update(state, current, calibration) {
    const index = current === null ? 0 : shares.indexOf(current);
    const words = current === null ? "–" : percent(current) === "0" ? "0 %" : percent(current);
    setSlider(range, index, words);
    say(said, words);
    setField(number, state.tolerance);
    say(hint, calibration);
  }

  return { element, update };
}

function ownRun({ change, run, cancel, copy }) {
  const prompt = h("textarea", {
    "class": "fs-prompt",
    "rows": 2,
    "maxlength": 2000,
    "aria-label": "prompt",
    "oninput": () => change({ prompt: prompt.value }),
  });
  const temperature = field("temperature", (value) => change({ temperature: value }));
  const seed = field("seed", (value) => change({ seed: value }));
  const start = button("Run", "decode this prompt with these settings", run, { class: "hp-button fs-run" });
  const stop = button("Cancel", "end the run after its current step", cancel, { disabled: true });
  const element = h(
    "div",
    { class: "fs-live" },
    prompt,
    h(
      "div",
      { class: "sy-row" },
      h("label", { class: "sy-labelled" }, "temperature", temperature),
      h("label", { class: "sy-labelled" }, "seed", seed),
      start,
      stop,
      button("Copy link", "copy the link of what is shown", copy),
    ),
  );

  function update(state, busy) {
    if (prompt !== document.activeElement && prompt.value !== state.prompt) prompt.value = state.prompt;
    setField(temperature, state.temperature);
    setField(seed, state.seed);
    stop.disabled = !busy;
  }

  return { element, update };
}

export { choice, controls };

// A guess before the answer: a choice, or a slider. guess(lesson, given, answered) draws it; `answered({value, right})`
// hears of it once. given: what was guessed earlier, or null.
import { h, plain, prose } from "../kit/dom.js";
import { number } from "../kit/format.js";
import { button, setSlider, slider } from "../kit/parts.js";

function guess(lesson, given, answered) {
  return lesson.guess.options ? choice(lesson, given, answered) : slide(lesson, given, answered);
}

function choice({ ask, guess: { options, right } }, given, answered) {
  const one = (words, i) => {
    const sign = given === null ? "" : i === right ? "✓ " : i === given.value ? "✕ " : "";
    const css = sign && (i === right ? "is-right" : "is-wrong");
    const choose = () => answered({ value: i, right: i === right });
    return h(
      "button.hp-button.ln-option",
      { type: "button", class: css, disabled: given !== null, onclick: choose },
      sign,
      prose(words),
    );
  };
  return h("div.ln-options", { "role": "group", "aria-label": plain(ask) }, options.map(one));
}

function slide({ ask, guess: { low, high, by, unit, right, close } }, given, answered) {
  const words = (x) => `${number(x)} ${unit}`.trim();
  const start = given === null ? (low + high) / 2 : given.value;
  const told = h("output.ln-told", words(start));
  const input = slider(plain(ask), { min: low, max: high, step: by, value: start, disabled: given !== null });
  const set = () => {
    setSlider(input, Number(input.value), words(Number(input.value)));
    told.textContent = words(Number(input.value));
  };
  input.addEventListener("input", set);
  set();
  const settle = () => {
    const value = Number(input.value);
    answered({ value, right: Math.abs(value - right) <= close });
  };
  const mark = h("i.ln-right", { style: `--at:${(right - low) / (high - low)}` });
  const done = given === null ? button("That is my guess", "see the answer", settle) : null;
  const verdict = given === null ? null : h("span.ln-verdict", given.right ? "✓ near enough" : "✕ not near");
  return h("div.ln-slide", h("div.ln-rail", input, given === null ? null : mark), told, done, verdict);
}

/** The choices of a guess as text, where nothing can be clicked. */
function choices({ guess: { options } }) {
  return options
    ? h(
        "ul.ln-choices",
        options.map((words) => h("li", prose(words))),
      )
    : null;
}

export { guess, choices };

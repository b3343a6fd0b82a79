// A guess before the answer: a choice, or a slider.
import { h, plain, prose } from "../kit/dom.js";
import { number } from "../kit/format.js";
import { button, setSlider, slider } from "../kit/parts.js";

/** Draw a guess. given: what was guessed earlier, or null; answered: hears of the guess, once. @type {DrawGuess} */
function guess(lesson, given, answered) {
  return lesson.guess.options ? choice(lesson, given, answered) : slide(lesson, given, answered);
}

/** @type {DrawGuess} */
function choice({ ask, guess: { options = [], right } }, given, answered) {
  const one = (/** @type {Part[]} */ words, /** @type {number} */ i) => {
    const sign = given === null ? "" : i === right ? "✓ " : i === given.value ? "✕ " : "";
    const css = sign && (i === right ? "is-right" : "is-wrong");
    const choose = () => answered({ value: i, right: i === right });
    const attributes = { type: "button", class: css, disabled: given !== null, onclick: choose };
    return h("button.hp-button.hf-guess", attributes, sign, prose(words));
  };
  return h("div.hf-guesses", { "role": "group", "aria-label": plain(ask) }, options.map(one));
}

/** @type {DrawGuess} */
function slide({ ask, guess: { low = 0, high = 1, by, unit, right, close = 0 } }, given, answered) {
  const words = (/** @type {number} */ x) => `${number(x)} ${unit}`.trim();
  const start = given === null ? (low + high) / 2 : given.value;
  const told = h("output.hf-told", words(start));
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
  const mark = h("i.hf-right", { style: `--at:${(right - low) / (high - low)}` });
  const done = given === null ? button("That is my guess", "see the answer", settle) : null;
  const verdict = given === null ? null : h("span.hf-verdict", given.right ? "✓ near enough" : "✕ not near");
  return h("div.hf-slide", h("div.hf-rail", input, given === null ? null : mark), told, done, verdict);
}

/** The choices of a guess as text, where nothing can be clicked. @param {Lesson} lesson */
function choices({ guess: { options } }) {
  const items = options?.map((words) => h("li", prose(words)));
  return items ? h("ul.hf-choices", items) : null;
}

export { guess, choices };

// A guess before the answer: a choice, or a slider.
import { h, plain, prose } from "../kit/dom.js";
import { number } from "../kit/format.js";
import { button, setSlider, slider } from "../kit/controls.js";

/** @typedef {(guess: Guess) => void} Answered */
/** @typedef {(lesson: Lesson, given: Guess | null, answered: Answered) => HTMLElement} DrawGuess */

/**
 * Draw the guess of a lesson. given: the guess that was made before, or null; answered(guess) is
 * called once.
 * @type {DrawGuess}
 */
function guess(lesson, given, answered) {
  return lesson.guess.options ? choice(lesson, given, answered) : slide(lesson, given, answered);
}

/** @type {DrawGuess} */
function choice({ ask, guess: { options = [], right } }, given, answered) {
  const option = (/** @type {Part[]} */ words, /** @type {number} */ i) => {
    let sign = "";
    let css = "";
    if (given !== null && i === right) {
      sign = "✓ ";
      css = "is-right";
    } else if (given !== null && i === given.value) {
      sign = "✕ ";
      css = "is-wrong";
    }
    const attributes = {
      type: "button",
      class: css,
      disabled: given !== null,
      onclick: () => answered({ value: i, right: i === right }),
    };
    return h("button.hp-button.hf-guess", attributes, sign, prose(words));
  };
  return h("div.hf-guesses", { "role": "group", "aria-label": plain(ask) }, options.map(option));
}

/** @type {DrawGuess} */
function slide({ ask, guess: range }, given, answered) {
  const { low = 0, high = 1, by, unit, right, close = 0 } = range;
  const words = (/** @type {number} */ x) => `${number(x)} ${unit}`.trim();
  const start = given === null ? (low + high) / 2 : given.value;
  const output = h("output.hf-told", words(start));
  const input = slider(plain(ask), {
    min: low,
    max: high,
    step: by,
    value: start,
    disabled: given !== null,
  });
  const set = () => {
    setSlider(input, Number(input.value), words(Number(input.value)));
    output.textContent = words(Number(input.value));
  };
  input.addEventListener("input", set);
  set();
  const settle = () => {
    const value = Number(input.value);
    answered({ value, right: Math.abs(value - right) <= close });
  };
  if (given === null) {
    const done = button("That is my guess", "see the answer", settle);
    return h("div.hp-row.hf-slide", h("div.hf-rail", input), output, done);
  }
  const mark = h("i.hf-right", { style: `--at:${(right - low) / (high - low)}` });
  const verdict = h("span.hf-verdict", given.right ? "✓ near enough" : "✕ not near");
  return h("div.hp-row.hf-slide", h("div.hf-rail", input, mark), output, verdict);
}

/** The choices of a guess as text, where nothing can be clicked. @param {Lesson} lesson */
function choices({ guess: { options } }) {
  const items = options?.map((words) => h("li", prose(words)));
  return items ? h("ul.hf-choices", items) : null;
}

export { guess, choices };

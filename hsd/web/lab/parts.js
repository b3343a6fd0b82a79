// Small pieces that several cards share: cards, segmented choices, hatches, bars. All elements come from the player's dom.js.
import { h, s } from "../kit/dom.js";

let serial = 0;

const unique = (name) => `hl-${name}-${(serial += 1)}`;

/** A card: one idea, a title and one line about it. */
function card(name, title, hint, ...children) {
  const id = unique("title");
  return h(
    "section",
    { "class": `hl-card hl-${name}`, "aria-labelledby": id },
    h(
      "header",
      { class: "hl-head" },
      h("h3", { class: "hl-title", id }, title),
      hint && h("p", { class: "hl-hint" }, hint),
    ),
    children,
  );
}

const button = (words, title, onclick, attributes = {}) =>
  h("button", { type: "button", class: "hl-button", title, onclick, ...attributes }, words);

/** A row of radio buttons: {element, set(value, options)}. Options are [value, words]; it is drawn anew if they change. */
function segments(legend, onchange) {
  const name = unique("choice");
  const box = h("div", { class: "hl-segments" });
  const element = h("fieldset", { class: "hl-choice" }, h("legend", {}, legend), box);
  let drawn = "";
  const one = ([value, words]) => {
    const input = h("input", { type: "radio", name, value, onchange: () => onchange(value) });
    return h("label", { class: "hl-segment" }, input, h("span", {}, words));
  };
  const set = (value, options) => {
    const wanted = JSON.stringify(options);
    if (wanted !== drawn) box.replaceChildren(...options.map(one));
    drawn = wanted;
    for (const input of box.querySelectorAll("input")) input.checked = input.value === String(value);
  };
  return { element, set };
}

/** A slider, from 0 to 1 unless told otherwise, whose track is filled up to its value. */
function slider(label, css, { min = 0, max = 1, ...handlers }) {
  const step = 0.01;
  return h("input", { "type": "range", "class": `hl-slider ${css}`, min, max, step, "aria-label": label, ...handlers });
}

function setSlider(input, value) {
  if (input.value !== String(value)) input.value = String(value);
  input.style.setProperty("--at", String(Math.min(Math.max(value || 0, 0), 1)));
  input.setAttribute("aria-valuetext", Number((value || 0).toFixed(3)));
}

/** Set text only where it changed, so that a screen reader hears of changes only. */
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export { h, s, card, button, segments, slider, setSlider, say, unique };

// The transport of a run with levels: moment by moment, from target call to target call, one cell per target call.
import * as dom from "../kit/dom.js";
import * as format from "../kit/format.js";
import { button as kitButton } from "../kit/parts.js";
import * as transport from "../player/transport.js";
import { h } from "./parts.js";

const KEYS = "Bars: tokens gained per target call. ← → moment · n p target call · Space play";

/** actions: first, back, play, forward, last, previousCall, nextCall, go(step). */
function create(actions) {
  const { play, place, speed, cells } = transport.parts(actions, "lv-cells");
  cells.setAttribute("aria-label", "target call");
  const button = (name, title, action, attributes) => kitButton(dom.icon(name), title, action, attributes);
  const element = h(
    "div",
    { "class": "lv-transport", "role": "group", "aria-label": "Moments" },
    h(
      "div",
      { class: "hp-bar" },
      h(
        "div",
        { class: "hp-buttons" },
        button("first", "first moment (Home)", actions.first),
        button("back", "one moment back (←)", actions.back),
        play,
        button("forward", "one moment forward (→)", actions.forward),
        button("last", "last moment (End)", actions.last),
      ),
      kitButton("‹ target call", "previous target call (p)", actions.previousCall, { class: "hp-button lv-call" }),
      kitButton("target call ›", "next target call (n)", actions.nextCall, { class: "hp-button lv-call" }),
      place,
      h("span", { class: "hp-grow" }),
      speed,
    ),
    cells,
    h("p", { class: "sy-hint lv-keys" }, KEYS),
  );
  let shown = [];
  let tallest = 1;

  function load(steps) {
    shown = [];
    cells.replaceChildren();
    extend(steps);
  }

  /** Append cells of the steps that are new. */
  function extend(steps) {
    const most = Math.max(1, ...steps.map((step) => step.committed.length));
    if (most > tallest) shown = [];
    tallest = Math.max(tallest, most);
    for (let i = shown.length; i < steps.length; i += 1) shown.push(cell(steps[i], i, tallest));
    cells.replaceChildren(...shown);
    cells.classList.toggle("is-dense", shown.length > 60);
  }

  /** at: the moment's index; all: how many there are. */
  function select(steps, moment, at, all) {
    shown.forEach((one, i) => one.classList.toggle("is-now", i === moment.step));
    place.textContent = `moment ${at + 1}/${all}, target call ${moment.step + 1}/${steps.length}`;
    cells.setAttribute("aria-valuemax", String(Math.max(1, steps.length)));
    cells.setAttribute("aria-valuenow", String(moment.step + 1));
    cells.setAttribute("aria-valuetext", place.textContent);
    const now = shown[moment.step];
    if (now) dom.afterLayout(() => (cells.scrollLeft = now.offsetLeft - cells.clientWidth / 2));
  }

  function playing(on) {
    play.replaceChildren(dom.icon(on ? "pause" : "play"));
    play.setAttribute("aria-label", on ? "pause (Space)" : "play (Space)");
    play.title = play.getAttribute("aria-label");
    play.setAttribute("aria-pressed", String(on));
  }

  return { element, load, extend, select, playing, speed: () => Number(speed.value) };
}

function cell(step, index, tallest) {
  const share = (n) => `height:${(100 * n) / tallest}%`;
  const own = step.committed.length - step.kept;
  const origin = own > 0 ? step.committed[step.kept].origin : "bonus";
  const gained = format.plural(step.committed.length, "token");
  const title = `target call ${index + 1}: ${gained}, kept ${step.kept} of ${step.drafted}`;
  return h(
    "div",
    { "class": "hp-cell", "data-step": index, title },
    h(
      "div",
      { class: "hp-column" },
      own > 0 ? h("div", { class: `hp-gain is-${origin}`, style: share(own) }) : null,
      h("div", { class: "hp-gain is-draft", style: share(step.kept) }),
    ),
  );
}

export { create };

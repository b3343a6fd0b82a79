// The bar for moving through a run: buttons, place, speed, and one cell per step, whose bars are tokens gained.
import { afterLayout, h, icon } from "./dom.js";
import { button } from "./parts.js";

const SPEEDS = [0.5, 1, 2, 4];
const DENSE = 60; // cells from which on they are narrow

/**
 * actions: first, back, forward, last, go(index). beat(): go to the next place while it plays; returns whether there is more.
 * starts(): playing begins. pace(): milliseconds until the next beat at speed 1. unit: what one moves by; of: what a
 * cell is; buttons: [icon, title, action] in place of the usual ones, beside the one that plays.
 * before, after: what stands left and right in the bar; hint: its keys in words. css: more classes of the cells.
 */
function transport({ actions, beat, starts, pace, unit = "step", of = unit, buttons, before, after, hint, css = "" }) {
  let timer = null;
  let shown = [];
  let now = null;
  const play = button(icon("play"), "play (Space)", () => toggle(), { class: "hp-play" });
  const place = h("output.hp-place");
  const speed = h(
    "select.hp-speed",
    { "aria-label": "speed", "title": "speed" },
    SPEEDS.map((x) => h("option", { value: x, selected: x === 1 }, `${x}×`)),
  );
  const cells = h("div", {
    "class": `hp-cells ${css}`.trim(),
    "role": "slider",
    "tabindex": "0",
    "aria-label": of,
    "aria-valuemin": 1,
    "onclick": (event) => jump(event),
  });
  const usual = [
    ["first", `first ${unit} (Home)`, actions.first],
    ["back", `one ${unit} back (←)`, actions.back],
    ["forward", `one ${unit} forward (→)`, actions.forward],
    ["last", `last ${unit} (End)`, actions.last],
  ];
  const around = (buttons || usual).map(([sign, title, action]) => button(icon(sign), title, action));
  const bar = h(
    "div.hp-bar",
    h("div.hp-buttons", around.slice(0, 2), play, around.slice(2)),
    before,
    place,
    hint && h("span.hp-hint.hp-keyhint", hint),
    h("span.hp-grow"),
    after,
    speed,
  );

  function jump(event) {
    const cell = event.target.closest("[data-step]");
    if (cell) actions.go(Number(cell.dataset.step));
  }

  // ---- cells

  /** Show these cells, which take the place of the old ones; those that are there already stay. */
  function fill(elements) {
    const kept = shown.every((one, i) => one === elements[i]);
    if (kept) cells.append(...elements.slice(shown.length));
    else cells.replaceChildren(...elements);
    shown = [...elements];
    cells.classList.toggle("is-dense", shown.length > DENSE);
  }

  /** Mark a cell, and say where one is. */
  function select(index, words) {
    if (now) now.classList.remove("is-now");
    now = shown[index] || null;
    if (now) now.classList.add("is-now");
    place.textContent = words;
    cells.setAttribute("aria-valuemax", String(Math.max(shown.length, 1)));
    cells.setAttribute("aria-valuenow", String(index + 1));
    cells.setAttribute("aria-valuetext", words);
    const wanted = now;
    if (wanted) afterLayout(() => (cells.scrollLeft = wanted.offsetLeft - cells.clientWidth / 2));
  }

  // ---- playing

  function wait() {
    timer = setTimeout(() => (beat() ? wait() : pause()), pace() / Number(speed.value));
  }

  function start() {
    if (timer) return;
    starts();
    wait();
    sign(true);
  }

  function pause() {
    clearTimeout(timer);
    timer = null;
    sign(false);
  }

  const toggle = () => (timer ? pause() : start());

  function sign(on) {
    play.replaceChildren(icon(on ? "pause" : "play"));
    play.title = on ? "pause (Space)" : "play (Space)";
    play.setAttribute("aria-label", play.title);
    play.setAttribute("aria-pressed", String(on));
  }

  return { bar, cells, fill, select, start, pause, toggle, playing: () => timer !== null };
}

/** A cell of step `index`. */
const cell = (index, title, css, ...children) =>
  h("div", { "class": `hp-cell ${css}`.trim(), "data-step": index, title }, children);

/** The bar of a step: what it kept of the draft, and over it what the target added. tallest: tokens of a whole bar. */
function gains({ kept, committed }, tallest) {
  const own = committed.length - kept;
  const origin = own > 0 ? committed[kept].origin : "bonus";
  const share = (n) => `height:${(100 * n) / tallest}%`;
  return h(
    "div.hp-column",
    own > 0 ? h("div", { class: `hp-gain is-${origin}`, style: share(own) }) : null,
    h("div.hp-gain.is-draft", { style: share(kept) }),
  );
}

export { transport, cell, gains };

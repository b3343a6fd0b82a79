// The bar for moving through a run: buttons, place, speed, and one cell per step, whose bars are tokens gained.
import { afterLayout, h, icon, targetOf } from "../kit/dom.js";
import { button } from "../kit/parts.js";

const SPEEDS = [0.5, 1, 2, 4];
const DENSE = 60; // cells from which on they are narrow

/**
 * The bar of a run that is moved through. go: to a step; beat: go to the next place while it plays, and return whether there
 * is more; starts: playing begins; pace: milliseconds until the next beat at speed 1; buttons: icon, title and action, two on
 * either side of the one that plays; before, after: what stands left and right in the bar.
 * @param {{go: (step: number) => void, beat: () => boolean, starts: () => void, pace: () => number,
 *   buttons: [string, string, () => void][], before: Element, after: Element[]}} options
 */
function transport({ go, beat, starts, pace, buttons, before, after }) {
  let timer = 0;
  let shown = /** @type {HTMLElement[]} */ ([]);
  let now = /** @type {HTMLElement | null} */ (null);
  const play = button(icon("play"), "play (Space)", () => toggle(), { class: "hp-play" });
  const place = h("output.hp-place");
  const speed = h(
    "select.hp-speed",
    { "aria-label": "speed", "title": "speed" },
    SPEEDS.map((x) => h("option", { value: x, selected: x === 1 }, `${x}×`)),
  );
  const cells = h("div.hp-cells", {
    "role": "slider",
    "tabindex": "0",
    "aria-label": "step",
    "aria-valuemin": 1,
    "onclick": (event) => jump(event),
  });
  const around = buttons.map(([sign, title, action]) => button(icon(sign), title, action));
  const bar = h(
    "div.hp-bar",
    h("div.hp-buttons", around.slice(0, 2), play, around.slice(2)),
    before,
    place,
    h("span.hp-grow"),
    after,
    speed,
  );

  function jump(/** @type {Event} */ event) {
    const cell = targetOf(event).closest("[data-step]");
    if (cell) go(Number(cell.getAttribute("data-step")));
  }

  // ---- cells

  /** Show these cells, which take the place of the old ones; those that are there already stay. @param {HTMLElement[]} elements */
  function fill(elements) {
    const kept = shown.every((one, i) => one === elements[i]);
    if (kept) cells.append(...elements.slice(shown.length));
    else cells.replaceChildren(...elements);
    shown = [...elements];
    cells.classList.toggle("is-dense", shown.length > DENSE);
  }

  /** Mark a cell, and say where one is. @type {(index: number, words: string) => void} */
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
    timer = window.setTimeout(() => (beat() ? wait() : pause()), pace() / Number(speed.value));
  }

  function start() {
    if (timer) return;
    starts();
    wait();
    sign(true);
  }

  function pause() {
    clearTimeout(timer);
    timer = 0;
    sign(false);
  }

  const toggle = () => (timer ? pause() : start());

  function sign(/** @type {boolean} */ on) {
    play.replaceChildren(icon(on ? "pause" : "play"));
    play.title = on ? "pause (Space)" : "play (Space)";
    play.setAttribute("aria-label", play.title);
    play.setAttribute("aria-pressed", String(on));
  }

  return { bar, cells, fill, select, start, pause, toggle, playing: () => timer !== 0 };
}

/** A cell of step `index`. @type {(index: number, title: string, css: string, ...children: Child[]) => HTMLElement} */
const cell = (index, title, css, ...children) =>
  h("div", { "class": `hp-cell ${css}`.trim(), "data-step": index, title }, children);

/**
 * The bar of a step: what it kept of the draft, and over it what the target added. tallest: tokens of a whole bar.
 * @type {(step: Pick<Step, "kept" | "committed">, tallest: number) => HTMLElement}
 */
function gains({ kept, committed }, tallest) {
  const own = committed.length - kept;
  const origin = own > 0 ? committed[kept].origin : "bonus";
  const share = (/** @type {number} */ n) => `height:${(100 * n) / tallest}%`;
  return h(
    "div.hp-column",
    own > 0 ? h("div", { class: `hp-gain is-${origin}`, style: share(own) }) : null,
    h("div.hp-gain.is-draft", { style: share(kept) }),
  );
}

export { transport, cell, gains };

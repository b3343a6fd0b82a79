// All lanes together at the pace that was recorded: a clock with play and pause, a time to drag,
// and a speed.
import { h, icon } from "../kit/dom.js";
import { button, menu, setSlider, slider } from "../kit/controls.js";

const SPEEDS = [1, 1 / 4, 1 / 20, 1 / 100];
const SHORTEST = 1.5; // seconds that a replay takes at least, unless another speed is chosen
const words = (/** @type {number} */ speed) =>
  speed === 1 ? "recorded pace" : `${Math.round(1 / speed)} × slower`;
const seconds = (/** @type {number} */ x) => `${x < 10 ? x.toFixed(2) : x.toFixed(1)} s`;

class Replay {
  time = 0;
  length = 0;
  speed = 1;
  frame = /** @type {number | null} */ (null);
  play = button(icon("play"), "play", () => this.toggle(), { class: "hp-play" });
  clock = h("output.hf-clock");

  /**
   * @param {(time: number) => void} changed - called whenever another time is shown, in seconds;
   *   with Infinity at the end
   */
  constructor(changed) {
    this.changed = changed;
    const oninput = () => this.seek(Number(this.slider.value));
    const speeds = SPEEDS.map((speed) => /** @type {[number, string]} */ ([speed, words(speed)]));
    /** @type {HTMLInputElement} */
    this.slider = slider("time", {
      min: 0,
      max: 1,
      step: "any",
      oninput,
      css: "hf-slider",
    });
    this.menu = menu("pace", speeds, 1, (speed) => {
      this.speed = Number(speed);
    });
    const parts = [this.play, this.slider, this.clock, this.menu];
    this.element = h("div.hp-row", { "role": "group", "aria-label": "Replay" }, parts);
  }

  get playing() {
    return this.frame !== null;
  }

  /** Take a race of so many seconds, and show its end; hide where there is nothing to play. */
  load(/** @type {number} */ length) {
    this.pause();
    this.length = length;
    this.element.hidden = !length;
    this.slider.max = String(length || 1);
    const slowest = SPEEDS[SPEEDS.length - 1];
    this.speed = SPEEDS.find((speed) => length / speed >= SHORTEST) ?? slowest;
    this.menu.value = String(this.speed);
    this.seek(length);
  }

  seek(/** @type {number} */ time) {
    this.time = Math.min(Math.max(time, 0), this.length);
    this.clock.textContent = `${seconds(this.time)} of ${seconds(this.length)}`;
    setSlider(this.slider, this.time, this.clock.textContent);
    this.changed(this.time >= this.length ? Infinity : this.time);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.start(this.time >= this.length ? 0 : this.time);
  }

  start(/** @type {number} */ from) {
    if (!this.length) return;
    let last = /** @type {number | null} */ (null);
    const tick = (/** @type {number} */ now) => {
      this.frame = requestAnimationFrame(tick);
      const time = last === null ? from : this.time + ((now - last) / 1000) * this.speed;
      last = now;
      if (time >= this.length) this.pause();
      this.seek(time);
    };
    this.frame = requestAnimationFrame(tick);
    this.sign("pause");
  }

  pause() {
    if (this.frame !== null) cancelAnimationFrame(this.frame);
    this.frame = null;
    this.sign("play");
  }

  sign(/** @type {string} */ name) {
    this.play.replaceChildren(icon(name));
    this.play.title = name;
    this.play.setAttribute("aria-label", name);
  }
}

export { Replay };

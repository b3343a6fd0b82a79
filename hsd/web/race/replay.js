// All lanes together at the pace that was recorded: a clock with play, pause, again, a time to drag, and a speed.
import { h, icon } from "../kit/dom.js";
import { button, menu, setSlider, slider } from "../kit/parts.js";
import { seconds } from "./tracks.js";

const SPEEDS = [4, 2, 1, 1 / 2, 1 / 4, 1 / 10, 1 / 25, 1 / 100];
const COMFORT = 6; // seconds that a replay takes unless another speed is chosen
const words = (speed) =>
  speed === 1 ? "recorded pace" : speed > 1 ? `${speed} × faster` : `${Math.round(1 / speed)} × slower`;

class Replay {
  /** changed(time, playing): called whenever another time is shown. */
  constructor(changed) {
    Object.assign(this, { changed, time: 0, length: 0, frame: null, speed: 1 });
    const oninput = () => this.seek(Number(this.slider.value));
    const speeds = SPEEDS.map((speed) => [speed, words(speed)]);
    const choose = (speed) => Object.assign(this, { speed: Number(speed) });
    this.play = button(icon("play"), "play", () => this.toggle(), { class: "hp-play" });
    this.slider = slider("time", { min: 0, max: 1, step: "any", oninput, css: "rc-slider" });
    this.clock = h("output.rc-clock");
    this.menu = menu("speed", speeds, 1, choose, { class: "rc-speed" });
    const again = button("Again", "from the start", () => this.restart());
    const parts = [this.play, again, this.slider, this.clock, this.menu];
    this.element = h("div.rc-tools.rc-replay", { "role": "group", "aria-label": "Replay" }, parts);
  }

  get playing() {
    return this.frame !== null;
  }

  /** A race of so many seconds; shown at its end. */
  load(length) {
    this.pause();
    this.length = length;
    this.slider.max = String(length || 1);
    const off = (speed) => Math.abs(Math.log(length / speed / COMFORT));
    this.speed = SPEEDS.toSorted((a, b) => off(a) - off(b))[0];
    this.menu.value = String(this.speed);
    this.seek(length);
  }

  seek(time) {
    this.time = Math.min(Math.max(time, 0), this.length);
    this.clock.textContent = `${seconds(this.time)} of ${seconds(this.length)}`;
    setSlider(this.slider, this.time, this.clock.textContent);
    this.changed(this.time, this.playing);
  }

  toggle() {
    if (!this.playing) return this.start(this.time >= this.length ? 0 : this.time);
    this.pause();
    return this.seek(this.time);
  }

  restart() {
    this.pause();
    this.start(0);
  }

  start(from) {
    if (!this.length) return;
    let last = null;
    const tick = (now) => {
      this.frame = requestAnimationFrame(tick);
      const time = last === null ? from : this.time + ((now - last) / 1000) * this.speed;
      last = now;
      if (time >= this.length) this.pause();
      this.seek(time);
    };
    this.frame = requestAnimationFrame(tick);
    this.sign("pause");
    this.seek(from);
  }

  pause() {
    if (this.frame !== null) cancelAnimationFrame(this.frame);
    this.frame = null;
    this.sign("play");
  }

  sign(name) {
    this.play.replaceChildren(icon(name));
    this.play.title = name;
    this.play.setAttribute("aria-label", name);
  }
}

export { Replay };

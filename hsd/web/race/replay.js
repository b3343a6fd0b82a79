// All lanes together at the pace that was recorded: a clock with play, pause, again, a time to drag, and a speed.
import { h, icon } from "../kit/dom.js";
import { button } from "../kit/parts.js";
import { seconds } from "./tracks.js";

const SPEEDS = [4, 2, 1, 1 / 2, 1 / 4, 1 / 10, 1 / 25, 1 / 100];
const COMFORT = 6; // seconds that a replay takes unless another speed is chosen
const words = (speed) =>
  speed === 1 ? "recorded pace" : speed > 1 ? `${speed} × faster` : `${Math.round(1 / speed)} × slower`;

class Replay {
  /** changed(time, playing): called whenever another time is shown. */
  constructor(changed) {
    Object.assign(this, { changed, time: 0, length: 0, frame: null, speed: 1 });
    this.play = button(icon("play"), "play", () => this.toggle(), { class: "hp-button hp-play" });
    this.again = button("Again", "from the start", () => this.restart(), { class: "hp-button rc-again" });
    this.slider = h("input", {
      "type": "range",
      "class": "rc-slider",
      "min": 0,
      "max": 1,
      "step": "any",
      "aria-label": "time",
      "oninput": () => this.seek(Number(this.slider.value)),
    });
    this.clock = h("output", { class: "rc-clock" });
    this.menu = h(
      "select",
      {
        "class": "hp-speed rc-speed",
        "aria-label": "speed",
        "onchange": () => {
          this.speed = Number(this.menu.value);
        },
      },
      SPEEDS.map((speed) => h("option", { value: speed }, words(speed))),
    );
    this.element = h(
      "div",
      { "class": "rc-tools rc-replay", "role": "group", "aria-label": "Replay" },
      this.play,
      this.again,
      this.slider,
      this.clock,
      this.menu,
    );
  }

  get playing() {
    return this.frame !== null;
  }

  /** A race of so many seconds; shown at its end. */
  load(length) {
    this.pause();
    this.length = length;
    this.slider.max = String(length || 1);
    this.speed = [...SPEEDS].sort(
      (a, b) => Math.abs(Math.log(length / a / COMFORT)) - Math.abs(Math.log(length / b / COMFORT)),
    )[0];
    this.menu.value = String(this.speed);
    this.seek(length);
  }

  seek(time) {
    this.time = Math.min(Math.max(time, 0), this.length);
    this.slider.value = String(this.time);
    this.slider.setAttribute("aria-valuetext", `${seconds(this.time)} of ${seconds(this.length)}`);
    this.clock.textContent = `${seconds(this.time)} of ${seconds(this.length)}`;
    this.changed(this.time, this.playing);
  }

  toggle() {
    if (this.playing) this.stop();
    else this.start(this.time >= this.length ? 0 : this.time);
  }

  /** Stay at the time that is shown. */
  stop() {
    this.pause();
    this.seek(this.time);
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

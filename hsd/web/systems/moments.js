// A run that one moves through moment by moment: its text, the bar with a cell per target call, the keys, a sentence.
import { h, plain, prose } from "../kit/dom.js";
import { plural } from "../kit/format.js";
import * as keys from "../kit/keys.js";
import { button, card } from "../kit/parts.js";
import { cell, gains, transport } from "../kit/transport.js";
import * as text from "../step/text.js";
import { div, p } from "./parts.js";

const KEYS = "Bars: tokens gained per target call. ← → moment · n p target call · Space play";
const PACE = 1600; // milliseconds a moment is shown at normal speed

/**
 * A moment is {step, event}; event counts from 0 in a step and is null for its last moment, which is the target's.
 * A subclass has momentsOf(trace, from), those of the steps from there on; told(moment), its sentence as parts; and
 * draw(), which draws `moment` and calls changed(); arrived(before), called ahead of that: another moment is shown.
 */
class Moments {
  /** title, hint, css: of the card; changed(): another moment, or another run, is shown. */
  constructor({ title, hint, css, changed }) {
    Object.assign(this, { changed, trace: null, moments: [], at: 0, chosen: null });
    const actions = {
      first: () => this.go(0),
      back: () => this.go(this.at - 1),
      forward: () => this.go(this.at + 1),
      last: () => this.go(this.moments.length - 1),
      previous: () => this.nextCall(-1),
      next: () => this.nextCall(1),
      go: (step) => this.goCall(step),
      play: () => this.bar.toggle(),
    };
    const call = (name, words, told) => button(words, told, actions[name], { class: "hp-button lv-call" });
    this.bar = transport({
      actions,
      beat: () => this.go(this.at + 1),
      starts: () => this.starts(),
      pace: () => PACE,
      unit: "moment",
      of: "target call",
      before: [
        call("previous", "‹ target call", "previous target call (p)"),
        call("next", "target call ›", "next target call (n)"),
      ],
    });
    this.text = text.create(actions.go);
    this.said = h("p", { class: "lv-said", role: "status" });
    this.notes = h("ul", { class: "lv-notes" });
    const moving = div("lv-transport", this.bar.bar, this.bar.cells, p("hp-hint lv-keys", KEYS));
    this.stage = card(`sy-stage ${css}`, title, hint, this.notes, moving, this.said);
    this.stage.setAttribute("tabindex", "-1");
    keys.listen(this.stage, actions);
  }

  get moment() {
    return this.moments[this.at] || null;
  }

  // ---- runs

  /** Show a run from moment `at` on. steps may be added to it later. */
  load(trace, at = 0) {
    this.bar.pause();
    Object.assign(this, { trace, moments: this.momentsOf(trace, 0), at: 0, chosen: null });
    this.text.load(trace);
    this.fill();
    this.notes.replaceChildren(...trace.setup.notes.map((note) => h("li.hp-notice", note)));
    this.notes.hidden = !trace.setup.notes.length;
    if (this.moments.length) this.show(at);
  }

  /** Steps were appended to the run that is shown. Who looked at its last moment goes on with it. */
  extend(trace, from) {
    const follows = this.at >= this.moments.length - 1;
    this.trace = trace;
    this.moments = [...this.moments, ...this.momentsOf(trace, from)];
    this.text.extend(trace.steps.slice(from), from);
    this.fill();
    if (this.moments.length) this.show(follows ? this.moments.length - 1 : this.at);
  }

  /** One cell per target call. */
  fill() {
    const { steps } = this.trace;
    const tallest = Math.max(1, ...steps.map((step) => step.committed.length));
    const title = ({ committed, kept, drafted }, i) =>
      `target call ${i + 1}: ${plural(committed.length, "token")}, kept ${kept} of ${drafted}`;
    this.bar.fill(steps.map((step, i) => cell(i, title(step, i), "", gains(step, tallest))));
  }

  // ---- moving

  /** Playing begins with the moment that is shown, at the end of the run with its first. */
  starts() {
    if (this.at === this.moments.length - 1) this.go(0);
  }

  /** Gives whether there is anything further. */
  go(at) {
    if (this.moments.length) this.show(at);
    return this.at < this.moments.length - 1;
  }

  goCall(step) {
    this.go(this.moments.findIndex((one) => one.step === step && one.event === null));
  }

  /** The next moment in that direction at which the target works. */
  nextCall(way) {
    let at = this.at + way;
    while (this.moments[at] && this.moments[at].event !== null) at += way;
    if (this.moments[at]) this.go(at);
  }

  show(at) {
    const before = this.moment;
    this.at = Math.max(0, Math.min(at, this.moments.length - 1));
    const { step } = this.moment;
    this.arrived(before);
    this.text.select(step);
    const call = `target call ${step + 1}/${this.trace.steps.length}`;
    this.bar.select(step, `moment ${this.at + 1}/${this.moments.length}, ${call}`);
    const words = this.told(this.moment);
    if (this.said.textContent !== plain(words)) this.said.replaceChildren(...prose(words));
    this.draw();
  }

  choose(id) {
    this.chosen = id;
    this.draw();
  }
}

export { Moments };

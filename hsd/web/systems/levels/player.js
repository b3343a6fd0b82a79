// The player of a run with levels: text, transport, the sentence of the moment, the lanes, and the life of a token.
import { h, plain, prose } from "../../kit/dom.js";
import { plural } from "../../kit/format.js";
import * as keys from "../../kit/keys.js";
import { button, card } from "../../kit/parts.js";
import { cell, gains, transport } from "../../kit/transport.js";
import * as text from "../../player/text.js";
import { div, legend, p, sign, span } from "../parts.js";
import * as lanes from "./lanes.js";
import * as life from "./life.js";
import { levelCount, moments, readStep, stateAt } from "./model.js";
import { told } from "./words.js";

const KEYS = "Bars: tokens gained per target call. ← → moment · n p target call · Space play";
const PACE = 1600; // milliseconds a moment is shown at normal speed
const LEGEND = [
  [sign("draft"), "drafted"],
  [sign("correction"), "correction"],
  [sign("bonus"), "bonus"],
  [span("lv-verdict is-kept", "✓"), "kept by the level above"],
  [span("lv-verdict is-dropped", "✕"), "rejected"],
];

class Player {
  /**
   * title, hint: of its card; under: see lanes; more(): a further legend; changed(): another moment, or another run,
   * is shown.
   */
  constructor({ title, hint, under, more = () => null, changed }) {
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
    const call = (name, words, title) => button(words, title, actions[name], { class: "hp-button lv-call" });
    this.bar = transport({
      actions,
      beat: () => this.go(this.at + 1),
      starts: () => this.at === this.moments.length - 1 && this.go(0),
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
    this.lanes = lanes.create({ under, onToken: (id) => this.choose(id) });
    this.life = life.create();
    this.notes = h("ul", { class: "lv-notes" });
    const key = LEGEND.map(([node, words]) => [node.cloneNode(true), words]);
    const moving = div("lv-transport", this.bar.bar, this.bar.cells, p("hp-hint lv-keys", KEYS));
    const shown = [this.notes, moving, this.said, this.lanes.element, legend(key), more()];
    this.stage = card("sy-levels", title, hint, shown);
    this.stage.setAttribute("tabindex", "-1");
    keys.listen(this.stage, actions);
    this.cards = [this.text.element, this.stage, this.life.element];
  }

  get moment() {
    return this.moments[this.at] || null;
  }

  // ---- runs

  /** Show a run from moment `at` on. steps may be added to it later. */
  load(trace, at = 0) {
    this.bar.pause();
    Object.assign(this, { trace, moments: moments(trace.steps), at: 0, chosen: null });
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
    this.moments = [...this.moments, ...moments(trace.steps, from)];
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

  // ---- drawing

  choose(id) {
    this.chosen = id;
    this.draw();
  }

  show(at) {
    const before = this.moment;
    this.at = Math.max(0, Math.min(at, this.moments.length - 1));
    const { step, event } = this.moment;
    const state = stateAt(this.trace, this.moment);
    const seen = state.lanes.some(({ chips }) => chips.some(({ token }) => token.id === this.chosen));
    if (!before || before.step !== step || !seen) this.chosen = telling(state);
    this.text.select(step);
    const call = `target call ${step + 1}/${this.trace.steps.length}`;
    this.bar.select(step, `moment ${this.at + 1}/${this.moments.length}, ${call}`);
    const words = told(this.trace, { step, event });
    if (this.said.textContent !== plain(words)) this.said.replaceChildren(...prose(words));
    this.draw();
  }

  draw() {
    const { trace, moment, chosen } = this;
    this.lanes.update(trace, moment, chosen);
    this.life.element.hidden = chosen === null;
    const { tokens } = readStep(trace.steps[moment.step], levelCount(trace.setup));
    if (chosen !== null) this.life.update(trace, tokens[chosen], moment.event);
    this.changed();
  }
}

/** The token that shows best what happened: the first that was rejected, else the last that was added. */
function telling({ lanes: drawn, level }) {
  const lost = level > 0 && drawn[level - 1].chips.find((chip) => chip.verdict === "dropped");
  const found = lost || drawn[level].chips.at(-1);
  return found ? found.token.id : null;
}

export { Player };

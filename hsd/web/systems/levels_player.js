// The player of a run with levels: text, transport, the sentence of the moment, the lanes, and the life of a token.
import * as dom from "../kit/dom.js";
import * as text from "../player/text.js";
import * as lanes from "./levels_lanes.js";
import * as life from "./levels_life.js";
import { levelCount, moments, readStep, stateAt } from "./levels_model.js";
import * as transport from "./levels_transport.js";
import { told } from "./levels_words.js";
import { card, h } from "./parts.js";

const PACE = 1600; // milliseconds a moment is shown at normal speed

class Player {
  /**
   * title, hint: of its card; context, under: see lanes; more(): a further legend, or nothing; changed(): another
   * moment, or another run, is shown.
   */
  constructor({ title, hint, context, under, more, changed }) {
    Object.assign(this, { changed, trace: null, moments: [], at: 0, chosen: null, timer: null });
    this.text = text.create((step) => this.goCall(step));
    this.bar = transport.create(this.actions());
    this.said = h("p", { "class": "lv-said", "role": "status" });
    this.lanes = lanes.create({ context, under, onToken: (id) => this.choose(id) });
    this.life = life.create();
    this.notes = h("ul", { class: "lv-notes" });
    this.stage = card(
      "levels",
      title,
      hint,
      this.notes,
      this.bar.element,
      this.said,
      this.lanes.element,
      legend(),
      more ? more() : null,
    );
    this.stage.setAttribute("tabindex", "-1");
    this.stage.addEventListener("keydown", (event) => this.key(event));
    this.cards = [this.text.element, this.stage, this.life.element];
  }

  actions() {
    return {
      first: () => this.go(0),
      back: () => this.go(this.at - 1),
      play: () => (this.timer ? this.pause() : this.play()),
      forward: () => this.go(this.at + 1),
      last: () => this.go(this.moments.length - 1),
      previousCall: () => this.nextCall(-1),
      nextCall: () => this.nextCall(1),
      go: (step) => this.goCall(step),
    };
  }

  get moment() {
    return this.moments[this.at] || null;
  }

  /** The token whose life is shown. */
  get token() {
    const { step } = this.moment;
    return readStep(this.trace.steps[step], levelCount(this.trace.setup)).tokens[this.chosen];
  }

  // ---- runs

  /** Show a run from moment `at` on. steps may be added to it later. */
  load(trace, at = 0) {
    this.pause();
    Object.assign(this, { trace, moments: moments(trace.steps), at: 0, chosen: null });
    this.text.load(trace);
    this.bar.load(trace.steps);
    this.notes.replaceChildren(...trace.setup.notes.map((note) => h("li", {}, note)));
    this.notes.hidden = !trace.setup.notes.length;
    if (this.moments.length) this.show(at);
  }

  /** Steps were appended to the run that is shown. Who looked at its last moment goes on with it. */
  extend(trace, from) {
    const follows = this.at >= this.moments.length - 1;
    this.trace = trace;
    this.moments = [...this.moments, ...moments(trace.steps, from)];
    this.text.extend(trace.steps.slice(from), from);
    this.bar.extend(trace.steps);
    if (this.moments.length) this.show(follows ? this.moments.length - 1 : this.at);
  }

  // ---- moving

  /** A move of the viewer's: it ends playing where there is nothing further. */
  go(at) {
    if (!this.moments.length) return;
    this.show(at);
    if (this.at === this.moments.length - 1) this.pause();
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

  play() {
    if (this.at === this.moments.length - 1) this.show(0);
    this.bar.playing(true);
    const tick = () => {
      this.timer = setTimeout(() => {
        tick();
        this.go(this.at + 1);
      }, PACE / this.bar.speed());
    };
    tick();
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    this.bar.playing(false);
  }

  key(event) {
    const { target, key } = event;
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing) return;
    const on = this.actions();
    const keys = { ArrowLeft: on.back, ArrowRight: on.forward, Home: on.first, End: on.last };
    Object.assign(keys, { n: on.nextCall, p: on.previousCall });
    if (target.tagName !== "BUTTON") keys[" "] = on.play;
    if (!keys[key]) return;
    event.preventDefault();
    keys[key]();
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
    if (!before || before.step !== step || this.chosen === null || !this.seen(this.chosen)) this.chosen = null;
    if (this.chosen === null) this.chosen = this.telling();
    this.text.select(step);
    this.bar.select(this.trace.steps, this.moment, this.at, this.moments.length);
    const words = told(this.trace, { step, event });
    if (this.said.textContent !== dom.plain(words)) this.said.replaceChildren(...dom.prose(words));
    this.draw();
  }

  /** The token that shows best what happened: the first that was rejected, else the last that was added. */
  telling() {
    const { lanes: drawn, level } = stateAt(this.trace, this.moment);
    const below = level > 0 ? drawn[level - 1].chips : [];
    const lost = below.find((chip) => chip.verdict === "dropped");
    const own = drawn[level].chips;
    const found = lost || own[own.length - 1];
    return found ? found.token.id : null;
  }

  seen(id) {
    return stateAt(this.trace, this.moment).lanes.some(({ chips }) => chips.some(({ token }) => token.id === id));
  }

  draw() {
    this.lanes.update(this.trace, this.moment, this.chosen);
    const any = this.chosen !== null;
    this.life.element.hidden = !any;
    if (any) this.life.update(this.trace, this.token, this.moment.event);
    this.changed();
  }
}

function legend() {
  const sign = (origin) => h("span", { class: `hp-sign is-${origin}` }, dom.SIGNS[origin]);
  const item = (origin, words) => h("span", {}, sign(origin), ` ${words}`);
  return h(
    "p",
    { class: "sy-hint lv-legend" },
    item("draft", "drafted"),
    item("correction", "correction"),
    item("bonus", "bonus"),
    h("span", {}, h("span", { class: "lv-verdict is-kept" }, "✓"), " kept by the level above"),
    h("span", {}, h("span", { class: "lv-verdict is-dropped" }, "✕"), " rejected"),
  );
}

export { Player };

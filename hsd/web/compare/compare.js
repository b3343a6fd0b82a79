// The Compare screen put together. start(element, props, server, watch, queue) is called once, when Gradio
// has made it; it shows what the frame shows (see watch.js), and draws only while its tab is open.
// window.__hsdCompare mirrors what is on screen, for tests.
import { h } from "../kit/dom.js";
import { copy } from "../kit/files.js";
import * as page from "../kit/page.js";
import { readStep, ruleInfo } from "../player/model.js";
import * as frame from "../watch/watch.js";
import { capital, explain } from "./explain.js";
import { Lanes } from "./lanes.js";
import { flip, freeLines, pairedLines, pairedNote, tools, totals, why } from "./parts.js";
import { Row, scrollTogether } from "./row.js";
import * as scrubber from "./scrubber.js";
import * as texts from "./texts.js";
import { alone, paired, parting } from "./totals.js";
import * as words from "./words.js";

const BEAT = 2400; // milliseconds per step at speed 1
const KEYS = {
  " ": "play",
  "ArrowLeft": "back",
  "ArrowRight": "forward",
  "Home": "first",
  "End": "last",
  "n": "nextDifference",
  "p": "previousDifference",
  "l": "link",
};

class Screen extends Lanes {
  constructor(root, props, server, queue) {
    super(server, queue);
    const asked = new URLSearchParams(window.location.search);
    const linked = asked.get("tab") === "compare";
    const step = linked && asked.get("mode") === "free" ? asked.get("step") || "" : "";
    this.root = root;
    this.mode = linked && asked.get("mode") === "free" ? "free" : "paired";
    this.swapped = linked && asked.get("swap") === "1";
    this.wanted = /^\d{1,6}$/.test(step) ? Number(step) : null; // of a link, until there is such a step
    this.timer = null;
    this.build(props.rules);
    page.listen((what) => this.hear(what));
    this.hear("trace");
  }

  build(facts) {
    const { root } = this;
    const go = {
      first: () => this.go(0),
      back: () => this.go(this.step - 1),
      forward: () => this.go(this.step + 1),
      last: () => this.go(this.length - 1),
    };
    this.actions = {
      ...go,
      go: (step) => this.go(step),
      play: () => (this.timer ? this.pause() : this.play()),
      nextDifference: () => this.goDifference(1),
      previousDifference: () => this.goDifference(-1),
      mode: (name) => this.setMode(name),
      detail: () => this.setDetail(!this.detail),
      swap: () => this.swap(),
      watch: () => this.openWatch(),
      link: () => this.copyLink(),
      cancel: () => this.second && this.second.cancel(),
    };
    this.tools = tools(this.actions);
    this.notice = h("p", { class: "cp-notice", role: "status", hidden: true });
    this.scrubber = scrubber.create(this.actions);
    this.why = why();
    this.rows = ["A", "B"].map((letter) => new Row(letter, facts, (row, report) => this.movedIn(row, report)));
    scrollTogether(...this.rows);
    this.texts = texts.create((step) => this.go(step));
    this.totals = totals();
    this.body = h(
      "div",
      { class: "cp-body" },
      this.scrubber.element,
      this.why.element,
      this.rows.map((row) => row.element),
      this.texts.element,
      this.totals.element,
    );
    root.classList.add("hsd-kit", "hsd-player");
    root.tabIndex = 0;
    root.setAttribute("role", "region");
    root.setAttribute("aria-label", "two rules on the same drafts");
    root.replaceChildren(this.tools.element, this.notice, this.body);
    root.addEventListener("keydown", (event) => this.key(event), true);
    this.setDetail(false);
  }

  // ---- what the frame tells

  /** Another run was asked for: the model is for that one, and this one's second run has to wait for a new trace. */
  giveWay() {
    this.leaveSecond();
    this.held = true;
    if (this.open) this.draw();
  }

  get open() {
    return page.tab() === "compare";
  }

  hear(what) {
    if (what === "run") return this.giveWay();
    if (what === "tab") this.held = false;
    if (!this.open) return this.pause();
    if (what === "place" && this.moving) return undefined;
    const trace = frame.trace();
    if (!trace) return undefined;
    const fresh = frame.source() !== this.source;
    const grew = trace.steps.length > this.count || this.live !== frame.place().live;
    if (fresh) this.quietly(() => this.take(trace));
    else if (grew) this.quietly(() => this.grow(trace));
    this.wantSecond();
    this.adoptPlace(fresh);
    this.remember();
    return undefined;
  }

  /** Watch and Compare look at the same step, as far as the run goes. */
  adoptPlace(fresh) {
    const { step, node } = frame.place();
    if (this.wanted !== null && this.wanted < this.count) this.wanted = null; // the frame has gone there
    if (this.wanted !== null) return this.draw();
    if (!fresh && this.mode === "free" && this.step >= this.count) return this.draw();
    return this.moveTo(Math.max(step, 0), node);
  }

  /** The server's word on the second run: there is more to fetch, or it failed. */
  heard(value) {
    if (!this.second || !value || !value.key || value.key !== this.second.key) return;
    if (value.alert) this.second.fail(value.alert);
    else this.second.pull();
  }

  secondTold() {
    const { wanted } = this;
    if (wanted === null || (this.length <= wanted && !this.second.ended)) return this.draw();
    this.wanted = null;
    return this.go(wanted);
  }

  // ---- moving

  go(step, { keepPlaying = false } = {}) {
    if (!keepPlaying) this.pause();
    this.wanted = null;
    if (this.length) this.moveTo(Math.max(0, Math.min(step, this.length - 1)), null);
  }

  /** Show a step in both rows, and in Watch. node: null for the branch that decided. */
  moveTo(step, node) {
    this.step = step;
    this.node = node;
    this.quietly(() => {
      if (step < this.count) frame.select({ step, node });
      this.draw();
    });
    this.remember();
  }

  /** A node was chosen in one of the rows: the other row shows it too, where both have the same draft. */
  movedIn(row, { node }) {
    if (this.moving || !this.trace) return;
    const step = Math.min(this.step, row.steps.length - 1);
    if (this.together(step) || row === this.rowOf("run")) this.moveTo(step, node);
  }

  /** A branch that is pinned in one row stays selected in both while one steps. */
  followPin() {
    const pinned = this.rows.find((row) => row.player.state().pinned);
    if (!pinned || !this.together(this.step)) return;
    this.node = pinned.player.state().node;
    for (const row of this.rows) row.player.select({ node: this.node });
  }

  goDifference(direction) {
    for (let i = this.step + direction; i >= 0 && i < this.columns.length; i += direction) {
      if (this.columns[i].badge || i === this.parted) return this.go(i);
    }
    return this.tools.say(`no ${direction > 0 ? "later" : "earlier"} difference`);
  }

  play() {
    if (!this.length) return;
    if (this.step >= this.length - 1 && !this.running) this.go(0);
    this.scrubber.playing(true);
    this.beat();
  }

  beat() {
    this.timer = setTimeout(() => {
      if (this.step < this.length - 1) this.go(this.step + 1, { keepPlaying: true });
      if (this.step < this.length - 1 || this.running) this.beat();
      else this.pause();
    }, BEAT / this.scrubber.speed());
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    this.scrubber.playing(false);
  }

  /** The player's own keys for moving in time are this screen's, for both rows; the others stay the rows' own. */
  key(event) {
    const action = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.shiftKey && event.key.startsWith("Arrow")) return;
    if (event.target.closest("input, textarea, select, dialog")) return;
    if (event.key === " " && event.target.closest("button")) return;
    event.preventDefault();
    event.stopPropagation();
    this.actions[action]();
  }

  // ---- what the tools do

  setMode(mode) {
    if (mode === this.mode) return;
    this.pause();
    this.wanted = null;
    this.held = false;
    this.mode = mode;
    if (mode === "paired" && this.second && !this.second.ended) this.leaveSecond();
    if (mode === "paired" && this.trace) this.step = Math.min(this.step, Math.max(this.count - 1, 0));
    this.reload();
    this.wantSecond();
    this.draw();
  }

  /** Whole trees, or only what was drafted and what came after it, so that both rows fit on a screen. */
  setDetail(on) {
    this.detail = on;
    this.root.classList.toggle("is-compact", !on);
    for (const row of this.rows) row.crop(!on);
    this.tools.detail(on);
  }

  swap() {
    this.swapped = !this.swapped;
    this.reload();
  }

  reload() {
    if (!this.trace) return;
    this.quietly(() => this.loadRows());
    this.moveTo(this.step, this.node);
  }

  openWatch() {
    page.showTab("watch");
  }

  async copyLink() {
    if (!this.source) return undefined;
    if (this.source.kind === "file")
      return this.tools.say("this trace came from a file, which a link cannot carry: pass the file on");
    const link = this.address();
    return this.tools.say((await copy(link)) ? "link copied" : link);
  }

  address() {
    const url = new URL(window.location.href);
    const theme = url.searchParams.get("__theme");
    url.search = "";
    url.hash = "";
    const where = {
      step: this.step,
      node: this.node ?? frame.place().node,
      mode: this.mode,
      ...(this.swapped ? { swap: 1 } : {}),
    };
    const values = { ...(theme ? { __theme: theme } : {}), ...(this.source.link || {}), tab: "compare", ...where };
    for (const [name, value] of Object.entries(values)) url.searchParams.set(name, value);
    return url.href;
  }

  /** While the tab is open the address bar says what is shown. Not at every move: browsers count such changes. */
  remember() {
    clearTimeout(this.rememberTimer);
    this.rememberTimer = setTimeout(() => {
      if (this.open && this.source && !this.live && this.wanted === null)
        window.history.replaceState(window.history.state, "", this.address());
    }, 300);
  }

  // ---- drawing

  draw() {
    if (!this.trace) return;
    const { problem } = this;
    if (problem) this.columns = [];
    this.tools.show(
      this.mode,
      Boolean(this.second && !this.second.ended),
      problem ? "" : words.hint(this.mode, this.rules),
    );
    this.say(problem || (this.mode === "free" ? words.progress(this.second, this.live, this.rules) : ""));
    this.body.hidden = Boolean(problem);
    if (!problem) this.quietly(() => this.drawBody());
    this.tell();
  }

  drawBody() {
    const free = this.mode === "free";
    const [run, other] = ["run", "other"].map((side) => this.rowOf(side));
    this.parted = free && other.source ? parting(run.source, other.source) : null;
    this.columns = this.makeColumns();
    this.scrubber.draw(this.columns, this.parted);
    this.scrubber.select(this.step, this.running);
    run.show(this.step, this.node, this.roleOf(run, "its own text"));
    const shared = this.together(this.step) ? this.node : null;
    if (other.source)
      other.show(
        this.step,
        shared,
        this.roleOf(other, free ? "its own text" : `on the text of ${ruleInfo(this.rules[0]).short}`),
      );
    this.followPin();
    this.drawWhy();
    this.texts.element.hidden = !free;
    if (free)
      this.texts.select(
        this.step,
        this.parted,
        words.agreement({ parted: this.parted, run: run.source, other: other.source, running: this.running }),
      );
    this.drawTotals();
  }

  drawWhy() {
    const { step, parted, running } = this;
    const over = this.rows.some((row) => step >= row.steps.length);
    if (!this.count) return this.why.show("same", ["Waiting for the first step …"], "");
    if (!this.together(step)) return this.why.show("apart", [words.apart({ over, running, parted })], "");
    if (this.sameRule()) return this.why.show("same", [words.same(this.rules)], "");
    const view = readStep(this.rowOf("run").player.trace(), Math.min(step, this.count - 1));
    const { kind, parts, note } = explain(view);
    return this.why.show(kind, parts, note);
  }

  drawTotals() {
    const rules = flip(this.swapped, ...this.rules.map((rule) => capital(ruleInfo(rule).short)));
    if (this.mode === "paired") {
      const sums = paired(this.trace);
      return this.totals.show(rules, pairedLines(sums, this.swapped), pairedNote(sums, this.rules, this.live));
    }
    const lanes = this.rows.map((row) => (row.source ? alone(row.source) : null));
    return this.totals.show(rules, freeLines(...lanes), words.freeNote(this.rules, this.running));
  }

  say(line) {
    this.notice.textContent = line;
    this.notice.hidden = !line;
  }

  // ---- for tests

  tell() {
    const { mode, swapped, step, node, parted, live } = this;
    const second = this.second && {
      state: this.second.state,
      tokens: this.second.trace
        ? this.second.trace.steps.flatMap((one) => one.committed.map((token) => token.token))
        : [],
    };
    window.__hsdCompare = {
      ready: true,
      mode,
      swapped,
      step,
      node,
      parted,
      live,
      running: this.running,
      second,
      nodes: this.rows.map((row) => row.player.state().node),
      steps: this.rows.map((row) => row.steps.length),
      sentence: this.why.text(),
      kind: this.why.element.querySelector("p").dataset.kind,
    };
  }
}

let screen = null;

function start(element, props, server, watch, queue) {
  screen = new Screen(element.querySelector(".hsd-compare"), props, server, queue);
  watch("value", () => screen.heard(props.value));
}

export const ticket = () => (screen && screen.second ? screen.second.key : "");

export { start };

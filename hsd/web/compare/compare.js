// The Compare screen put together. start(element, props, server, watch, queue) is called once, when Gradio has made it;
// it shows what the frame shows (see watch.js), and draws only while its tab is open.
// window.__hsdCompare mirrors what is on screen, for tests.
import { h } from "../kit/dom.js";
import { rule } from "../kit/facts.js";
import * as keys from "../kit/keys.js";
import * as link from "../kit/link.js";
import * as page from "../kit/page.js";
import { live } from "../kit/source.js";
import { readStep } from "../step/model.js";
import { plain } from "../step/fill.js";
import { difference, story } from "../step/sentences.js";
import * as frame from "../watch/watch.js";
import { Lanes } from "./lanes.js";
import { tools, why } from "./parts.js";
import { Row, scrollTogether } from "./row.js";
import * as scrubber from "./scrubber.js";
import * as texts from "./texts.js";
import * as totals from "./totals.js";
import * as words from "./words.js";

const NO_LINK = "this trace came from a file, which a link cannot carry: pass the file on";

class Screen extends Lanes {
  constructor(root, server, queue) {
    super(server, queue);
    const asked = link.asked("compare");
    const step = asked.get("step") || "";
    this.root = root;
    root.classList.add("hf-wait");
    this.mode = live && asked.get("mode") === "free" ? "free" : "paired";
    this.swapped = asked.get("swap") === "1";
    this.wanted = this.free && /^\d{1,6}$/.test(step) ? Number(step) : null; // of a link, until there is such a step
    this.bar = link.addressBar("compare", () => this.address());
    this.build();
    page.listen((what) => this.hear(what));
    this.hear("trace");
  }

  build() {
    const { root } = this;
    this.actions = {
      first: () => this.go(0),
      back: () => this.go(this.step - 1),
      forward: () => this.go(this.step + 1),
      last: () => this.go(this.length - 1),
      go: (step) => this.go(step),
      play: () => this.length && this.scrubber.toggle(),
      next: () => this.goDifference(1),
      previous: () => this.goDifference(-1),
      mode: (name) => this.setMode(name),
      detail: () => this.setDetail(!this.detail),
      swap: () => this.swap(),
      watch: () => page.showTab("watch"),
      link: () => this.copyLink(),
      cancel: () => this.second && this.second.cancel(),
    };
    const playing = { beat: () => this.beat(), starts: () => this.rewind() };
    this.tools = tools(this.actions);
    this.notice = h("p.hp-notice", { role: "status", hidden: true });
    this.scrubber = scrubber.create(this.actions, playing);
    this.why = why();
    this.rows = ["A", "B"].map((letter) => new Row(letter, (row, report) => this.movedIn(row, report)));
    scrollTogether(...this.rows);
    this.texts = texts.create((step) => this.go(step));
    this.totals = totals.create();
    const parts = [this.scrubber, this.why, ...this.rows, this.texts, this.totals];
    this.body = h(
      "div.cp-body",
      parts.map((part) => part.element),
    );
    root.tabIndex = 0;
    root.setAttribute("role", "region");
    root.setAttribute("aria-label", "two rules on the same drafts");
    root.replaceChildren(this.tools.element, this.notice, this.body);
    // the players' own keys for moving in time are this screen's, for both rows; the others stay the players' own
    keys.listen(root, this.actions, { ...keys.MOVES, l: "link" }, { early: true });
    this.setDetail(false);
  }

  // ---- what the frame and the server tell

  hear(what) {
    if (what === "run") return this.giveWay();
    if (what === "tab") this.held = false;
    if (page.tab() !== "compare") return this.scrubber.pause();
    const trace = frame.trace();
    if (!trace || (what === "place" && this.moving)) return undefined;
    const fresh = frame.source() !== this.source;
    const grew = trace.steps.length > this.count || this.live !== frame.place().live;
    if (fresh) this.quietly(() => this.take(trace));
    else if (grew) this.quietly(() => this.grow(trace));
    this.wantSecond();
    return this.adoptPlace(fresh);
  }

  /** Another run was asked for: the model is for that one, and this one's second run has to wait for a new trace. */
  giveWay() {
    this.leaveSecond();
    this.held = true;
    if (page.tab() === "compare") this.draw();
  }

  /** Watch and Compare look at the same step, as far as the run goes. */
  adoptPlace(fresh) {
    const { step, node } = frame.place();
    if (this.wanted !== null && this.wanted < this.count) this.wanted = null; // the frame has gone there
    if (this.wanted !== null || (!fresh && this.free && this.step >= this.count)) return this.draw();
    return this.moveTo(Math.max(step, 0), node);
  }

  secondTold() {
    const { wanted } = this;
    if (wanted === null || (this.length <= wanted && !this.second.ended)) this.draw();
    else this.go(wanted);
  }

  // ---- moving

  go(step) {
    this.scrubber.pause();
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
    for (let i = this.step + direction; i >= 0 && i < this.columns.length; i += direction)
      if (this.columns[i].badge || i === this.parted) return this.go(i);
    return this.tools.say(`no ${direction > 0 ? "later" : "earlier"} difference`);
  }

  /** Playing from the end begins again. */
  rewind() {
    if (this.step >= this.length - 1 && !this.running) this.moveTo(0, null);
  }

  beat() {
    this.wanted = null;
    if (this.step < this.length - 1) this.moveTo(this.step + 1, null);
    return this.step < this.length - 1 || this.running;
  }

  // ---- what the tools do

  setMode(mode) {
    if (mode === this.mode) return;
    this.scrubber.pause();
    this.wanted = null;
    this.held = false;
    this.mode = mode;
    if (!this.free && this.second && !this.second.ended) this.leaveSecond();
    if (!this.free) this.step = Math.min(this.step, Math.max(this.count - 1, 0));
    if (this.trace) this.wantSecond();
    this.reload();
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

  async copyLink() {
    if (this.source) this.tools.say(this.source.kind === "file" ? NO_LINK : await this.bar.copyLink());
  }

  /** The parameters of what is shown. */
  address() {
    const { step, mode } = this;
    const node = this.node ?? frame.place().node;
    return { ...this.source.link, step, node, mode, swap: this.swapped ? 1 : null };
  }

  remember() {
    if (!this.live && this.wanted === null) this.bar.remember();
  }

  // ---- drawing

  draw() {
    if (!this.trace) return;
    this.root.classList.remove("hf-wait");
    const { problem, second } = this;
    const ongoing = Boolean(second && !second.ended);
    if (problem) this.columns = [];
    this.tools.show(this.mode, ongoing, problem ? "" : words.hint(this.mode, this.rules));
    this.notice.textContent = problem || (this.free ? words.progress(second, this.live, this.rules) : "");
    this.notice.hidden = !this.notice.textContent;
    this.body.hidden = Boolean(problem);
    if (!problem) this.quietly(() => this.drawBody());
    this.tell();
  }

  drawBody() {
    const { free, step, rules } = this;
    const [run, other] = ["run", "other"].map((side) => this.rowOf(side));
    this.parted = free && other.source ? totals.parting(run.source, other.source) : null;
    this.columns = this.makeColumns();
    this.scrubber.draw(this.columns, this.parted);
    this.scrubber.select(step, this.running);
    const beside = free ? "its own text" : `on the text of ${rule(rules[0]).short}`;
    run.show(step, this.node, this.roleOf(run, "its own text"));
    if (other.source) other.show(step, this.together(step) ? this.node : null, this.roleOf(other, beside));
    this.followPin();
    this.why.show(...this.told());
    this.texts.element.hidden = !free;
    if (free) this.texts.select(step, this.parted, words.agreement(this, run.source, other.source));
    this.drawTotals();
  }

  /** What there is to say of the step: kind, sentence parts, a note. */
  told() {
    const { step, parted, running } = this;
    const over = this.rows.some((row) => step >= row.steps.length);
    if (!this.count) return ["same", ["Waiting for the first step …"], ""];
    if (!this.together(step)) return ["apart", [words.apart({ over, running, parted })], ""];
    if (this.rules[0] === this.rules[1]) return ["same", [words.same(this.rules)], ""];
    const view = readStep(this.rowOf("run").player.trace(), Math.min(step, this.count - 1));
    const { both, why } = story(view);
    return [difference(view.step), both, plain(why)];
  }

  drawTotals() {
    const { free, rules } = this;
    const names = rules.map((name) => rule(name).head);
    const sources = this.rows.map((row) => row.source);
    const lines = (free ? totals.freeLines : totals.pairedLines)(...sources);
    const judged = this.trace.steps.filter((step) => step.shadow).length;
    const note = free ? words.freeNote(rules, this.running) : words.pairedNote(rules, judged, this.live);
    this.totals.show(this.swapped ? names.reverse() : names, lines, note);
  }

  // ---- for tests

  tell() {
    const { mode, swapped, step, node, parted, live, running, second } = this;
    const tokens = second && second.items.flatMap((one) => one.committed.map(({ token }) => token));
    window.__hsdCompare = {
      ...{ ready: true, mode, swapped, step, node, parted, live, running },
      second: second && { state: second.state, tokens },
      nodes: this.rows.map((row) => row.player.state().node),
      steps: this.rows.map((row) => row.steps.length),
      sentence: this.why.text(),
      kind: this.why.kind(),
    };
  }
}

let screen = null;

function start(element, props, server, watch, queue) {
  screen = new Screen(element.querySelector(".hsd-compare"), server, queue);
  watch("value", () => screen.second && screen.second.hear(props.value));
}

const ticket = () => (screen && screen.second ? screen.second.key : "");

export { start, ticket };

// The FSD panel put together: one state, a recorded or a live run, and the measured trade-off.
// For tests, window.__hsdSystems.fsd = {ready, state, name, step, steps, share, live, message, metric}.
import { controls } from "./fsd_controls.js";
import { curve } from "./fsd_curve.js";
import * as model from "./fsd_model.js";
import { run } from "./fsd_run.js";
import { calibration as calibrationWords } from "./fsd_words.js";
import { panel as addPanel } from "./panels.js";
import * as recorded from "./recorded.js";

const BAD_LINK = "The settings in this link cannot be read: the first recorded run is shown instead";
const NO_ANSWER = "The measured trade-off did not arrive: reload the page";
const KEEPING = ["text", "divergence", "mode", "on"]; // a tolerance of one of these means nothing in another
const RECORDED = "A recorded run. Change a setting and press Run to decode anew.";

class Panel {
  constructor(root, tools) {
    Object.assign(this, { root, tools, state: model.start(), name: null, trace: null, step: 0, metric: "right" });
    Object.assign(this, { message: "", head: "", live: null, results: null, follow: true, ready: false });
    this.recorded = recorded.list(tools, (asked) => asked.rule === "fuzzy");
    this.begin();
  }

  async begin() {
    const results = await this.tools.ask("fuzzy_results", "");
    this.results = results.texts ? results : null;
    this.build(this.results ? this.results.shares : [0, 1]);
    const words = this.tools.query.get("fsd");
    const linked = words && model.decode(words);
    const first = this.recorded.length ? this.recorded[0].name : "";
    await this.open(linked ? linked.name : first, linked);
    this.message = this.message || (words && !linked ? BAD_LINK : this.results ? "" : results.error || NO_ANSWER);
    this.ready = true;
    this.show();
  }

  build(shares) {
    const { recorded: known } = this;
    const change = (values) => this.change(values);
    this.controls = controls(
      { recorded: known, shares },
      {
        change: (values) => (KEEPING.some((name) => name in values) ? this.keepShare(values) : change(values)),
        open: (name) => this.open(name),
        share: (index) => this.takeShare(index),
        run: () => this.run(),
        cancel: () => this.live && this.live.cancel(),
        copy: () => this.tools.copyLink(),
      },
    );
    this.shown = run({ step: (index) => this.goTo(index) });
    this.curve = curve({
      setting: (values) => this.keepShare(values),
      metric: (metric) => {
        this.metric = metric;
        this.show();
      },
      tolerance: (value) => change({ tolerance: String(value), on: "warped" }),
    });
    this.root.classList.add("sy-fsd-panel");
    this.root.append(this.controls.element, this.shown.element, this.curve.element);
  }

  /** A recorded run, at its most telling step. linked: the state and step of a link, which may name none. */
  async open(name, linked = null) {
    if (linked) this.state = linked.state;
    const reply = name ? await recorded.read(this.tools, name) : null;
    if (reply && reply.error) this.message = reply.error;
    if (reply && !reply.error) {
      this.leave();
      this.name = name;
      this.trace = reply.trace;
      this.head = RECORDED;
      if (!linked) this.message = "";
      this.state = linked ? { ...linked.state, prompt: reply.asked.prompt } : model.fromAsked(reply.asked);
      this.step = clip(linked ? linked.step : telling(reply.trace), reply.trace);
    }
    this.show();
  }

  change(values) {
    this.state = { ...this.state, ...values };
    this.message = "";
    this.show();
  }

  /** Other settings at the same share of what would be rejected. */
  keepShare(values) {
    const share = model.shareOf(this.results, this.state);
    this.state = { ...this.state, ...values };
    const at = share === null || !this.results ? -1 : this.results.shares.indexOf(share);
    if (at >= 0) this.takeShare(at);
    else this.show();
  }

  takeShare(index) {
    const known = model.tolerances(this.results, this.state);
    if (known) this.change({ tolerance: String(known[index]) });
  }

  // ---- live runs

  run() {
    this.message = "";
    Object.assign(this, { follow: true, name: null });
    this.live = this.tools.run(model.asked(this.state), (live) => this.heard(live));
    this.head = "Waiting …";
    this.show();
  }

  heard(live) {
    if (live !== this.live) return;
    const { trace, state, place, message } = live;
    if (trace && trace.steps.length) {
      this.trace = trace;
      if (this.follow) this.step = trace.steps.length - 1;
    }
    if (live.ended && this.follow && this.trace === trace && trace) this.step = clip(telling(trace), trace);
    this.message = message;
    this.head = {
      waiting: place > 1 ? `Waiting, number ${place} in the line …` : "Waiting …",
      running: "Running …",
      done: "A live run.",
      cancelled: "A live run, ended early.",
      failed: "This run failed.",
    }[state];
    this.show();
  }

  leave() {
    if (this.live) this.live.leave();
    this.live = null;
  }

  goTo(index) {
    this.step = clip(index, this.trace);
    this.follow = false;
    this.show();
  }

  // ---- drawing

  show() {
    if (!this.controls) return;
    const { state, results, trace, step, metric, head, message, name } = this;
    const share = model.shareOf(results, state);
    const busy = Boolean(this.live) && !this.live.ended;
    const calibration = calibrationWords(results, state, share);
    this.controls.update({ state, name, share, calibration, busy, message: message && capital(message) });
    this.shown.update({ trace, index: step, head });
    this.curve.update({ results, state, metric });
    const live = this.live ? this.live.state : null;
    const steps = trace ? trace.steps.length : 0;
    this.tools.tell({ fsd: { ready: this.ready, state, name, step, steps, share, live, message, metric } });
    this.tools.changed();
  }

  link() {
    return { fsd: model.encode(this.state, this.name, this.step) };
  }
}

const clip = (index, trace) => Math.min(Math.max(index, 0), Math.max(trace.steps.length - 1, 0));
const capital = (words) => words[0].toUpperCase() + words.slice(1);

/** The step to open a run at: where most tokens passed by divergence alone, and one was still rejected if possible. */
function telling(trace) {
  const worth = trace.steps.map((one, i) => {
    if (!one.nodes.length) return -1;
    const { rows } = model.positions(trace, i);
    const kept = rows.filter((row) => row.kept);
    const zero = kept.filter((row) => row.node.p === 0).length;
    return 3 * zero + kept.filter((row) => row.rejects).length + (one.kept < one.drafted ? 0.5 : 0);
  });
  return Math.max(worth.indexOf(Math.max(...worth)), 0);
}

function draw(root, tools) {
  const panel = new Panel(root, tools);
  return { link: () => panel.link(), closed: () => panel.leave() };
}

addPanel("fsd", { title: "FSD", order: 3, draw });

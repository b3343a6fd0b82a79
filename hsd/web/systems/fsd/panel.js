// The FSD panel put together: one state, a recorded or a live run, and the measured trade-off.
// For tests, window.__hsdSystems.fsd = {ready, state, name, step, steps, share, live, message, metric}.
import { Runs } from "../runs.js";
import { controls } from "./controls.js";
import { curve } from "./curve.js";
import * as model from "./model.js";
import { run } from "./run.js";
import * as words from "./words.js";

const BAD_LINK = "the settings in this link cannot be read: the first recorded run is shown instead";
const NO_ANSWER = "the measured trade-off did not arrive: reload the page";
const KEEPING = ["text", "divergence", "mode", "on"]; // a tolerance of one of these means nothing in another

class Panel {
  constructor(root, tools) {
    Object.assign(this, { root, tools, state: model.start(), step: 0, metric: "right", follow: true, ready: false });
    this.runs = new Runs(tools, (asked) => asked.rule === model.RULE, {
      shown: (trace, asked) => this.shown(trace, asked),
      grew: (trace) => this.grew(trace),
      ended: () => this.follow && this.moved(telling(this.runs.trace)),
      news: () => this.show(),
    });
    this.drawn = this.begin();
  }

  async begin() {
    const text = this.tools.query.get("fsd");
    const linked = text && model.decode(text);
    if (linked) Object.assign(this, { linked, state: linked.state });
    const opened = linked && !linked.name ? null : this.runs.open(linked?.name);
    const results = await this.tools.ask("fuzzy_results");
    this.results = results.texts ? results : null;
    this.build();
    await opened;
    if (text && !linked) this.runs.problem = BAD_LINK;
    else if (!this.results) this.runs.problem ||= results.error || NO_ANSWER;
    this.ready = true;
    this.show();
  }

  build() {
    const change = (values) => this.change(values);
    this.controls = controls(
      { presets: this.runs.presets, shares: this.results ? this.results.shares : [0, 1] },
      {
        change: (values) => (KEEPING.some((name) => name in values) ? this.keepShare(values) : change(values)),
        open: (name) => this.runs.open(name),
        share: (index) => this.takeShare(index),
        run: () => this.run(),
        cancel: () => this.runs.cancel(),
        copy: () => this.tools.copyLink(),
      },
    );
    this.drawn = run((index) => this.goTo(index));
    this.curve = curve({
      setting: (values) => this.keepShare(values),
      metric: (metric) => {
        this.metric = metric;
        this.show();
      },
      tolerance: (value) => change({ tolerance: String(value), on: "warped" }),
    });
    this.root.append(this.controls.element, ...this.drawn.elements, this.curve.element);
  }

  // ---- runs

  /** A recorded run, at the step of the link or at its most telling one; or the beginning of a live one. */
  shown(trace, asked) {
    const { linked } = this;
    if (!asked) return this.grew(trace);
    this.linked = null;
    this.state = linked ? { ...linked.state, prompt: asked.prompt } : model.fromAsked(asked);
    this.moved(linked ? linked.step : telling(trace));
  }

  grew(trace) {
    if (this.follow) this.moved(trace.steps.length - 1);
  }

  run() {
    this.follow = true;
    this.runs.run(model.asked(this.state));
  }

  moved(step) {
    this.step = Math.max(0, Math.min(step, this.runs.trace.steps.length - 1));
  }

  goTo(step) {
    this.moved(step);
    this.follow = false;
    this.show();
  }

  // ---- settings

  change(values) {
    this.state = { ...this.state, ...values };
    this.runs.problem = "";
    this.show();
  }

  /** Other settings at the same share of what would be rejected. */
  keepShare(values) {
    const share = model.shareOf(this.results, this.state);
    this.change(values);
    if (share !== null) this.takeShare(this.results.shares.indexOf(share));
  }

  takeShare(index) {
    const known = model.tolerances(this.results, this.state);
    if (known) this.change({ tolerance: String(known[index]) });
  }

  // ---- drawing

  show() {
    if (!this.controls) return;
    const { state, runs, results, step, metric, ready } = this;
    const { trace, name, problem: message } = runs;
    const share = model.shareOf(results, state);
    this.controls.update({ state, runs, share, calibration: words.calibration(results, state, share) });
    this.drawn.update(trace, step);
    this.curve.update({ results, state, metric });
    const [live, steps] = [runs.live && runs.state, trace ? trace.steps.length : 0];
    this.tools.tell({ fsd: { ready, state, name, step, steps, share, live, message, metric } });
    this.tools.changed();
  }

  link() {
    return { fsd: model.encode(this.state, this.runs.name, this.step) };
  }
}

/** The step to open a run at: where most tokens passed by divergence alone, and one was still rejected if possible. */
function telling(trace) {
  const worth = trace.steps.map((one, i) => {
    if (!one.nodes.length) return -1;
    const kept = model.positions(trace, i).rows.filter((row) => row.kept);
    const zero = kept.filter((row) => row.node.p === 0).length;
    return 3 * zero + kept.filter((row) => row.rejects).length + (one.kept < one.drafted ? 0.5 : 0);
  });
  return Math.max(worth.indexOf(Math.max(...worth)), 0);
}

function draw(root, tools) {
  const panel = new Panel(root, tools);
  return { drawn: panel.drawn, link: () => panel.link() };
}

export { draw };

// The planner put together: one state, what the server says of it, and the cards that show it. It is a section of the
// panel "stack". For tests, window.__hsdSystems.planner = {state, plan, way, trial, message, chosen, edge, busy}.
import { folded } from "../../kit/parts.js";
import { bars } from "./bars.js";
import { formula } from "./formula.js";
import { graph, keyOf } from "./graph.js";
import { inputs } from "./inputs.js";
import * as models from "./models.js";
import { trial as trialCard } from "./trial.js";

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const BAD_LINK = "the plan in this link cannot be read: the first preset is shown instead";

class Planner {
  constructor(root, tools) {
    const { presets, most, longest } = tools.content.planner;
    Object.assign(this, { tools, presets, message: "", edge: null, busy: false, again: false });
    const edit =
      (change) =>
      (...given) =>
        this.use(models[change](this.state, ...given));
    this.inputs = inputs(
      { presets, most },
      {
        preset: (name) => this.use(models.fromPreset(presets.find((one) => one.name === name))),
        cost: edit("withCost"),
        further: edit("withFurther"),
        acceptance: edit("withAcceptance"),
        add: edit("withSmaller"),
        remove: (i) => {
          this.use(models.without(this.state, i));
          this.inputs.focusAdd();
        },
        copy: () => tools.copyLink(),
      },
    );
    this.results = [
      bars((i) => this.pick(i)),
      graph((key) => this.pickEdge(key)),
      formula(),
      trialCard(
        longest,
        (k, value) => this.tryThreshold(k, value),
        () => this.tryThresholds(null),
      ),
    ];
    const parts = [this.inputs.element, ...this.results.map((one) => one.element)];
    const hint =
      "From what the models cost and how often they agree: which of them to stack, and with what thresholds.";
    const planner = folded("sy-planner", "Which models to stack? The planner", hint, parts);
    planner.open = tools.query.has("plan");
    root.append(planner);
    this.drawn = this.open(tools.query.get("plan"), most, longest);
  }

  // ---- where a state comes from

  open(text, most, longest) {
    const linked = text && models.decode(text, most, longest);
    if (linked) return this.use({ ...linked, preset: models.presetOf(linked, this.presets) });
    return this.use(models.fromPreset(this.presets[0]), text ? BAD_LINK : "");
  }

  /** notice: a line to show until the next change. */
  use(state, notice = "") {
    Object.assign(this, { state, notice, edge: null });
    this.showInputs();
    return this.refresh();
  }

  /** Another of the ways that are compared; the best one is followed when the inputs change. */
  pick(i) {
    const picked = i === this.plan.best ? null : this.plan.alternatives[i].models;
    Object.assign(this, { state: { ...this.state, picked, tried: null }, edge: null });
    this.refresh();
  }

  pickEdge(key) {
    this.edge = this.edge === key ? null : key;
    this.draw();
  }

  tryThreshold(k, value) {
    this.tryThresholds((this.state.tried || this.way.thresholds).with(k, value));
  }

  tryThresholds(thresholds) {
    this.state = { ...this.state, tried: thresholds };
    this.refresh();
  }

  // ---- what the server says of it

  /** Ask about the present state; what changes while an answer is under way is asked about afterwards. */
  async refresh() {
    this.again = this.busy;
    if (this.busy) return;
    this.busy = true;
    this.mirror();
    do {
      this.again = false;
      await this.fetch(this.state);
    } while (this.again);
    this.busy = false;
    this.tools.changed();
    this.mirror();
  }

  async fetch(state) {
    const asked = models.question(state);
    const plan = same(asked, this.planned) ? this.plan : await this.tools.ask("plan_stack", asked);
    const best = plan.error ? null : chosenOf(plan, state);
    const wanted = best?.thresholds.length && wayOf(asked, best, state);
    const trial = wanted ? await this.tools.ask("try_thresholds", wanted) : null;
    if (this.again) return; // the inputs have changed meanwhile
    this.message = plan.error || trial?.error || "";
    if (!this.message)
      Object.assign(this, { plan, trial, best, way: trial ? trial.way : best, planned: asked, valid: state });
    this.show();
  }

  // ---- drawing

  show() {
    this.showInputs();
    if (!this.message) this.draw();
    for (const { element } of this.results) {
      element.classList.toggle("is-stale", Boolean(this.message));
      element.inert = Boolean(this.message);
      if (!this.plan) element.hidden = true;
    }
  }

  showInputs() {
    const { state, message, plan, notice } = this;
    this.inputs.update({ state, problem: message || notice, warned: message || !plan ? [] : plan.warnings });
  }

  draw() {
    const { plan, way, trial, best, edge: key } = this;
    const edge = [...way.edges, ...plan.graph.edges].find((one) => keyOf(one) === key) || null;
    const shown = { plan, way, trial, best, edge, chosen: this.chosen, count: this.valid.costs.length };
    for (const { element, update } of this.results) {
      element.hidden = false;
      update(shown);
    }
    this.mirror();
  }

  get chosen() {
    return this.plan && this.best ? this.plan.alternatives.indexOf(this.best) : -1;
  }

  // ---- links and tests

  link() {
    const shown = this.valid || this.state;
    return { plan: models.encode({ ...shown, picked: shown.tried && this.way ? this.way.models : shown.picked }) };
  }

  mirror() {
    const { state, plan, way, trial, message, chosen, edge, busy } = this;
    this.tools.tell({ planner: { state, plan, way, trial, message, chosen, edge, busy } });
  }
}

/** The way that is looked at: the one picked, where there is one of these models, else the best. */
function chosenOf(plan, { picked }) {
  return plan.alternatives.find((way) => same(way.models, picked)) || plan.alternatives[plan.best];
}

/** What the server is asked about the thresholds that are being tried, or the best ones. */
function wayOf(asked, best, { tried }) {
  const fits = tried && tried.length === best.thresholds.length;
  return { ...asked, stack: best.models, thresholds: fits ? tried : best.thresholds };
}

function draw(root, tools) {
  const planner = new Planner(root, tools);
  return { drawn: planner.drawn, link: () => planner.link() };
}

export { draw };

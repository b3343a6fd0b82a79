// The planner put together: one state, what the server says of it, and the cards that show it. It is a section of the
// panel "stack". For tests, window.__hsdSystems.planner = {state, plan, way, trial, message, chosen, edge, busy}.
import { section } from "./panels.js";
import { bars } from "./planner_bars.js";
import { formula } from "./planner_formula.js";
import { graph, keyOf } from "./planner_graph.js";
import { inputs } from "./planner_inputs.js";
import * as link from "./planner_link.js";
import * as models from "./planner_models.js";
import { trial as trialCard } from "./planner_trial.js";

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const BAD_LINK = "The plan in this link cannot be read: the first preset is shown instead";

class Planner {
  constructor(root, tools) {
    const { presets, most, longest } = tools.props.planner;
    Object.assign(this, { root, tools, presets, most, longest, message: "", edge: null, busy: false, again: false });
    this.cards = this.build();
    this.open(tools.query.get("plan"));
  }

  build() {
    const { presets, most, longest } = this;
    const edit =
      (change) =>
      (...given) =>
        this.use(models[change](this.state, ...given));
    const cards = {
      inputs: inputs(
        { presets, most },
        {
          preset: (name) => this.use(models.fromPreset(presets.find((one) => one.name === name))),
          cost: edit("withCost"),
          further: edit("withFurther"),
          acceptance: edit("withAcceptance"),
          add: edit("withSmaller"),
          remove: (i) => {
            this.use(models.without(this.state, i));
            this.cards.inputs.focusAdd();
          },
          copy: () => this.tools.copyLink(),
        },
      ),
      bars: bars((i) => this.pick(i)),
      graph: graph((key) => this.pickEdge(key)),
      formula: formula(),
      trial: trialCard(
        { longest },
        { threshold: (k, value) => this.tryThreshold(k, value), best: () => this.tryThresholds(null) },
      ),
    };
    this.root.classList.add("sy-planner");
    this.root.append(...Object.values(cards).map((one) => one.element));
    return cards;
  }

  // ---- where a state comes from

  open(text) {
    const linked = text && link.decode(text, this.most, this.longest);
    const state = linked
      ? { ...linked, preset: models.presetOf(linked, this.presets) }
      : models.fromPreset(this.presets[0]);
    this.use(state, text && !linked ? BAD_LINK : "");
  }

  /** notice: a line to show until the next change. */
  use(state, notice = "") {
    Object.assign(this, { state, notice, edge: null });
    this.showInputs();
    this.refresh();
  }

  /** Another of the ways that are compared; the best one is followed when the inputs change. */
  pick(i) {
    const way = this.plan.alternatives[i];
    this.state = { ...this.state, picked: i === this.plan.best ? null : way.models, tried: null };
    this.edge = null;
    this.refresh();
  }

  pickEdge(key) {
    this.edge = this.edge === key ? null : key;
    this.draw();
  }

  tryThreshold(k, value) {
    const now = this.state.tried || this.way.thresholds;
    this.tryThresholds(now.map((old, i) => (i === k ? value : old)));
  }

  tryThresholds(thresholds) {
    this.state = { ...this.state, tried: thresholds };
    this.refresh();
  }

  // ---- what the server says of it

  /** Ask for what is new; changes that come while an answer is under way are made up for afterwards. */
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
    let { plan } = this;
    let message = "";
    if (!same(asked, this.planned)) {
      const reply = await this.tools.ask("plan_stack", asked);
      message = reply.error || "";
      if (!message) plan = reply;
    }
    const best = message ? null : chosenOf(plan, state);
    const trial =
      best && best.thresholds.length ? await this.tools.ask("try_thresholds", wayOf(asked, best, state)) : null;
    if (this.again) return; // the inputs have changed meanwhile
    message = message || (trial && trial.error) || "";
    this.message = message;
    if (!message)
      Object.assign(this, { plan, trial, best, way: trial ? trial.way : best, planned: asked, valid: state });
    this.show();
  }

  // ---- drawing

  show() {
    const { message, plan } = this;
    this.showInputs();
    if (!message) this.draw();
    for (const name of ["bars", "graph", "formula", "trial"]) {
      this.cards[name].element.classList.toggle("is-stale", Boolean(message));
      this.cards[name].element.inert = Boolean(message);
      if (!plan) this.cards[name].element.hidden = true;
    }
  }

  showInputs() {
    const { state, message, plan, notice } = this;
    const warned = message || !plan ? [] : plan.warnings;
    this.cards.inputs.update({ state, problem: message ? capital(message) : notice, warned });
  }

  draw() {
    const { plan, way, trial, best } = this;
    const count = this.valid.costs.length;
    const chosen = plan.alternatives.indexOf(best);
    const path = way.edges.find((one) => keyOf(one) === this.edge);
    const edge = path || plan.graph.edges.find((one) => keyOf(one) === this.edge) || null;
    for (const name of ["bars", "graph", "formula"]) this.cards[name].element.hidden = false;
    this.cards.bars.update({ plan, chosen, count });
    this.cards.graph.update({ plan, way, edge: this.edge, count });
    this.cards.formula.update({ way, edge, count });
    this.cards.trial.element.hidden = !best.thresholds.length;
    this.cards.trial.update({ way, trial, best, count });
    this.mirror();
  }

  // ---- links and tests

  link() {
    const shown = this.valid || this.state;
    return { plan: link.encode({ ...shown, picked: shown.tried && this.way ? this.way.models : shown.picked }) };
  }

  mirror() {
    const { state, plan, way, trial, message, best, edge, busy } = this;
    const chosen = plan && best ? plan.alternatives.indexOf(best) : -1;
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

const capital = (words) => words[0].toUpperCase() + words.slice(1);

function draw(root, tools) {
  const planner = new Planner(root, tools);
  return { link: () => planner.link() };
}

section("stack", { order: 2, draw });

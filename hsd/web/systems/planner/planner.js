// The planner: from what models cost and how often they agree, which of them to stack, and with
// what thresholds. The server computes; here is one state, its answer, and what shows them. For
// tests it is window.__hsdPlanner.
import { ask, Refusal } from "../../answers/answers.js";
import { h } from "../../kit/dom.js";
import { bars } from "./bars.js";
import { formula } from "./formula.js";
import { inputs } from "./inputs.js";
import * as models from "./models.js";
import { trial } from "./trial.js";

const BAD_LINK =
  "the plan in this link cannot be read: the first of the inputs below is shown instead";

class Planner {
  notice = ""; // a line to show until the next change
  /** @type {PlannerPlan | null} */
  plan = null; // the last one that could be made
  /** @type {PlannerInputs | null} */
  planned = null; // the inputs that it was made of
  problem = ""; // what is wrong with the inputs
  busy = false; // a question is under way

  /**
   * @param {object} known - what to start from, how many models there may be, the highest threshold
   * @param {PlannerPreset[]} known.presets
   * @param {number} known.most
   * @param {number} known.longest
   * @param {string | null} linked - what `link` gave in an earlier visit
   * @param {() => void} changed - called when `link` gives something else
   * @param {() => void} copy - copies a link to the page
   */
  constructor({ presets, most, longest }, linked, changed, copy) {
    Object.assign(window, { __hsdPlanner: this });
    this.changed = changed;
    /** @typedef {(now: PlannerInputs, ...given: any[]) => PlannerInputs} Change */
    /** @type {(change: Change) => (...given: any[]) => void} */
    const edit =
      (change) =>
      (...given) =>
        this.use(change(this.inputs, ...given));
    const named = (/** @type {string} */ name) =>
      presets.find((preset) => preset.name === name) ?? presets[0];
    this.fields = inputs(presets, most, {
      preset: edit((_, name) => models.fromPreset(named(name))),
      cost: edit((now, i, text) => models.withNumber(now, "costs", i, text)),
      further: edit((now, i, text) => models.withNumber(now, "perToken", i, text)),
      acceptance: edit(models.withAcceptance),
      add: edit(models.withSmaller),
      remove: edit(models.without),
      copy,
    });
    const tried = edit((now, thresholds) => ({ ...now, tried: thresholds }));
    this.results = [bars((i) => this.pick(i)), formula(), trial(longest, tried)];
    const [plan, numbers, badly] = this.results.map(({ element }) => element);
    const more = h("details.hf-more", h("summary", "Level by level, with numbers"), numbers);
    const tries = h("details.hf-more", h("summary", "What if T is badly chosen?"), badly);
    this.shown = h("div.hf-plan", { hidden: true }, plan, more, tries);
    this.element = h("div.hf-planner", this.fields.element, this.shown);
    const given = linked === null ? null : models.decode(linked, most);
    this.edited = linked !== null; // whether a link must say what is planned
    this.inputs = given ?? models.fromPreset(presets[0]);
    if (linked !== null && !given) this.notice = BAD_LINK;
    this.drawn = this.refresh();
  }

  /** Plan for other inputs. @param {PlannerInputs} now */
  use(now) {
    this.inputs = now;
    this.notice = "";
    this.edited = true;
    this.refresh();
  }

  /**
   * Look at another of the ways that are compared. The best one stays the best when the inputs
   * change, whichever it then is.
   * @param {number} i
   */
  pick(i) {
    const { plan } = this;
    const picked = !plan || i === plan.best ? null : plan.alternatives[i].models;
    this.use({ ...this.inputs, picked, tried: null });
  }

  /**
   * Ask about the present inputs; what changes while an answer is under way is asked about
   * afterwards.
   */
  async refresh() {
    this.fill();
    if (this.busy) return;
    this.busy = true;
    let present;
    do {
      present = this.inputs;
      try {
        const plan = await ask("plan_stack", models.question(present));
        if (present === this.inputs) {
          this.plan = plan;
          this.planned = present;
          this.problem = "";
        }
      } catch (refusal) {
        if (!(refusal instanceof Refusal)) throw refusal;
        this.problem = refusal.message;
      }
    } while (present !== this.inputs);
    this.busy = false;
    this.show();
    this.changed();
  }

  fill() {
    const { inputs: now, plan, problem, notice } = this;
    this.fields.update(now, problem || notice, plan && !problem ? plan.warnings : []);
  }

  show() {
    const { plan, planned, problem, shown } = this;
    this.fill();
    shown.hidden = !plan;
    shown.classList.toggle("is-stale", Boolean(problem));
    shown.inert = Boolean(problem);
    if (!plan || !planned || problem) return;
    for (const { update } of this.results) update({ plan, count: planned.costs.length });
  }

  /** The inputs that the plan is of, for a link. */
  link() {
    const { inputs: now, planned, plan } = this;
    if (!plan || !planned) return models.encode(now);
    const picked = planned.tried ? plan.way.models : planned.picked;
    return models.encode({ ...planned, picked });
  }
}

export { Planner };

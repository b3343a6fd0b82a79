// The planner: from what models cost and how often they agree, which of them to stack, and with what thresholds. The
// server computes; here is one state, its answer, and what shows them. For tests it is window.__hsdPlanner.
import { ask, Refusal } from "../../answers/answers.js";
import { h } from "../../kit/dom.js";
import { bars } from "./bars.js";
import { formula } from "./formula.js";
import { inputs } from "./inputs.js";
import * as models from "./models.js";
import { trial } from "./trial.js";

const BAD_LINK = "the plan in this link cannot be read: the first of the inputs below is shown instead";

class Planner {
  /** A line to show until the next change. */ notice = "";
  /** @type {PlannerPlan | null} The last one that could be made. */ plan = null;
  /** @type {PlannerInputs | null} What it was made of. */ planned = null;
  /** What is wrong with the inputs. */ problem = "";
  /** A question is under way. */ busy = false;

  /**
   * linked: what `link` has given before; changed: it gives something else; copy: copy a link to the page.
   * @param {PlannerContents} known @param {string | null} linked @param {() => void} changed @param {() => void} copy
   */
  constructor({ presets, most, longest }, linked, changed, copy) {
    Object.assign(window, { __hsdPlanner: this });
    this.changed = changed;
    const edit = (/** @type {(now: PlannerInputs, ...given: any[]) => PlannerInputs} */ change) => {
      return (/** @type {any[]} */ ...given) => this.use(change(this.inputs, ...given));
    };
    this.fields = inputs(presets, most, {
      preset: edit((_, name) => models.fromPreset(presets.find((one) => one.name === name) ?? presets[0])),
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
    const found = linked === null ? null : models.decode(linked, most);
    this.edited = linked !== null; // whether a link must say what is planned
    this.inputs = found ?? models.fromPreset(presets[0]);
    if (linked !== null && !found) this.notice = BAD_LINK;
    this.drawn = this.refresh();
  }

  /** Plan for other inputs. @param {PlannerInputs} now */
  use(now) {
    Object.assign(this, { inputs: now, notice: "", edited: true });
    this.refresh();
  }

  /** Another of the ways that are compared; the best one is followed when the inputs change. @param {number} i */
  pick(i) {
    const picked = !this.plan || i === this.plan.best ? null : this.plan.alternatives[i].models;
    this.use({ ...this.inputs, picked, tried: null });
  }

  /** Ask about the present inputs; what changes while an answer is under way is asked about afterwards. */
  async refresh() {
    this.fill();
    if (this.busy) return;
    this.busy = true;
    let asked;
    do {
      asked = this.inputs;
      try {
        const plan = await ask("plan_stack", models.question(asked));
        if (asked === this.inputs) Object.assign(this, { plan, planned: asked, problem: "" });
      } catch (refusal) {
        if (!(refusal instanceof Refusal)) throw refusal;
        this.problem = refusal.message;
      }
    } while (asked !== this.inputs);
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
    return models.encode({ ...planned, picked: planned.tried ? plan.way.models : planned.picked });
  }
}

export { Planner };

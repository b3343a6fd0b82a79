// What the two rows hold: the run that the frame shows, and beside it the same run seen from the other rule (paired) or a
// run of that rule's own (free). Knows nothing of moving and drawing; compare.js builds on it.
import { facts } from "../kit/facts.js";
import { Live } from "../kit/live.js";
import { mirror, mirrorStep } from "../step/mirror.js";
import { ruleOf } from "../step/model.js";
import { difference } from "../step/sentences.js";
import * as frame from "../watch/watch.js";
import { columnOf } from "./scrubber.js";
import { problem } from "./words.js";

const WAITING = "Waiting for the first step …";

class Lanes {
  /** rows, texts: made by compare.js. secondTold() is called whenever there is more of the second run. */
  constructor(server, queue) {
    Object.assign(this, { server, queue });
    Object.assign(this, { source: null, trace: null, count: 0, live: false }); // what the frame shows, and its trace
    Object.assign(this, { step: 0, node: null }); // node: null for the branch that decided
    this.second = null;
    this.parted = null; // the first step after different texts
    this.moving = false;
    this.held = false; // while true, no second run is asked for
    this.columns = []; // per step what the scrubber shows
  }

  get free() {
    return this.mode === "free";
  }

  // ---- the run that the frame shows

  /** Another run is shown. */
  take(trace) {
    this.leaveSecond();
    this.held = false;
    this.source = frame.source();
    this.keep(trace);
    this.loadRows();
  }

  /** The run that is shown grew, or ended. Before its first step the mirrored row is empty, so it is loaded then. */
  grow(trace) {
    const more = trace.steps.slice(this.count);
    this.keep(trace);
    if (this.problem) return;
    const result = this.live ? null : trace.result;
    const [run, other] = [this.rowOf("run"), this.rowOf("other")];
    run.extend(more, result);
    if (this.free) this.texts.take(this.rows.indexOf(run), run.source, false);
    else if (other.source) other.extend(more.map(mirrorStep), result);
    else if (this.count) other.load(mirror(trace), this.place());
  }

  keep(trace) {
    this.trace = trace;
    this.count = trace.steps.length;
    this.live = frame.place().live;
  }

  // ---- which rule is where

  /** The names of both rules: of the run, and of the other one. */
  get rules() {
    const { setup, steps } = this.trace;
    const { options } = setup;
    const found = steps.find((step) => step.shadow);
    if (found) return [found.verdict.rule, found.shadow.rule];
    return [ruleOf(options), ruleOf({ ...options, rule: options.shadow || usual(options.draft) })];
  }

  /** The row of the run itself, or of the other rule. */
  rowOf(side) {
    return this.rows[(side === "run") === this.swapped ? 1 : 0];
  }

  get problem() {
    return problem(this.trace, this.mode, this.rules);
  }

  loadRows() {
    if (this.problem) return;
    const [run, other] = [this.rowOf("run"), this.rowOf("other")];
    const beside = this.free ? this.second && this.second.trace : this.count > 0 && mirror(this.trace);
    run.load(this.trace, this.place());
    if (beside) other.load(beside, this.place());
    else other.clear(this.rules[1], WAITING);
    if (this.free) this.rows.forEach((row, i) => this.texts.take(i, row.source, true));
  }

  place() {
    return { step: this.step, node: this.node, live: this.live };
  }

  /** The rows' players report every move; what this screen does with them itself is no move of the visitor's. */
  quietly(work) {
    const before = this.moving;
    this.moving = true;
    work();
    this.moving = before;
  }

  // ---- the second run

  /** In the free mode the other rule's run is asked for as soon as the first run has ended. */
  wantSecond() {
    if (!this.free || this.second || this.held || this.live || !this.count || this.problem) return;
    const changed = (_, fresh) => this.secondGrew(fresh);
    this.second = new Live(this.server, { changed, queue: this.queue });
    this.second.begin(secondValues(this.trace, this.rules[1], this.source.link || {}));
  }

  leaveSecond() {
    if (this.second) this.second.leave();
    this.second = null;
  }

  secondGrew(steps) {
    if (!this.free) return;
    const { trace, ended } = this.second;
    const row = this.rowOf("other");
    const fresh = !row.source;
    if (trace) {
      this.quietly(() => (fresh ? row.load(trace, this.place()) : row.extend(steps, ended ? trace.result : null)));
      this.texts.take(this.rows.indexOf(row), row.source, fresh);
    }
    this.secondTold();
  }

  // ---- both rows together

  get length() {
    return Math.max(...this.rows.map((row) => row.steps.length));
  }

  get running() {
    return this.live || Boolean(this.free && this.second && !this.second.ended);
  }

  /** Whether both rows judge the same draft at this step. */
  together(step) {
    if (!this.free) return true;
    return this.rows.every((row) => step < row.steps.length) && (this.parted === null || step < this.parted);
  }

  makeColumns() {
    return Array.from({ length: this.length }, (_, i) => {
      const own = this.trace.steps[i];
      const kind = own && this.together(i) ? difference(own) : null;
      const found = kind && { kind, by: own.kept - own.shadow.kept };
      return columnOf(
        this.rows.map((row) => row.steps[i]),
        found,
        found ? (this.swapped ? -found.by : found.by) : 0,
      );
    });
  }

  roleOf(row, role) {
    const { length } = row.steps;
    if (this.step < length || !length) return role;
    const ended = row === this.rowOf("run") ? !this.live : !this.second || this.second.ended; // none: it gave way
    return ended ? `this text ended at step ${length}` : `still at step ${length}`;
  }
}

/** The rule that a run is compared with where it names none. */
const usual = ({ drafts, tree }) =>
  drafts === 1 ? "tokenwise" : (facts.layouts.find(({ name }) => name === tree)?.vanilla ?? "recursive-tokenwise");

/** The values of the second run, named as in a link: the same as the first one's in everything but the rule. */
function secondValues({ setup, prompt }, rule, link) {
  const { pair, options } = setup;
  const { system, draft, sampling, max_new_tokens: length, prompt_as } = options;
  const models = link.target ? { target: link.target, draft: link.draft } : { pair };
  const { gamma, drafts, tree, nodes } = draft;
  const drafting = { system, rule, shadow: ruleOf(options), gamma, drafts, tree, nodes };
  const seed = link.seed || String(options.seed);
  return { ...models, prompt: prompt.text, prompt_as, ...drafting, ...sampling, seed, length };
}

export { Lanes };

// What the two rows hold: the run that the frame shows, and beside it the same run seen from the other rule (paired) or a
// run of that rule's own (free). Knows nothing of moving and drawing; compare.js builds on it.
import { mirror, mirrorStep } from "../player/mirror.js";
import { fullName } from "../player/model.js";
import * as frame from "../watch/watch.js";
import { difference } from "./explain.js";
import { columnOf } from "./scrubber.js";
import { SecondRun, secondValues } from "./second.js";
import { problem } from "./words.js";

class Lanes {
  /** The rows are filled in by build(); secondTold() is called whenever there is more of the second run. */
  constructor(server, queue) {
    this.server = server;
    this.queue = queue;
    this.source = null; // what the frame shows, and its trace
    this.trace = null;
    this.count = 0;
    this.live = false;
    this.second = null;
    this.step = 0;
    this.node = null; // null: the branch that decided
    this.parted = null; // the first step after different texts
    this.moving = false;
    this.held = false; // while true, no second run is asked for
    this.columns = []; // per step what the scrubber shows
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

  /** The run that is shown grew, or ended. */
  grow(trace) {
    const known = this.count;
    this.keep(trace);
    if (this.problem) return;
    const more = trace.steps.slice(known);
    const result = this.live ? null : trace.result;
    this.rowOf("run").extend(more, result);
    if (this.mode === "paired") this.growMirror(more, result, trace);
    this.texts.take(this.indexOf("run"), this.rowOf("run").source, false);
  }

  /** Before the first step the other row is empty, so it is loaded then. */
  growMirror(more, result, trace) {
    const row = this.rowOf("other");
    if (row.source)
      row.extend(
        more.map((step) => mirrorStep(step, trace.setup)),
        result,
      );
    else if (trace.steps.length) row.load(mirror(trace), this.place());
  }

  keep(trace) {
    this.trace = trace;
    this.count = trace.steps.length;
    this.live = frame.place().live;
  }

  // ---- which rule is where

  get rules() {
    const { setup, steps } = this.trace;
    const found = steps.find((step) => step.shadow);
    return [setup.rule, found ? found.shadow.rule : setup.shadow || usual(setup)].map((rule) => fullName(rule, setup));
  }

  /** The row of the run itself, or of the other rule. */
  indexOf(side) {
    return (side === "run") === this.swapped ? 1 : 0;
  }

  rowOf(side) {
    return this.rows[this.indexOf(side)];
  }

  get problem() {
    return problem(this.trace, this.mode, this.rules);
  }

  sameRule() {
    return this.rules[0] === this.rules[1];
  }

  loadRows() {
    if (this.problem) return;
    this.rowOf("run").load(this.trace, this.place());
    const paired = this.mode === "paired";
    const other = paired ? this.count > 0 && mirror(this.trace) : this.second && this.second.trace;
    if (other) this.rowOf("other").load(other, this.place());
    else this.rowOf("other").clear(this.rules[1], "Waiting for the first step …");
    for (const side of ["run", "other"]) this.texts.take(this.indexOf(side), this.rowOf(side).source, true);
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
    if (this.mode !== "free" || this.second || this.held || this.live) return;
    if (!this.count || this.problem) return;
    this.second = new SecondRun(this.server, this.queue, (steps, fresh) => this.secondGrew(steps, fresh));
    this.second.begin(secondValues(this.trace, this.rules[1], this.source.link));
  }

  leaveSecond() {
    if (this.second) this.second.leave();
    this.second = null;
  }

  secondGrew(steps, fresh) {
    const { second } = this;
    if (this.mode !== "free" || !second) return;
    const row = this.rowOf("other");
    this.quietly(() => {
      if (fresh) row.load(second.trace, this.place());
      else if (second.trace) row.extend(steps, second.ended ? second.trace.result : null);
    });
    if (second.trace) this.texts.take(this.indexOf("other"), row.source, fresh);
    this.secondTold();
  }

  // ---- both rows together

  get length() {
    return Math.max(...this.rows.map((row) => row.steps.length));
  }

  get running() {
    return this.live || Boolean(this.mode === "free" && this.second && !this.second.ended);
  }

  /** Whether both rows judge the same draft at this step. */
  together(step) {
    return (
      this.mode === "paired" ||
      (this.rows.every((row) => step < row.steps.length) && (this.parted === null || step < this.parted))
    );
  }

  makeColumns() {
    const sides = this.rows.map((row) => row.steps);
    return Array.from({ length: this.length }, (_, i) => {
      const own = this.trace.steps[i];
      const found = own && this.together(i) ? difference(own, this.trace.setup) : null;
      const by = found ? (this.swapped ? -found.by : found.by) : 0;
      return columnOf(sides[0][i], sides[1][i], found, by);
    });
  }

  roleOf(row, role) {
    const { length } = row.steps;
    if (this.step < length || !length) return role;
    const ended = row === this.rowOf("run") ? !this.live : this.second.ended;
    return ended ? `this text ended at step ${length}` : `still at step ${length}`;
  }
}

/** The rule that a run is compared with where it names none. */
function usual({ drafts = 1, tree = "paths" }) {
  return drafts === 1 ? "tokenwise" : { distinct: "top-down", top: "one-hot" }[tree] || "recursive-tokenwise";
}

export { Lanes };

// The card under a run: both rules over all of its steps, and, by one switch, each with its own
// text: a second run by the other rule, from the same seed and with all other options equal.
import { why } from "../answers/answers.js";
import { Run } from "../answers/run.js";
import { h } from "../kit/dom.js";
import { rule as ruleFacts } from "../kit/facts.js";
import { number, plural } from "../kit/format.js";
import { button, lossy, scroller } from "../kit/controls.js";
import { alone, compare, parting, sameText } from "../step/sums.js";
import * as texts from "../step/texts.js";

const HEADS = [
  "rule",
  "kept, this time",
  "kept, over all coins",
  "keeps more in",
  "tokens per target call",
];
const TITLE = "Both rules, over the whole run";
const short = (/** @type {string} */ name) => ruleFacts(name).short;
/** The name of the chain rule by which a rule judges. @param {string} name */
const chainOf = (name) => ruleFacts(name).asked ?? name;

class Beside {
  on = false; // the switch
  run = /** @type {Trace | null} */ (null); // the one that is shown
  live = false; // it goes on
  step = 0;
  second = /** @type {Run | null} */ (null);
  swapped = false; // the second run is on the stage
  wanted = /** @type {number | null} */ (null); // the step of the second run that a link asks for

  constructor(/** @type {BesideActions} */ { options, player, changed }) {
    this.options = options;
    this.player = player;
    this.changed = changed;
    const off = { "role": "switch", "aria-checked": "false" };
    const turn = () => this.turn();
    this.switch = button("Each with its own text", "a second run, by the other rule", turn, off);
    this.cancel = button("Cancel", "end the second run; what there is of it stays", () =>
      this.second?.cancel(),
    );
    this.status = h("p.hp-hint", { role: "status" });
    this.rows = h("tbody");
    this.note = h("p.hp-hint");
    this.texts = texts.create((/** @type {number} */ i, /** @type {number} */ step) =>
      this.go(i === 1, step),
    );
    const heads = HEADS.map((head) => h("th", { scope: "col" }, head));
    const table = h("table.hf-sums", h("thead", h("tr", heads)), this.rows);
    this.element = h(
      "section.hp-card.hf-beside",
      { "aria-label": TITLE, "hidden": true },
      h("div.hp-head", h("h3.hp-title", TITLE), this.switch, this.cancel),
      scroller("both rules, in numbers", table),
      this.note,
      this.status,
      this.texts.element,
    );
  }

  // ---- the run that is shown

  /**
   * Note what a link asks for: whether the switch is on, and whether a step of the second run is
   * to be shown.
   * @param {{own: boolean, swapped: boolean, step?: number}} link
   */
  want({ own, swapped, step }) {
    this.on = own && !why("run");
    this.wanted = this.on && swapped ? (step ?? 0) : null;
  }

  /**
   * Take another run, which is shown from now on.
   * @param {Trace} trace
   * @param {boolean} live - it goes on
   */
  take(trace, live) {
    this.leave();
    this.run = { ...trace, steps: [...trace.steps] };
    this.live = live;
    this.swapped = false;
    this.step = this.player.state().step;
    this.fill();
    this.begin();
  }

  /**
   * Add steps to the run that is shown.
   * @param {Step[]} steps
   * @param {boolean} live - it goes on
   */
  grow(steps, live) {
    this.run?.steps.push(...steps);
    this.live = live;
    if (this.on) this.texts.take(0, this.run, false);
    this.begin();
  }

  /** Give up the second run: another run is to be shown. */
  leave() {
    this.second?.leave();
    this.second = null;
  }

  moveTo(/** @type {number} */ step) {
    this.step = step;
    this.showTexts();
  }

  /** The part of a link that says what of this card is shown. @returns {AddressValues} */
  get address() {
    return this.on ? { mode: "free", swap: this.swapped ? 1 : null } : {};
  }

  // ---- the second run

  turn() {
    this.on = !this.on;
    if (!this.on) {
      this.go(false, this.step);
      this.leave();
    }
    this.fill();
    this.begin();
    this.changed();
  }

  /** Draw both texts anew from their start, where they are shown. */
  fill() {
    if (!this.on) return;
    this.texts.take(0, this.run, true);
    this.texts.take(1, null, true);
  }

  /** Start the second run as soon as the first one has ended. */
  begin() {
    const [own, beside] = this.rules;
    if (this.on && !this.second && !this.live && beside) {
      const rule = chainOf(beside.rule);
      const shadow = this.run?.setup.options.own ? "" : chainOf(own.rule);
      const options = { ...this.options(), rule, shadow };
      this.second = new Run(options, (run, steps) => this.grew(run, steps));
    }
    this.draw();
  }

  /**
   * Show what the second run has written.
   * @param {Run} second
   * @param {Step[]} steps - the new ones
   */
  grew(second, steps) {
    const { trace, steps: all, ended } = second;
    if (trace) this.texts.take(1, trace, all.length === steps.length);
    if (this.swapped) this.player.extend(steps, ended ? second.result : null);
    const { wanted } = this;
    const reached = wanted !== null && all.length > wanted;
    if (reached) this.go(true, wanted);
    if (reached || ended) this.wanted = null;
    this.draw();
  }

  /**
   * Show a step of one of both runs. Up to where they part they are the same.
   * @param {boolean} second
   * @param {number} step
   */
  go(second, step) {
    const { parted } = this;
    const before = this.swapped;
    this.swapped = second && parted !== null && step >= parted;
    const live = this.swapped && !this.second?.ended;
    const trace = this.swapped ? this.second?.trace : this.run;
    if (this.swapped === before) this.player.select({ step });
    else if (trace) this.player.load(trace, { step, live });
    this.draw();
    this.changed();
  }

  /** The step in which the texts of both runs part; null where they do not. */
  get parted() {
    const trace = this.second?.trace;
    return this.run && trace ? parting(this.run, trace) : null;
  }

  /**
   * The sums of the rules over the run: of its own, and of the other one where there is one.
   * @returns {RuleSums[]}
   */
  get rules() {
    return this.run ? compare(this.run) : [];
  }

  // ---- drawing

  draw() {
    const rows = this.rules;
    this.element.hidden = rows.length < 2;
    if (this.element.hidden) return;
    const { on, second, live } = this;
    const [own, beside] = rows;
    const third = on && second ? alone(second, beside.rule) : null;
    this.switch.setAttribute("aria-checked", String(on));
    this.switch.hidden = Boolean(why("run"));
    this.cancel.hidden = !on || !second || second.ended;
    const lines = [row(own, "this run"), row(beside, "on the same drafts")];
    if (third) lines.push(row(third, "with its own text"));
    this.rows.replaceChildren(...lines);
    this.note.textContent = note(own.rule, beside.rule, { live, third });
    this.status.textContent = on ? progress(second, live, beside.rule) : "";
    this.texts.element.hidden = !on;
    this.showTexts();
    this.mirror();
  }

  showTexts() {
    const { parted, second, step, run } = this;
    if (!this.on || !run) return;
    const names = this.rules.map(({ rule }) => short(rule));
    const words = agreement(parted, second, run);
    this.texts.show({ names, shown: Number(this.swapped), step, parted, words });
  }

  /** What is on screen, for tests. */
  mirror() {
    const { on, swapped, parted, second: run } = this;
    const committed = run?.steps.flatMap((step) => step.committed);
    const tokens = committed?.map(({ token }) => token);
    const second = run && { state: run.state, tokens };
    window.__hsdBeside = { on, swapped, parted, second };
  }
}

/**
 * The row of a rule in the table.
 * @param {RuleSums} sums
 * @param {string} place - of the drafts that the rule judged
 */
function row({ rule, kept, drafted, mean, more, tokens, calls }, place) {
  const cells = [
    `${kept} of ${drafted}`,
    number(mean),
    more === undefined ? "" : plural(more, "step"),
    [h("b", number(calls ? tokens / calls : 0)), h("small", ` ${tokens} in ${calls}`)],
  ];
  const known = ruleFacts(rule);
  const names = [known.capitalised_name, lossy(known), h("small", ` ${place}`)];
  return h(
    "tr",
    { "data-rule": rule, "data-place": place },
    h("th", { scope: "row" }, names),
    cells.map((cell) => h("td", cell)),
  );
}

/**
 * The note under the table on what its numbers mean.
 * @param {string} own - the rule of the run
 * @param {string} beside - the rule that judged the same drafts
 * @param {{live: boolean, third: RuleSums | null}} shown - third: the sums of the second run
 */
function note(own, beside, { live, third }) {
  const extra = ruleFacts(beside).resamples
    ? " Target calls that it would make after a rejection are left out."
    : "";
  const luck = third ? " Which of two texts is ahead is partly luck." : "";
  const text = live ? "So far: the text" : "The text";
  const judged = `${short(beside)} judged the same drafts with the same coins.`;
  return `${text} is that of ${short(own)}; ${judged}${extra}${luck}`;
}

/**
 * The line about the progress of the second run; "" when there is nothing to say.
 * @param {Run | null} second
 * @param {boolean} live
 * @param {string} rule
 */
function progress(second, live, rule) {
  if (live) return "The second run starts when the first one has ended.";
  if (!second) return "";
  const { problem, state, place, steps } = second;
  const run = `The run of ${short(rule)}`;
  if (problem)
    return steps.length ? `${run} ended early: ${problem}` : `There is no second run: ${problem}`;
  if (state === "waiting" && place) return `${run} is number ${place} in line.`;
  if (state === "cancelled") return `${run} was cancelled: this is what there was.`;
  if (state === "done") return "";
  const count = plural(steps.length, "step");
  return `Running ${short(rule)} on the same prompt and seed: ${count} so far.`;
}

/**
 * The sentence about up to where both texts agree.
 * @param {number | null} parted
 * @param {Run | null} second
 * @param {Trace} run
 */
function agreement(parted, second, run) {
  if (!second || !second.steps.length) return "The second text is not there yet.";
  if (parted !== null) {
    const part = `The rules part in step ${parted + 1}`;
    const same = "up to it they have the same text, drafts and coins";
    return `${part}: ${same}. A click on a later token shows its step.`;
  }
  if (!second.ended) return "The texts agree so far.";
  return sameText(run, second)
    ? "The texts agree to the end."
    : "The texts agree except for what the last step added.";
}

export { Beside };

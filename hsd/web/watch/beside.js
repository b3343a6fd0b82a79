// The card under a run: both rules over all of its steps, and, by one switch, each with its own text: a second run by the
// other rule, from the same seed and with all other options equal.
import { why } from "../answers/answers.js";
import { Run } from "../answers/run.js";
import { h } from "../kit/dom.js";
import { rule as ruleFacts } from "../kit/facts.js";
import { number, plural } from "../kit/format.js";
import { button, lossy, scroller } from "../kit/parts.js";
import { alone, compare, parting, sameText } from "../step/sums.js";
import * as texts from "../step/texts.js";

const HEADS = ["rule", "kept, this time", "kept, over all coins", "keeps more in", "tokens per target call"];
const TITLE = "Both rules, over the whole run";
const short = (/** @type {string} */ name) => ruleFacts(name).short;
/** The chain rule by which a rule judges. @param {string} name */
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
    this.switch = button("Each with its own text", "a second run, by the other rule", () => this.turn(), off);
    this.cancel = button("Cancel", "end the second run; what there is of it stays", () => this.second?.cancel());
    this.status = h("p.hp-hint", { role: "status" });
    this.rows = h("tbody");
    this.note = h("p.hp-hint");
    this.texts = texts.create((/** @type {number} */ i, /** @type {number} */ step) => this.go(i === 1, step));
    const heads = HEADS.map((head) => h("th", { scope: "col" }, head));
    this.element = h(
      "section.hp-card.hf-beside",
      { "aria-label": TITLE, "hidden": true },
      h("div.hp-head", h("h3.hp-title", TITLE), this.switch, this.cancel),
      scroller("both rules, in numbers", h("table.hf-sums", h("thead", h("tr", heads)), this.rows)),
      this.note,
      this.status,
      this.texts.element,
    );
  }

  // ---- the run that is shown

  /** What a link asks for: whether the switch is on, and whether a step of the second run is to be shown. @param {{own: boolean, swapped: boolean, step?: number}} link */
  want({ own, swapped, step }) {
    this.on = own && !why("run");
    this.wanted = this.on && swapped ? (step ?? 0) : null;
  }

  /** Another run is shown. @param {Trace} trace @param {boolean} live */
  take(trace, live) {
    this.leave();
    this.run = { ...trace, steps: [...trace.steps] };
    this.live = live;
    this.swapped = false;
    this.step = this.player.state().step;
    this.fill();
    this.begin();
  }

  /** It has these more steps, or has ended. @param {Step[]} steps @param {boolean} live */
  grow(steps, live) {
    this.run?.steps.push(...steps);
    this.live = live;
    if (this.on) this.texts.take(0, this.run, false);
    this.begin();
  }

  /** Another run was asked for, and this one's second run gives way to it. */
  leave() {
    this.second?.leave();
    this.second = null;
  }

  moveTo(/** @type {number} */ step) {
    this.step = step;
    this.showTexts();
  }

  /** What a link says of all this. @returns {AddressValues} */
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

  /** Both texts from their start, where they are shown. */
  fill() {
    if (!this.on) return;
    this.texts.take(0, this.run, true);
    this.texts.take(1, null, true);
  }

  /** The second run starts as soon as the first one has ended. */
  begin() {
    const [own, other] = this.rules;
    if (this.on && !this.second && !this.live && other) {
      const options = { ...this.options(), rule: chainOf(other.rule), shadow: chainOf(own.rule) };
      this.second = new Run(options, (run, steps) => this.grew(run, steps));
    }
    this.draw();
  }

  /** @param {Run} second @param {Step[]} steps - the new ones */
  grew(second, steps) {
    const { trace, steps: all, ended } = second;
    if (trace) this.texts.take(1, trace, all.length === steps.length);
    if (this.swapped) this.player.extend(steps, ended ? second.result : null);
    const { wanted } = this;
    if (wanted !== null && all.length > wanted) this.go(true, wanted);
    if (wanted !== null && (ended || all.length > wanted)) this.wanted = null;
    this.draw();
  }

  /** Show a step of one of both runs. Up to where they part they are the same. @param {boolean} second @param {number} step */
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

  get parted() {
    return this.run && this.second?.trace ? parting(this.run, this.second.trace) : null;
  }

  /** What the rules came to over the run: its own, and the other one where there is one. @returns {RuleSums[]} */
  get rules() {
    return this.run ? compare(this.run) : [];
  }

  // ---- drawing

  draw() {
    const rows = this.rules;
    this.element.hidden = rows.length < 2;
    if (this.element.hidden) return;
    const { on, second, live } = this;
    const [own, other] = rows;
    const third = on && second ? alone(second, other.rule) : null;
    this.switch.setAttribute("aria-checked", String(on));
    this.switch.hidden = Boolean(why("run"));
    this.cancel.hidden = !on || !second || second.ended;
    const places = ["this run", "on the same drafts", "with its own text"];
    this.rows.replaceChildren(...[own, other, third].flatMap((sums, i) => (sums ? row(sums, places[i]) : [])));
    this.note.textContent = note(own.rule, other.rule, { live, third });
    this.status.textContent = on ? progress(second, live, other.rule) : "";
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
    const { on, swapped, parted, second } = this;
    const tokens = second?.steps.flatMap(({ committed }) => committed.map(({ token }) => token));
    window.__hsdBeside = { on, swapped, parted, second: second && { state: second.state, tokens } };
  }
}

/** @param {RuleSums} sums @param {string} place - of the drafts that the rule judged */
function row({ rule, kept, drafted, mean, more, tokens, calls }, place) {
  const cells = [
    `${kept} of ${drafted}`,
    number(mean),
    more === undefined ? "" : plural(more, "step"),
    [h("b", number(calls ? tokens / calls : 0)), h("small", ` ${tokens} in ${calls}`)],
  ];
  return h(
    "tr",
    { "data-rule": rule, "data-place": place },
    h("th", { scope: "row" }, ruleFacts(rule).head, lossy(ruleFacts(rule)), h("small", ` ${place}`)),
    cells.map((cell) => h("td", cell)),
  );
}

/** What the numbers mean. third: of the second run. @param {string} own @param {string} other @param {{live: boolean, third: RuleSums | null}} shown */
function note(own, other, { live, third }) {
  const extra = ruleFacts(other).resamples ? " Target calls that it would make after a rejection are left out." : "";
  const luck = third ? " Which of two texts is ahead is partly luck." : "";
  const so = live ? "So far: the" : "The";
  return `${so} text is that of ${short(own)}; ${short(other)} judged the same drafts with the same coins.${extra}${luck}`;
}

/** How the second run is getting on; "" when there is nothing to say. @param {Run | null} second @param {boolean} live @param {string} rule */
function progress(second, live, rule) {
  if (live) return "The second run starts when the first one has ended.";
  if (!second) return "";
  const { problem, state, place, steps } = second;
  if (problem)
    return steps.length ? `The run of ${short(rule)} ended early: ${problem}` : `There is no second run: ${problem}`;
  if (state === "waiting" && place) return `The run of ${short(rule)} is number ${place} in line.`;
  if (state === "cancelled") return `The run of ${short(rule)} was cancelled: this is what there was.`;
  return state === "done"
    ? ""
    : `Running ${short(rule)} on the same prompt and seed: ${plural(steps.length, "step")} so far.`;
}

/** Up to where both texts agree. @param {number | null} parted @param {Run | null} second @param {Trace} run */
function agreement(parted, second, run) {
  if (!second || !second.steps.length) return "The second text is not there yet.";
  if (parted !== null)
    return `The rules part in step ${parted + 1}: up to it they have the same text, drafts and coins. A click on a later token shows its step.`;
  if (!second.ended) return "The texts agree so far.";
  return sameText(run, second) ? "The texts agree to the end." : "The texts agree except for what the last step added.";
}

export { Beside };

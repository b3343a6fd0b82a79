// The player's transport: buttons, the phases of the step, the differences between the rules and
// the speed; one cell per step, whose bars are tokens gained; and what was gained so far.
import { afterLayout, h, icon, prose, targetOf } from "../kit/dom.js";
import { number } from "../kit/format.js";
import { button, setSlider, slider } from "../kit/controls.js";
import { plain, say } from "./sentences.js";
import { differs, ruleInfo, usualLength } from "./model.js";
import { at } from "./phases.js";
import { ran } from "./sums.js";

const SPEEDS = [0.5, 1, 2, 4];
const DENSE = 60; // cells from which on they are narrow

/** The card of the transport. @param {Player} player */
function create(player) {
  const speeds = SPEEDS.map((x) => h("option", { value: x, selected: x === 1 }, `${x}×`));
  const speed = h("select.hp-speed", { "aria-label": "speed", "title": "speed" }, speeds);
  const clock = playing(player, () => Number(speed.value));
  const differ = { class: "hp-differ" };
  const later = [icon("later"), h("span.hp-words", "next difference")];
  const differences = [
    button(icon("earlier"), "previous step where the rules differ (p)", player.previous, differ),
    button(later, "next step where the rules differ (n)", player.next, differ),
  ];
  const buttons = [
    button(icon("first"), "one step back (Shift ←)", player.back),
    button(icon("back"), "one move back (←)", player.moveBack),
    clock.element,
    button(icon("forward"), "one move on (→)", player.moveOn),
    button(icon("last"), "one step forward (Shift →)", player.forward),
  ];
  const scrub = () => player.goBeat(Number(rail.value));
  const rail = slider("the phases of this step", {
    css: "hp-scrub",
    step: 1,
    oninput: scrub,
  });
  const names = h("div.hp-phase-names", { "aria-hidden": "true" });
  const { brief, tree } = player.options;
  const both = "the draft and both verdicts alone, or everything";
  const turn = brief && button("", both, brief.turn, { class: "hp-turn" });
  const several = "a run whose drafts form a tree";
  const other = tree && button("Draft tree", several, tree, { class: "hp-other" });
  const inside = h("div.hp-rail", names, rail);
  const place = h("output.hp-place");
  const cells = h("div.hp-cells", {
    "role": "slider",
    "tabindex": "0",
    "aria-label": "step",
    "aria-valuemin": 1,
  });
  cells.addEventListener("click", (event) => {
    const step = targetOf(event).closest("[data-step]")?.getAttribute("data-step");
    if (step) player.go(Number(step));
  });
  const totals = h("p.hp-hint.hp-totals");
  const setup = h("p.hp-hint.hp-setup");
  const bar = [
    h("div.hp-buttons", buttons),
    inside,
    place,
    h("span.hp-grow"),
    differences,
    speed,
    other,
    turn,
  ];
  const shown = [h("div.hp-bar", bar), cells, totals, setup];
  const element = h("section.hp-card.hp-transport", { "aria-label": "Steps" }, shown);
  let tallest = 1;

  function load(/** @type {Trace} */ record) {
    tallest = usualLength(record.setup.options.draft) + 1;
    cells.replaceChildren();
    extend(record.setup, record.steps);
  }

  /** @type {(setup: Setup, steps: Step[]) => void} */
  function extend({ options }, steps) {
    tallest = Math.max(tallest, ...steps.map((step) => step.committed.length));
    const from = cells.childElementCount;
    const several = options.draft.drafts > 1;
    cells.append(...steps.map((step, i) => stepCell(step, from + i, tallest, several)));
    cells.classList.toggle("is-dense", cells.childElementCount > DENSE);
  }

  /**
   * Mark the cell of a step, and say where one is.
   * @type {(record: Trace, index: number, live: boolean) => void}
   */
  function select({ steps }, index, live) {
    const none = live ? "waiting" : "no steps";
    const words = steps.length ? `step ${index + 1}/${steps.length}` : none;
    const now = /** @type {HTMLElement | undefined} */ (cells.children[index]);
    cells.querySelector(".is-now")?.classList.remove("is-now");
    now?.classList.add("is-now");
    place.textContent = words;
    cells.ariaValueMax = String(Math.max(steps.length, 1));
    cells.ariaValueNow = String(index + 1);
    cells.ariaValueText = words;
    if (now)
      afterLayout(() => {
        cells.scrollLeft = now.offsetLeft - cells.clientWidth / 2;
      });
    totals.replaceChildren(...summary(steps, index));
    for (const control of differences) control.disabled = !steps.some(differs);
    turn?.replaceChildren(player.brief() ? "Every number" : "First look");
  }

  /** The rail of a step: its phases in order, each as wide as it has moves. @param {Plan} plan */
  function phases(plan) {
    inside.hidden = plan.total < 2;
    rail.max = String(Math.max(plan.total - 1, 1));
    const name = (/** @type {Phase} */ { name, title, beats, from }) => {
      const style = `flex-grow:${beats}`;
      return h(
        "span.hp-phase",
        {
          "data-phase": name,
          style,
          "onclick": () => player.goBeat(from),
        },
        title,
      );
    };
    names.replaceChildren(...plan.phases.map(name));
  }

  /** @type {(plan: Plan, now: number) => void} */
  function beat(plan, now) {
    const { phase } = at(plan, now);
    setSlider(rail, now, phase.title);
    for (const [i, name] of [...names.children].entries()) {
      name.classList.toggle("is-now", plan.phases[i] === phase);
      name.classList.toggle("is-done", plan.phases[i].from < phase.from);
    }
  }

  return {
    ...clock,
    element,
    setup,
    load,
    extend,
    select,
    phases,
    beat,
  };
}

/**
 * The button that plays, and the clock behind it.
 * @param {Player} player
 * @param {() => number} speed
 */
function playing(player, speed) {
  let timer = 0;
  const element = button(icon("play"), "play (Space)", () => toggle(), { class: "hp-play" });

  /** Wait for the next beat, or for none. @param {boolean} on */
  function run(on) {
    clearTimeout(timer);
    timer = on ? window.setTimeout(() => run(player.playOn()), player.pace() / speed()) : 0;
    if (element.ariaPressed === String(on)) return;
    const name = on ? "pause" : "play";
    const title = `${name} (Space)`;
    element.replaceChildren(icon(name), h("span.hp-words", on ? "Pause" : "Play"));
    Object.assign(element, {
      title,
      ariaLabel: title,
      ariaPressed: String(on),
    });
  }

  function start() {
    if (timer) return;
    player.starts();
    run(true);
  }

  const pause = () => run(false);
  const toggle = () => (timer ? pause() : start());

  return {
    element,
    start,
    pause,
    toggle,
    playing: () => timer !== 0,
  };
}

/**
 * A step: what it kept of the draft, and over it what the target added. tallest: tokens of a whole
 * bar; several: drafts.
 * @type {(step: Step, index: number, tallest: number, several: boolean) => HTMLElement}
 */
function stepCell(step, index, tallest, several) {
  const { shadow, kept, drafted, committed } = step;
  const share = (/** @type {number} */ n) => `height:${(100 * n) / tallest}%`;
  const own = committed.length - kept;
  const isDifferent = shadow && differs(step);
  const other = isDifferent ? shadow : null;
  /** @type {CellFacts} */
  const facts = {
    step: index + 1,
    gained: committed.length,
    kept,
    drafted,
    several,
    other: other && ruleInfo(other.rule).short,
    other_kept: other?.kept,
  };
  const title = plain(say("step_cell", facts));
  const bars = [
    own > 0 && h("div.hp-gain", { class: `is-${committed[kept].origin}`, style: share(own) }),
    h("div.hp-gain.is-draft", { style: share(kept) }),
  ];
  const flag = h("div.hp-flag", { "aria-hidden": "true" }, isDifferent ? "≠" : "");
  const css = `hp-cell${isDifferent ? " is-different" : ""}`;
  return h(
    "div",
    {
      "class": css,
      "data-step": index,
      title,
    },
    h("div.hp-column", bars),
    flag,
  );
}

/** Totals up to the step that is shown. @type {(steps: Step[], index: number) => HTMLElement[]} */
function summary(steps, index) {
  const { tokens, calls } = ran(steps.slice(0, index + 1));
  if (!calls) return [];
  const differing = steps.filter(differs).length;
  const facts = {
    tokens,
    calls,
    rate: number(tokens / calls),
    differing,
    steps: steps.length,
  };
  const names = /** @type {const} */ (["gained_so_far", "steps_differing"]);
  return names.map((name) => h("span", prose(say(name, facts))));
}

export { create };

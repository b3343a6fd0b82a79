// The player's transport: the bar with the phases of the step and the differences between the rules, one cell per
// step, and what was gained so far.
import { h, icon } from "../kit/dom.js";
import { count, number, plural } from "../kit/format.js";
import { button, setSlider, slider } from "../kit/parts.js";
import { cell, gains, transport } from "./bar.js";
import { differs, ruleInfo, usualLength } from "./model.js";
import { at } from "./phases.js";

/** actions: those of player.js. moves: beat(), starts() and pace(), as bar.js has. */
function create(actions, moves) {
  const differ = { class: "hp-button hp-differ" };
  const differences = [
    button(icon("earlier"), "previous step where the rules differ (p)", actions.previous, differ),
    button(icon("later"), "next step where the rules differ (n)", actions.next, differ),
  ];
  const rail = slider("the phases of this step", {
    css: "hp-scrub",
    step: 1,
    oninput: () => actions.beat(Number(rail.value)),
  });
  const names = h("div.hp-phase-names", { "aria-hidden": "true" });
  const inside = h("div.hp-rail", names, rail);
  const buttons = [
    ["first", "one step back (Shift ←)", actions.back],
    ["back", "one move back (←)", actions.moveBack],
    ["forward", "one move on (→)", actions.moveOn],
    ["last", "one step forward (Shift →)", actions.forward],
  ];
  const bar = transport({ go: actions.go, ...moves, buttons, before: inside, after: differences });
  const totals = h("p.hp-hint.hp-totals");
  const setup = h("p.hp-hint.hp-setup");
  const element = h(
    "section",
    { "class": "hp-card hp-transport", "aria-label": "Steps" },
    bar.bar,
    bar.cells,
    totals,
    setup,
  );
  let tallest = 1;
  let cells = [];

  function load({ setup, steps }) {
    tallest = usualLength(setup.options.draft) + 1;
    cells = [];
    extend(setup, steps);
  }

  function extend(setup, steps) {
    tallest = Math.max(tallest, ...steps.map((step) => step.committed.length));
    const fresh = steps.map((step, i) => stepCell(step, cells.length + i, tallest, setup.options.draft.drafts > 1));
    bar.fill((cells = [...cells, ...fresh]));
  }

  function select({ steps }, index, live) {
    bar.select(index, steps.length ? `step ${index + 1}/${steps.length}` : live ? "waiting" : "no steps");
    totals.replaceChildren(...summary(steps, index));
    const any = steps.some(differs);
    for (const control of differences) control.disabled = !any;
  }

  /** The rail of a step: its phases in order, each as wide as it has moves. */
  function phases(plan) {
    inside.hidden = plan.total < 2;
    rail.max = Math.max(plan.total - 1, 1);
    const name = (phase) =>
      h(
        "span.hp-phase",
        { "data-phase": phase.name, "style": `flex-grow:${phase.beats}`, "onclick": () => actions.beat(phase.from) },
        phase.title,
      );
    names.replaceChildren(...plan.phases.map(name));
  }

  function beat(plan, now) {
    const { phase } = at(plan, now);
    setSlider(rail, now, phase.title);
    for (const [i, name] of [...names.children].entries()) {
      name.classList.toggle("is-now", plan.phases[i] === phase);
      name.classList.toggle("is-done", plan.phases[i].from < phase.from);
    }
  }

  return { ...bar, element, setup, load, extend, select, phases, beat };
}

function stepCell(step, index, tallest, trie) {
  const other = differs(step) ? `, ${ruleInfo(step.shadow.rule).short} would keep ${step.shadow.kept}` : "";
  const kept = trie ? `kept ${step.kept}, drafted ${step.drafted}` : `kept ${step.kept} of ${step.drafted}`;
  return cell(
    index,
    `step ${index + 1}: ${plural(step.committed.length, "token")} gained, ${kept}${other}`,
    other ? "is-different" : "",
    gains(step, tallest),
    h("div", { "class": "hp-flag", "aria-hidden": "true" }, other ? "≠" : ""),
  );
}

/** Totals up to the step that is shown. */
function summary(steps, index) {
  const done = steps.slice(0, index + 1);
  const sum = (of) => done.reduce((total, step) => total + of(step), 0);
  const tokens = sum((step) => step.committed.length);
  const calls = sum((step) => step.target_calls);
  if (!calls) return [];
  const differing = steps.filter(differs).length;
  const rules = differing
    ? `the rules differ in ${differing} of ${plural(steps.length, "step")} (≠)`
    : "bars: tokens gained per step";
  return [
    h(
      "span",
      h("b", count(tokens)),
      tokens === 1 ? " token from " : " tokens from ",
      h("b", count(calls)),
      ` target ${calls === 1 ? "call" : "calls"} so far: `,
      h("b", number(tokens / calls)),
      " per call",
    ),
    h("span", rules),
  ];
}

export { create };

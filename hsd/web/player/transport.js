// The player's transport: the kit's bar with the differences between the rules, and what was gained so far.
import { h, icon } from "../kit/dom.js";
import { count, number, plural } from "../kit/format.js";
import { button } from "../kit/parts.js";
import { cell, gains, transport } from "../kit/transport.js";
import { differs, ruleInfo } from "./model.js";

const BEAT = 2400; // milliseconds per step at speed 1
const HINT = "← → step · Space play · n next ≠ · ? all keys";

/** actions: first, back, forward, last, previous, next, go(index). moves: beat() and starts(), as the kit's bar has. */
function create(actions, moves) {
  const differ = { class: "hp-button hp-differ" };
  const differences = [
    button(icon("earlier"), "previous step where the rules differ (p)", actions.previous, differ),
    button(icon("later"), "next step where the rules differ (n)", actions.next, differ),
  ];
  const bar = transport({ actions, ...moves, pace: BEAT, after: differences, hint: HINT });
  const totals = h("p", { class: "hp-hint hp-totals" });
  const element = h("section", { "class": "hp-card hp-transport", "aria-label": "Steps" }, bar.bar, bar.cells, totals);
  let tallest = 1;
  let cells = [];

  function load({ setup, steps }) {
    tallest = setup.options.draft.gamma + 1;
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

  return { ...bar, element, load, extend, select };
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
      {},
      h("b", {}, count(tokens)),
      tokens === 1 ? " token from " : " tokens from ",
      h("b", {}, count(calls)),
      ` target ${calls === 1 ? "call" : "calls"} so far: `,
      h("b", {}, number(tokens / calls)),
      " per call",
    ),
    h("span", {}, rules),
  ];
}

export { create };

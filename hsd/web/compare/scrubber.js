// One scrubber for both rows: per step a cell with a bar for each rule, and a badge: who keeps more.
import { h, icon } from "../kit/dom.js";
import { button } from "../kit/parts.js";
import { cell, gains, transport } from "../kit/transport.js";

const BEAT = 2400; // milliseconds per step at speed 1
const OTHER = {
  path: ", of different drafts",
  next: ", then different tokens",
  extra: ", and one goes on at further target calls",
};

const swatch = (origin) => h(`span.hp-swatch.is-${origin}`);

/** actions: first, back, forward, last, previous, next, go(index). beat, starts: see the kit's transport. */
function create(actions, { beat, starts }) {
  const differences = [
    button(icon("earlier"), "previous difference (p)", actions.previous),
    button(icon("later"), "next difference (n)", actions.next),
  ];
  const hint = "← → step · Space play · n next ≠";
  const bar = transport({ actions, beat, starts, pace: () => BEAT, after: differences, hint, css: "cp-cells" });
  const legend = h(
    "p.hp-hint.cp-legend",
    ["In each cell: left bar A, right bar B; ", swatch("draft"), " kept of the draft, ", swatch("correction")],
    [" correction, ", swatch("bonus"), " bonus. “A +2”: A keeps two more. ≠: other tokens."],
  );
  const element = h("section.hp-card.cp-scrubber", { "aria-label": "Steps" }, bar.bar, bar.cells, legend);
  let shown = []; // per cell what it was made of

  /** columns: see columnOf; parted: the first step after different texts. */
  function draw(columns, parted) {
    const tallest = Math.max(1, ...columns.flatMap(({ steps }) => steps.map((step) => step?.committed.length ?? 0)));
    shown = columns.map((column, i) => {
      const from = [...column.steps, column.badge, column.words, tallest];
      const old = shown[i];
      return old?.from.every((one, k) => one === from[k]) ? old : { from, element: twin(column, i, tallest) };
    });
    bar.fill(shown.map((one) => one.element));
    for (const [i, { element }] of shown.entries()) element.classList.toggle("is-parting", i === parted);
    for (const control of differences) control.disabled = !columns.some((column) => column.badge);
  }

  function select(index, live) {
    bar.select(index, shown.length ? `step ${index + 1}/${shown.length}` : live ? "waiting" : "no steps");
  }

  return { element, draw, select, pause: bar.pause, toggle: bar.toggle };
}

function twin({ steps, badge, words }, index, tallest) {
  const bars = steps.map((step) => (step ? gains(step, tallest) : h("div.hp-column.is-none")));
  const sign = h("div.cp-badge", { "aria-hidden": "true" }, badge);
  const css = `cp-cell ${badge ? "is-different" : ""}`;
  return cell(index, `step ${index + 1}: ${words}`, css, sign, h("div.cp-twin", bars));
}

/** A cell from both rows' steps. found: their difference, {kind, by}; by: how many more A keeps. */
function columnOf(steps, found, by) {
  const kept = steps.map((step, i) => `${"AB"[i]} ${step ? `keeps ${step.kept}` : "has ended"}`).join(", ");
  const badge = !found ? "" : by ? `${by > 0 ? "A" : "B"} +${Math.abs(by)}` : "≠";
  return { steps, badge, words: kept + ((found && OTHER[found.kind]) || "") };
}

export { create, columnOf };

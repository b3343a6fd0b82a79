// One scrubber for both rows: buttons, speed, and per step a cell with a bar for each rule and a badge: who keeps more.
import { afterLayout, h, icon } from "../kit/dom.js";
import { button } from "../kit/parts.js";
import * as transport from "../player/transport.js";

/** actions: first, back, play, forward, last, previousDifference, nextDifference, go(index). */
function create(actions) {
  const { play, place, speed, cells } = transport.parts(actions, "cp-cells");
  const differences = [
    button(icon("earlier"), "previous difference (p)", actions.previousDifference, {
      "class": "hp-button cp-previous",
      "aria-label": "previous difference (p)",
    }),
    button(icon("later"), "next difference (n)", actions.nextDifference, {
      "class": "hp-button cp-next",
      "aria-label": "next difference (n)",
    }),
  ];
  const bar = h(
    "div",
    { class: "hp-bar" },
    h(
      "div",
      { class: "hp-buttons" },
      button(icon("first"), "first step (Home)", actions.first),
      button(icon("back"), "one step back (←)", actions.back),
      play,
      button(icon("forward"), "one step forward (→)", actions.forward),
      button(icon("last"), "last step (End)", actions.last),
    ),
    place,
    h("span", { class: "hp-hint hp-keyhint" }, "← → step · Space play · n next ≠"),
    h("span", { class: "hp-grow" }),
    differences,
    speed,
  );
  const legend = h(
    "p",
    { class: "hp-hint cp-legend" },
    "In each cell: left bar A, right bar B; ",
    h("span", { class: "cp-swatch is-kept" }),
    " kept of the draft, ",
    h("span", { class: "cp-swatch is-correction" }),
    " correction, ",
    h("span", { class: "cp-swatch is-bonus" }),
    " bonus. “A +2”: A keeps two more. ≠: other tokens.",
  );
  const element = h("section", { "class": "hp-card cp-scrubber", "aria-label": "Steps" }, bar, cells, legend);
  return { element, ...behaviour({ play, place, speed, cells, differences }) };
}

function behaviour({ play, place, speed, cells, differences }) {
  let shown = [];

  /** columns: per step {a, b: {kept, gained, whole} or null, badge, by}; parted: the first step after different texts. */
  function draw(columns, parted) {
    const tallest = Math.max(1, ...columns.flatMap(({ a, b }) => [a, b].map((bar) => (bar ? bar.gained : 0))));
    const key = (column) => JSON.stringify([column, tallest]);
    const fresh = columns.map((column, i) =>
      shown[i] && shown[i].key === key(column) ? shown[i] : { key: key(column), element: cell(column, i, tallest) },
    );
    if (fresh.length !== shown.length || fresh.some((one, i) => one !== shown[i]))
      cells.replaceChildren(...fresh.map((one) => one.element));
    shown = fresh;
    for (const [i, { element }] of shown.entries()) element.classList.toggle("is-parting", i === parted);
    for (const control of differences) control.disabled = !columns.some((column) => column.badge);
  }

  function select(index, live) {
    for (const [i, { element }] of shown.entries()) element.classList.toggle("is-now", i === index);
    place.textContent = shown.length ? `step ${index + 1}/${shown.length}` : live ? "waiting" : "no steps";
    cells.setAttribute("aria-valuemax", String(Math.max(shown.length, 1)));
    cells.setAttribute("aria-valuenow", String(index + 1));
    cells.setAttribute("aria-valuetext", place.textContent);
    const now = shown[index];
    if (now)
      afterLayout(() => {
        cells.scrollLeft = now.element.offsetLeft - cells.clientWidth / 2;
      });
  }

  function playing(on) {
    play.replaceChildren(icon(on ? "pause" : "play"));
    play.title = on ? "pause (Space)" : "play (Space)";
    play.setAttribute("aria-label", play.title);
    play.setAttribute("aria-pressed", String(on));
  }

  return { draw, select, playing, speed: () => Number(speed.value) };
}

function cell({ a, b, badge, words }, index, tallest) {
  return h(
    "div",
    {
      "class": `hp-cell cp-cell${badge ? " is-different" : ""}`,
      "data-step": index,
      "title": `step ${index + 1}: ${words}`,
    },
    h("div", { "class": "cp-badge", "aria-hidden": "true" }, badge),
    h("div", { class: "cp-twin" }, column(a, tallest), column(b, tallest)),
  );
}

function column(bar, tallest) {
  if (!bar) return h("div", { class: "hp-column is-none" });
  const share = (n) => `height:${(100 * n) / tallest}%`;
  const last = bar.gained - bar.kept;
  return h(
    "div",
    { class: "hp-column" },
    last > 0 ? h("div", { class: `hp-gain is-${bar.whole ? "bonus" : "correction"}`, style: share(last) }) : null,
    h("div", { class: "hp-gain is-draft", style: share(bar.kept) }),
  );
}

/** What a bar needs to know of a step as one rule leaves it. */
const bar = (step) =>
  step
    ? {
        kept: step.kept,
        gained: step.committed.length,
        whole: step.committed.some((token) => token.origin === "bonus"),
      }
    : null;

/** A cell from both rows' steps. found: their difference, see explain.js; by: how many more A keeps. */
function columnOf(a, b, found, by) {
  const badge = !found ? "" : by ? `${by > 0 ? "A" : "B"} +${Math.abs(by)}` : "≠";
  const one = (letter, step) => (step ? `${letter} keeps ${step.kept}` : `${letter} has ended`);
  const other = {
    path: ", of different drafts",
    next: ", then different tokens",
    extra: ", and one goes on at further target calls",
  };
  const words = `${one("A", a)}, ${one("B", b)}${(found && other[found.kind]) || ""}`;
  return { a: bar(a), b: bar(b), badge, words };
}

export { create, columnOf };

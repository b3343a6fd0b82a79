// The transport bar: buttons, speed, and one cell per step whose height is the tokens gained.
import { h, icon, button, afterLayout } from "./dom.js";
import { plural, number, count } from "./format.js";
import { differs, ruleInfo } from "./model.js";

const SPEEDS = [0.5, 1, 2, 4];

/** What every bar has: the play button, the place, the menu of speeds, and the box of the step cells. */
function parts(actions, more = "") {
  const play = button(icon("play"), "play (Space)", actions.play, { class: "hp-button hp-play" });
  const place = h("output", { class: "hp-place" });
  const speed = h(
    "select",
    { "class": "hp-speed", "aria-label": "speed", "title": "speed" },
    SPEEDS.map((x) => h("option", { value: x, selected: x === 1 }, `${x}×`)),
  );
  const cells = h("div", {
    "class": `hp-cells ${more}`.trim(),
    "role": "slider",
    "tabindex": "0",
    "aria-label": "step",
    "aria-valuemin": 1,
    "onclick": (event) => jump(event, actions.go),
  });
  return { play, place, speed, cells };
}

/** actions: first, back, play, forward, last, previousDifference, nextDifference, go(index). */
function create(actions) {
  const { play, place, speed, cells } = parts(actions);
  const totals = h("p", { class: "hp-hint hp-totals" });
  const differences = [
    button(icon("earlier"), "previous step where the rules differ (p)", actions.previousDifference, {
      class: "hp-button hp-differ",
    }),
    button(icon("later"), "next step where the rules differ (n)", actions.nextDifference, {
      class: "hp-button hp-differ",
    }),
  ];
  const element = h(
    "section",
    { "class": "hp-card hp-transport", "aria-label": "Steps" },
    h(
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
      h("span", { class: "hp-hint hp-keyhint" }, "← → step · Space play · n next ≠ · ? all keys"),
      h("span", { class: "hp-grow" }),
      differences,
      speed,
    ),
    cells,
    totals,
  );
  return { element, ...behaviour({ play, place, speed, cells, totals, differences }) };
}

function jump(event, go) {
  const cell = event.target.closest("[data-step]");
  if (cell) go(Number(cell.dataset.step));
}

function behaviour({ play, place, speed, cells, totals, differences }) {
  let tallest = 1;
  let trie = false;
  let shown = [];
  let marked = null;

  function load(trace) {
    shown = [];
    cells.replaceChildren();
    tallest = Math.max(trace.setup.gamma + 1, 1);
    trie = (trace.setup.drafts ?? 1) > 1;
    extend(trace.steps, 0);
  }

  function extend(steps, from) {
    tallest = Math.max(tallest, ...steps.map((step) => step.committed.length));
    for (const [i, step] of steps.entries()) shown.push(cell(step, from + i, tallest, trie));
    cells.append(...shown.slice(from));
    cells.classList.toggle("is-dense", shown.length > 60);
  }

  function select(trace, index, live) {
    if (marked) marked.classList.remove("is-now");
    marked = shown[index] || null;
    if (marked) marked.classList.add("is-now");
    const steps = trace.steps;
    place.textContent = steps.length ? `step ${index + 1}/${steps.length}` : live ? "waiting" : "no steps";
    cells.setAttribute("aria-valuemax", String(Math.max(steps.length, 1)));
    cells.setAttribute("aria-valuenow", String(index + 1));
    cells.setAttribute("aria-valuetext", place.textContent);
    totals.replaceChildren(...summary(steps, index));
    const any = steps.some(differs);
    for (const control of differences) control.disabled = !any;
    const now = marked;
    if (now) afterLayout(() => centre(cells, now));
  }

  function playing(on) {
    play.replaceChildren(icon(on ? "pause" : "play"));
    play.setAttribute("aria-label", on ? "pause (Space)" : "play (Space)");
    play.title = play.getAttribute("aria-label");
    play.setAttribute("aria-pressed", String(on));
  }

  return { load, extend, select, playing, speed: () => Number(speed.value) };
}

function cell(step, index, tallest, trie) {
  const last = step.committed.length - step.kept;
  const share = (n) => `height:${(100 * n) / tallest}%`;
  const origin = last > 0 ? step.committed[step.kept].origin : "bonus";
  const other = differs(step) ? `, ${ruleInfo(step.shadow.rule).name} would keep ${step.shadow.kept}` : "";
  const kept = trie ? `kept ${step.kept}, drafted ${step.drafted}` : `kept ${step.kept} of ${step.drafted}`;
  return h(
    "div",
    {
      "class": `hp-cell${other ? " is-different" : ""}`,
      "data-step": index,
      "title": `step ${index + 1}: ${plural(step.committed.length, "token")} gained, ${kept}${other}`,
    },
    h(
      "div",
      { class: "hp-column" },
      last > 0 ? h("div", { class: `hp-gain is-${origin}`, style: share(last) }) : null,
      h("div", { class: "hp-gain is-draft", style: share(step.kept) }),
    ),
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
      ` tokens from `,
      h("b", {}, count(calls)),
      ` target ${calls === 1 ? "call" : "calls"} so far: `,
      h("b", {}, number(tokens / calls)),
      " per call",
    ),
    h("span", {}, rules),
  ];
}

function centre(box, element) {
  box.scrollLeft = element.offsetLeft - box.clientWidth / 2;
}

export { create, parts };

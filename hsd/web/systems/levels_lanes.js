// The lanes of a moment: one per level, the target on top; tokens stand in the column of their place in the text, so
// that one which is kept rises straight up. Between two lanes: what is asked for (down) and handed up.
import * as dom from "../kit/dom.js";
import { SIGNS } from "../kit/dom.js";
import * as format from "../kit/format.js";
import { handsUp, levelCount, pieces, readStep, stateAt } from "./levels_model.js";
import { capital, names } from "./levels_words.js";
import { h, roving } from "./parts.js";

const ORIGINS = { draft: "drafted", correction: "correction", bonus: "bonus" };
const VERDICTS = { kept: "kept", dropped: "rejected" };
const CELLS = 8;

/**
 * context: how many columns before the block are shown. under(level, view): what stands below a lane, or null.
 * onToken(id): a token was clicked. view: {trace, moment, state, from, to}.
 */
function create({ context, under, onToken }) {
  const board = h("div", { "class": "lv-board", "role": "group", "aria-label": "Levels, the target on top" });
  const element = h("div", { class: "lv-scroll" }, board);
  const chips = () => [...board.querySelectorAll(".lv-chip")];
  const stop = roving(board, chips);

  function update(trace, moment, selected) {
    const focused = board.contains(document.activeElement) ? document.activeElement.dataset : null;
    const step = trace.steps[moment.step];
    const read = readStep(step, levelCount(trace.setup));
    const from = Math.max(0, step.context_length - context);
    const view = { trace, moment, state: stateAt(trace, moment), from, to: read.end };
    board.style.setProperty("--lv-columns", String(Math.max(1, read.end - from)));
    board.replaceChildren(...rows(view, selected));
    const all = chips();
    stop(all.find((one) => one.getAttribute("aria-pressed") === "true") || all[0]);
    const is = ({ dataset }) => dataset.token === focused.token && dataset.lane === focused.lane;
    const same = focused && all.find(is);
    if (same) same.focus({ preventScroll: true });
    dom.afterLayout(() => keepInView(element, board));
  }

  function rows(view, selected) {
    const count = levelCount(view.trace.setup);
    return Array.from({ length: count }, (_, i) => count - 1 - i).flatMap((level) =>
      [
        lane(view, level, selected, onToken),
        under ? under(level, view) : null,
        level > 0 ? between(view, level) : null,
      ].filter(Boolean),
    );
  }

  return { element, update };
}

function lane(view, level, selected, onToken) {
  const { trace, state, from, moment } = view;
  const { chips } = state.lanes[level];
  const target = level === levelCount(trace.setup) - 1;
  const kind = target ? "is-target" : level === 0 ? "is-bottom" : "is-between";
  return h(
    "div",
    { "class": `lv-lane ${kind}${state.level === level ? " is-now" : ""}`, "data-level": level },
    head(view, level, target),
    h(
      "div",
      { class: "lv-slots" },
      target ? past(trace, moment, from) : null,
      chips.map((one) => chip(one, { level, from, selected, called: names(trace.setup) }, onToken)),
    ),
  );
}

/** Who the level is, and how much of what it was asked for has been settled. */
function head({ trace, state }, level, target) {
  const { models, thresholds } = trace.setup;
  const { name, parameters } = models[level];
  return h(
    "div",
    { class: "lv-head" },
    h("b", { class: "lv-who" }, capital(names(trace.setup)[level])),
    h("span", { class: "lv-name" }, `${name}, ${size(parameters)}`),
    target ? null : meter(state.lanes[level], thresholds[level]),
  );
}

const size = (n) => (n >= 1e9 ? `${format.number(n / 1e9)} B` : `${format.number(n / 1e6)} M`) + " parameters";

/** One segment per token; the notch stands after the number that was asked for. */
function meter({ asked, settled }, threshold) {
  const want = asked ?? threshold;
  const segments = Array.from({ length: Math.max(want, settled) }, (_, i) =>
    h("i", { class: `${i < settled ? "is-full" : ""}${i === want - 1 ? " is-notch" : ""}`.trim() || null }),
  );
  const words = `${settled} of ${want} settled`;
  return h(
    "span",
    { class: "lv-meter" },
    h("span", { "class": "lv-segments", "aria-hidden": "true" }, segments),
    h("span", { class: "lv-settled" }, `${words} · T = ${threshold}`),
  );
}

/** The last tokens of the text before this step. */
function past(trace, moment, from) {
  return pieces(trace, moment.step, from).map((piece, i) =>
    h("span", { class: "lv-past", style: `grid-column: ${i + 1}` }, dom.token(piece, { cells: CELLS })),
  );
}

function chip({ token, verdict, fresh }, { level, from, selected, called }, onToken) {
  const { origin, level: home } = token.born;
  const risen = home !== level ? ` from ${called[home]}` : "";
  const words = [ORIGINS[origin] + risen, verdict ? VERDICTS[verdict] : ""].filter(Boolean).join(", ");
  const visible = format.visible(token.piece);
  const css = `lv-chip is-${origin}${verdict ? ` is-${verdict}` : ""}${fresh ? " is-fresh" : ""}`;
  return h(
    "button",
    {
      "type": "button",
      "class": css,
      "style": `grid-column: ${token.position - from + 1}`,
      "data-token": token.id,
      "data-lane": level,
      "aria-pressed": String(token.id === selected),
      "aria-label": `${visible}: ${words}`,
      "title": `${visible}: ${words}`,
      "onclick": () => onToken(token.id),
    },
    dom.token(token.piece, { cells: CELLS }),
    h(
      "span",
      { "class": "lv-marks", "aria-hidden": "true" },
      h("span", { class: `hp-sign is-${origin}` }, SIGNS[origin]),
      verdict ? h("span", { class: `lv-verdict is-${verdict}` }, verdict === "kept" ? "✓" : "✕") : null,
    ),
  );
}

/** What passes between a level and the one below it. */
function between({ trace, moment, state }, level) {
  const below = state.lanes[level - 1];
  const step = trace.steps[moment.step];
  const kept = below.chips.filter((one) => one.verdict === "kept").length;
  const up = moment.event !== null && state.level === level - 1 && handsUp(step, moment.event);
  const down = moment.event !== null && state.level === level - 1;
  const handed = below.lent ? `↑ ${below.lent} handed up: ${kept} kept` : up ? `↑ hands up ${below.settled}` : "";
  const now = down || (state.level === level && Boolean(below.lent));
  return h(
    "div",
    { "class": `lv-link${now ? " is-now" : ""}`, "data-below": level - 1 },
    h("span", { class: "lv-ask" }, below.asked === null ? "" : `↓ asks for ${below.asked}`),
    h("span", { class: "lv-hand" }, handed ? block(below.chips) : null, handed),
  );
}

/** What is handed up, small: one square per token. */
function block(chips) {
  const squares = chips.map(({ verdict }) => h("i", { class: verdict ? `is-${verdict}` : null }));
  return h("span", { "class": "lv-block", "aria-hidden": "true" }, squares);
}

/** Scroll the box, never the page, so far that what is new can be seen beside the column of names. */
function keepInView(box, board) {
  const fresh = [...board.querySelectorAll(".lv-chip.is-fresh")];
  if (!fresh.length || box.scrollWidth <= box.clientWidth) return;
  const names = getComputedStyle(board.querySelector(".lv-lane")).gridTemplateColumns.split(" ");
  const covered = names.length > 1 ? Number.parseFloat(names[0]) : 0;
  const outer = box.getBoundingClientRect();
  const left = Math.min(...fresh.map((chip) => chip.getBoundingClientRect().left)) - outer.left - covered;
  const right = Math.max(...fresh.map((chip) => chip.getBoundingClientRect().right)) - outer.right;
  if (left < 0) box.scrollLeft += left - 8;
  else if (right > 0) box.scrollLeft += Math.min(right + 8, left);
}

export { create };

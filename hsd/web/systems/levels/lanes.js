// The lanes of a moment: one per level, the target on top; tokens stand in the column of their place in the text, so
// that one which is kept rises straight up. Between two lanes: what is asked for (down) and handed up.
import * as dom from "../../kit/dom.js";
import { h } from "../../kit/dom.js";
import { size, visible } from "../../kit/format.js";
import { capital, div, group, sign, span } from "../parts.js";
import { handsUp, kind, levelCount, pieces, readStep, stateAt } from "./model.js";
import { names } from "./words.js";

const ORIGINS = { draft: "drafted", correction: "correction", bonus: "bonus" };
const VERDICTS = { kept: ["kept", "✓"], dropped: ["rejected", "✕"] };
const CELLS = 8;
const BEFORE = 2; // how many columns before the block are shown

/**
 * under(level, view): what stands below a lane, if anything. onToken(id): a token was clicked.
 * view: {trace, moment, state, from, to}, the last two the places of the first column and after the last.
 */
function create({ under = () => null, onToken }) {
  const board = h("div", { "class": "lv-board", "role": "group", "aria-label": "Levels, the target on top" });
  const element = div("sy-scroll", board);
  const draw = group(board, "chip");

  function update(trace, moment, selected) {
    const step = trace.steps[moment.step];
    const to = readStep(step, levelCount(trace.setup)).end;
    const view = { trace, moment, state: stateAt(trace, moment), from: Math.max(0, step.context_length - BEFORE), to };
    const levels = view.state.lanes.map((_, level) => level).reverse();
    const rows = levels.flatMap((level) => [
      lane(view, level, selected, onToken),
      under(level, view),
      level > 0 ? between(view, level) : null,
    ]);
    board.style.setProperty("--lv-columns", String(Math.max(1, to - view.from)));
    const at = levels.find((level) => view.state.lanes[level].chips.some(({ token }) => token.id === selected));
    draw(rows.filter(Boolean), `${at}-${selected}`);
    dom.afterLayout(() => keepInView(element, board));
  }

  return { element, update };
}

function lane({ trace, state, from, moment }, level, selected, onToken) {
  const { models, options } = trace.setup;
  const { thresholds } = options.levels;
  const called = names(trace.setup);
  const own = kind(level, trace.setup);
  const top = own === "is-target";
  const { name, parameters } = models[level];
  const head = [
    h("b", { class: "lv-who" }, capital(called[level])),
    span("lv-name", `${name}, ${large(parameters)}`),
    top ? null : meter(state.lanes[level], thresholds[level]),
  ];
  const slots = [
    top ? past(trace, moment, from) : null,
    state.lanes[level].chips.map((one) => chip(one, { level, from, selected, called }, onToken)),
  ];
  const css = `lv-lane ${own}${state.level === level ? " is-now" : ""}`;
  return h("div", { "class": css, "data-level": level }, div("lv-head", head), div("lv-slots", slots));
}

const large = (n) => `${size(n)} parameters`;

/** How much of what it was asked for has been settled: a segment per token, the notch after the number asked for. */
function meter({ asked, settled }, threshold) {
  const want = asked ?? threshold;
  const css = (i) => `${i < settled ? "is-full" : ""}${i === want - 1 ? " is-notch" : ""}`.trim() || null;
  const segments = Array.from({ length: Math.max(want, settled) }, (_, i) => h("i", { class: css(i) }));
  return span(
    "lv-meter",
    h("span", { "class": "lv-segments", "aria-hidden": "true" }, segments),
    span("lv-settled", `${settled} of ${want} settled · T = ${threshold}`),
  );
}

/** The last tokens of the text before this step. */
const past = (trace, moment, from) =>
  pieces(trace, moment.step, from).map((piece, i) =>
    h("span", { class: "lv-past", style: `grid-column: ${i + 1}` }, dom.token(piece, { cells: CELLS })),
  );

function chip({ token, verdict, fresh }, { level, from, selected, called }, onToken) {
  const { origin, level: home } = token.born;
  const [judged, tick] = VERDICTS[verdict] || [];
  const risen = home !== level ? ` from ${called[home]}` : "";
  const words = `${visible(token.piece)}: ${ORIGINS[origin]}${risen}${judged ? `, ${judged}` : ""}`;
  const attributes = {
    "type": "button",
    "class": `lv-chip is-${origin}${verdict ? ` is-${verdict}` : ""}${fresh ? " is-fresh" : ""}`,
    "style": `grid-column: ${token.position - from + 1}`,
    "data-chip": `${level}-${token.id}`,
    "aria-pressed": String(token.id === selected),
    "aria-label": words,
    "title": words,
    "onclick": () => onToken(token.id),
  };
  const marks = [sign(origin), tick ? span(`lv-verdict is-${verdict}`, tick) : null];
  const below = h("span", { "class": "lv-marks", "aria-hidden": "true" }, marks);
  return h("button", attributes, dom.token(token.piece, { cells: CELLS }), below);
}

/** What passes between a level and the one below it; what is handed up is also drawn, one square per token. */
function between({ trace, moment, state }, level) {
  const { chips, lent, asked, settled } = state.lanes[level - 1];
  const kept = chips.filter((one) => one.verdict === "kept").length;
  const down = moment.event !== null && state.level === level - 1;
  const up = down && handsUp(trace.steps[moment.step], moment.event);
  const handed = lent ? `↑ ${lent} handed up: ${kept} kept` : up ? `↑ hands up ${settled}` : "";
  const now = down || (state.level === level && Boolean(lent));
  const squares = () => chips.map(({ verdict }) => h("i", { class: verdict ? `is-${verdict}` : null }));
  const block = handed ? h("span", { "class": "lv-block", "aria-hidden": "true" }, squares()) : null;
  const sides = [span("lv-ask", asked === null ? "" : `↓ asks for ${asked}`), span("lv-hand", block, handed)];
  return h("div", { "class": `lv-link${now ? " is-now" : ""}`, "data-below": level - 1 }, sides);
}

/** Scroll the box, never the page, so far that what is new can be seen beside the column of names. */
function keepInView(box, board) {
  const fresh = [...board.querySelectorAll(".lv-chip.is-fresh")];
  if (!fresh.length || box.scrollWidth <= box.clientWidth) return;
  const columns = getComputedStyle(board.querySelector(".lv-lane")).gridTemplateColumns.split(" ");
  const covered = columns.length > 1 ? Number.parseFloat(columns[0]) : 0;
  const outer = box.getBoundingClientRect();
  const places = fresh.map((one) => one.getBoundingClientRect());
  const left = Math.min(...places.map((place) => place.left)) - outer.left - covered;
  const right = Math.max(...places.map((place) => place.right)) - outer.right;
  if (left < 0) box.scrollLeft += left - 8;
  else if (right > 0) box.scrollLeft += Math.min(right + 8, left);
}

export { create };

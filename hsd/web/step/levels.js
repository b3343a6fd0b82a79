// The levels of a run: who drafted for whom, and what each was handed, tested, kept and handed up. A lane per level, the
// target on top; tokens stand in the column of their place in the text, so that one which is kept rises straight up.
import * as dom from "../kit/dom.js";
import { afterLayout, h, SIGNS } from "../kit/dom.js";
import { size, visible } from "../kit/format.js";
import { card, roving } from "../kit/parts.js";
import { plain, say } from "./fill.js";
import { handsUp, kind, levelCount, pieces, readStep, stateAt } from "./lanes.js";

const ORIGINS = { draft: "drafted", correction: "correction", bonus: "bonus" };
const VERDICTS = { kept: ["kept", "✓"], dropped: ["rejected", "✕"] };
const CELLS = 8; // characters of a token that fit its column
const BEFORE = 2; // columns of the text before the block

const capital = (words) => words[0].toUpperCase() + words.slice(1);

// ---- as a part of a step, see parts.js

/** @param {object} view a step as `model.readStep` gives it */
const shows = ({ step, trace }) => Boolean(trace) && (step.events || []).length > 0;

/** What happens below the target stands in the place of one model's draft. */
const moves = ({ step }, usual) => [
  ["levels", "levels", step.events.length],
  ...usual.filter(([name]) => name !== "draft"),
];

const beats = { levels: (view, i) => ["beat level", eventFacts(view, i)] };

function create() {
  const lanes = board({});
  const hint = "Tokens stand in the column of their place in the text. What a level keeps rises one lane.";
  const drawing = card("hp-levels", "Level by level", hint, lanes.element, legend());
  let shown = null;
  return {
    drawing,
    picture: lanes.board,
    draw: (view) => (shown = view),
    beat({ phase, i }, last) {
      const { trace, index: step } = shown;
      const event = phase.name === "levels" ? i : shown.step.events.length - 1;
      lanes.update(trace, { step, event: last ? null : event });
    },
  };
}

// ---- words

/** How the levels of a run are called in sentences, the smallest first. */
const names = ({ options: { system }, models }) =>
  models.map((_, level) => {
    const top = level === models.length - 1;
    return plain(say("level name", { top, level, levels: models.length, exits: system === "hispec" }));
  });

/** What the sentence about an event may name. */
function eventFacts({ trace, step }, index) {
  const { level, kind, asked, held, tested, kept, committed } = step.events[index];
  const called = names(trace.setup);
  const now = held + committed.length;
  const [added, replaced] = [committed[kept], tested[kept]].map((token) => (token ? { piece: token.piece } : null));
  return {
    Who: capital(called[level]),
    Above: capital(called[level + 1]),
    below: called[level - 1],
    drafting: kind === "draft",
    "level tokens": committed.map(({ piece }, i) => ({ piece: { piece }, last: i === committed.length - 1 })),
    made: committed.length,
    drafted: tested.length,
    kept,
    all: kept === tested.length,
    added,
    replaced,
    now,
    asked,
    up: handsUp(step, index),
    more: now > asked,
    less: now < asked,
  };
}

function legend() {
  const signs = Object.entries(ORIGINS).map(([origin, words]) => [sign(origin), words]);
  const marks = [
    [h("span.hp-tier-verdict.is-kept", "✓"), "kept by the level above"],
    [h("span.hp-tier-verdict.is-dropped", "✕"), "rejected"],
  ];
  return h(
    "p.hp-hint.hp-keyline",
    [...signs, ...marks].map(([mark, words]) => h("span", mark, " ", words)),
  );
}

const sign = (origin) => h(`span.hp-sign.is-${origin}`, { "aria-hidden": "true" }, SIGNS[origin]);

// ---- the lanes

/**
 * The lanes of a moment, and between two of them what is asked for (down) and handed up. under(level, view): what stands
 * below a lane, if anything; onToken(id): a token was clicked.
 */
function board({ under = () => null, onToken = () => {} }) {
  const grid = h("div.hp-tiers", { "role": "group", "aria-label": "Levels, the target on top" });
  const element = h("div.hp-scroll", grid);
  const tokens = () => [...grid.querySelectorAll("[data-chip]")];
  const stop = roving(grid, tokens);

  /** moment: {step, event}, event null for the target's pass; see lanes.js. */
  function update(trace, moment, selected = null) {
    const step = trace.steps[moment.step];
    const to = readStep(step, levelCount(trace.setup)).end;
    const view = { trace, moment, state: stateAt(trace, moment), from: Math.max(0, step.context_length - BEFORE), to };
    const levels = view.state.lanes.map((_, level) => level).reverse();
    const rows = levels.flatMap((level) => [
      lane(view, level, selected, onToken),
      under(level, view),
      level > 0 ? between(view, level) : null,
    ]);
    grid.style.setProperty("--hp-places", String(Math.max(1, to - view.from)));
    const focus = grid.contains(document.activeElement) ? document.activeElement.dataset.chip : null;
    grid.replaceChildren(...rows.filter(Boolean));
    const held = tokens().find(({ dataset }) => dataset.chip === focus);
    stop(held ?? tokens().find((one) => one.matches("[aria-pressed='true']")) ?? tokens()[0]);
    held?.focus({ preventScroll: true });
    afterLayout(() => keepInView(element, grid));
  }

  return { element, board: grid, update };
}

function lane({ trace, state, from, moment }, level, selected, onToken) {
  const { models, options } = trace.setup;
  const called = names(trace.setup);
  const own = kind(level, trace.setup);
  const top = own === "is-target";
  const { name, parameters } = models[level];
  const head = [
    h("b.hp-tier-who", capital(called[level])),
    h("span.hp-tier-name", `${name}, ${size(parameters)} parameters`),
    top ? null : meter(state.lanes[level], options.levels.thresholds[level]),
  ];
  const slots = [
    top ? past(trace, moment, from) : null,
    state.lanes[level].chips.map((one) => chip(one, { level, from, selected, called }, onToken)),
  ];
  const css = `hp-tier ${own}${state.level === level ? " is-now" : ""}`;
  const inside = [h("div.hp-tier-head", head), h("div.hp-tier-slots", slots)];
  return h("div", { "class": css, "data-level": level }, inside);
}

/** How much of what it was asked for has been settled: a segment per token, the notch after the number asked for. */
function meter({ asked, settled }, threshold) {
  const want = asked ?? threshold;
  const css = (i) => `${i < settled ? "is-full" : ""}${i === want - 1 ? " is-notch" : ""}`.trim() || null;
  const segments = Array.from({ length: Math.max(want, settled) }, (_, i) => h("i", { class: css(i) }));
  return h(
    "span.hp-tier-meter",
    h("span.hp-tier-segments", { "aria-hidden": "true" }, segments),
    h("span.hp-tier-settled", `${settled} of ${want} settled · T = ${threshold}`),
  );
}

/** The last tokens of the text before this step. */
const past = (trace, moment, from) =>
  pieces(trace, moment.step, from).map((piece, i) =>
    h("span.hp-tier-past", { style: `grid-column: ${i + 1}` }, dom.token(piece, { cells: CELLS })),
  );

function chip({ token, verdict, fresh }, { level, from, selected, called }, onToken) {
  const { origin, level: home } = token.born;
  const [judged, tick] = VERDICTS[verdict] || [];
  const risen = home !== level ? ` from ${called[home]}` : "";
  const words = `${visible(token.piece)}: ${ORIGINS[origin]}${risen}${judged ? `, ${judged}` : ""}`;
  const attributes = {
    "type": "button",
    "class": `is-${origin}${verdict ? ` is-${verdict}` : ""}${fresh ? " is-fresh" : ""}`,
    "style": `grid-column: ${token.position - from + 1}`,
    "data-chip": `${level}-${token.id}`,
    "aria-pressed": String(token.id === selected),
    "aria-label": words,
    "title": words,
    "onclick": () => onToken(token.id),
  };
  const marks = [sign(origin), tick ? h(`span.hp-tier-verdict.is-${verdict}`, tick) : null];
  const below = h("span.hp-tier-marks", { "aria-hidden": "true" }, marks);
  return h("button.hp-tier-token", attributes, dom.token(token.piece, { cells: CELLS }), below);
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
  const block = handed ? h("span.hp-tier-block", { "aria-hidden": "true" }, squares()) : null;
  const sides = [
    h("span.hp-tier-ask", asked === null ? "" : `↓ asks for ${asked}`),
    h("span.hp-tier-hand", block, handed),
  ];
  return h(`div.hp-tier-link${now ? ".is-now" : ""}`, { "data-below": level - 1 }, sides);
}

/** Scroll the box, never the page, so far that what is new can be seen beside the column of names. */
function keepInView(box, grid) {
  const fresh = [...grid.querySelectorAll(".hp-tier-token.is-fresh")];
  if (!fresh.length || box.scrollWidth <= box.clientWidth) return;
  const columns = getComputedStyle(grid.querySelector(".hp-tier")).gridTemplateColumns.split(" ");
  const covered = columns.length > 1 ? Number.parseFloat(columns[0]) : 0;
  const outer = box.getBoundingClientRect();
  const places = fresh.map((one) => one.getBoundingClientRect());
  const left = Math.min(...places.map((place) => place.left)) - outer.left - covered;
  const right = Math.max(...places.map((place) => place.right)) - outer.right;
  if (left < 0) box.scrollLeft += left - 8;
  else if (right > 0) box.scrollLeft += Math.min(right + 8, left);
}

export { beats, board, create, moves, names, shows };

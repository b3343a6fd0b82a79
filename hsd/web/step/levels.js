// The levels of a run: who drafted for whom, and what each was handed, tested, kept and handed up.
// A lane per level, the target on top; tokens stand in the column of their place in the text, so
// that one which is kept rises straight up.
import { afterLayout, find, h, prose, SIGNS, token as tokenOf } from "../kit/dom.js";
import { count, number, percent, size, visible } from "../kit/format.js";
import { card, roving, scroller } from "../kit/controls.js";
import { follow } from "./cells.js";
import * as exits from "./exits.js";
import { say } from "./sentences.js";
import { handsUp, kinds, lanesOf, names, totals } from "./lanes.js";
import { capital, eventFacts } from "./explain.js";

const ORIGINS = { draft: "drafted", correction: "correction", bonus: "bonus" };
const VERDICTS = { kept: ["kept", "✓"], dropped: ["rejected", "✕"] };
const CELLS = 8; // characters of a token that fit its column
const BEFORE = 2; // columns of the text before the block

// ---- as a part of a step, see parts.js

/** @type {StepPart["shows"]} */
const shows = ({ step }) => step.events?.length > 0; // traces of earlier versions have none

/**
 * What happens below the target stands in the place of one model's draft.
 * @type {NonNullable<StepPart["moves"]>}
 */
function moves({ step, trace }, usual) {
  const last = trace.setup.models.length - 2; // the level that hands its tokens to the target
  const drafts = (/** @type {number} */ i) => {
    const place = step.context_length + i;
    return step.events.findIndex(
      ({ level, position, committed }) => level === last && position + committed.length > place,
    );
  };
  const rest = usual.filter(([name]) => name !== "draft");
  return [["levels", "levels", step.events.length, drafts], ...rest];
}

/** @type {StepPart["beats"]} */
const beats = { levels: (view, i) => ["beat_level", eventFacts(view, i)] };

/** @type {StepPart["create"]} */
function create() {
  const grid = h("div.hp-tiers", { "role": "group", "aria-label": "Levels, the target on top" });
  const lanes = h("div.hp-scroll", grid);
  const chips = () => /** @type {HTMLElement[]} */ ([...grid.querySelectorAll("[data-chip]")]);
  const stop = roving(grid, chips);
  const key = h("p.hp-hint.hp-keyline");
  const done = h("div");
  const life = h("div.hp-life");
  const hint =
    "Tokens stand in the column of their place in the text. What a level keeps rises one lane.";
  const drawing = card("hp-levels", "Level by level", hint, lanes, key);
  const below = card("hp-levels-done", "What each level did so far", "", done, life);
  let now = /** @type {{view: View, event?: EventPlace} | null} */ (null); // event: that is drawn

  /**
   * Show the lanes after an event, and the life of one token up to it.
   * @type {(view: View, event: EventPlace, chosen: number | undefined) => void}
   */
  function show(view, event, chosen) {
    const active = /** @type {HTMLElement} */ (document.activeElement);
    const focus = grid.contains(active) && active.dataset.chip;
    drawLanes(grid, view, event, { chosen, onToken: (id) => show(view, event, id) });
    const held = chips().find(({ dataset }) => dataset.chip === focus);
    const pressed = chips().find((chip) => chip.matches("[aria-pressed='true']"));
    stop(held ?? pressed ?? chips()[0]);
    held?.focus({ preventScroll: true });
    afterLayout(() => {
      const covered = find(".hp-tier-head", grid).offsetWidth;
      follow(lanes, grid.querySelector(".is-fresh"), 0, covered);
    });
    done.replaceChildren(sums(view, event));
    life.replaceChildren(...lifeOf(view, chosen, event));
  }

  return {
    drawing,
    picture: grid,
    below,
    draw(view) {
      now = { view };
      const marks = [...signs(), ...(exits.shows(view) ? exits.legend() : [])];
      key.replaceChildren(...marks.map(([mark, words]) => h("span", mark, " ", words)));
    },
    beat(_, last, { phase, i }) {
      if (!now) return;
      const { view } = now;
      const happened = phase.name === "levels" ? i : view.step.events.length - 1;
      const event = last ? null : happened;
      if (event !== now.event) show(view, event, telling(lanesOf(view, event).state));
      now = { view, event };
    },
  };
}

/**
 * The token that shows best what happened: the first that was rejected, else the last that was
 * added.
 * @param {LaneState} state
 */
function telling({ lanes, level }) {
  const lost = lanes[level - 1]?.chips.find(({ verdict }) => verdict === "dropped");
  return (lost ?? lanes[level].chips.at(-1))?.token.id;
}

/** @param {Origin} origin */
const sign = (origin) => h(`span.hp-sign.is-${origin}`, { "aria-hidden": "true" }, SIGNS[origin]);

/** Pairs of a sign and what it means. @returns {[HTMLElement, string][]} */
const signs = () => [
  [sign("draft"), ORIGINS.draft],
  [sign("correction"), ORIGINS.correction],
  [sign("bonus"), ORIGINS.bonus],
  [h("span.hp-tier-verdict.is-kept", "✓"), "kept by the level above"],
  [h("span.hp-tier-verdict.is-dropped", "✕"), "rejected"],
];

// ---- the lanes

/**
 * The lanes after an event of a step.
 * @type {(grid: HTMLElement, view: View, event: EventPlace, choosing: LaneChoice) => void}
 */
function drawLanes(grid, view, event, choosing) {
  const { end, state } = lanesOf(view, event);
  const from = Math.max(0, view.step.context_length - BEFORE);
  const rows = kinds(view.trace.setup).map((css, level) => [
    lane(view, state, level, { css, from, ...choosing }),
    exits.shows(view) ? exits.under(level, css, view, event, [from, end]) : "",
    level ? between(view, state, level, event) : "",
  ]);
  grid.style.setProperty("--hp-places", String(Math.max(1, end - from)));
  grid.replaceChildren(...rows.reverse().flat());
}

/**
 * The lane of a level: its name, and its tokens in their columns.
 * @param {View} view
 * @param {LaneState} state
 * @param {number} level
 * @param {{css: string, from: number} & LaneChoice} how from: the place of the first column
 * @returns {HTMLElement}
 */
function lane({ trace, index, step }, { lanes, level: now }, level, { css, from, ...choosing }) {
  const { models, options } = trace.setup;
  const called = names(trace.setup);
  const top = level === models.length - 1;
  const { name, parameters } = models[level];
  const head = [
    h("b.hp-tier-who", capital(called[level])),
    h("span", `${name}, ${size(parameters)} parameters`),
    top ? null : meter(lanes[level], options.levels.thresholds[level]),
  ];
  const prompt = trace.prompt.pieces.slice(-BEFORE);
  const steps = trace.steps.slice(Math.max(0, index - BEFORE), index);
  const written = steps.flatMap(({ committed }) => committed.map(({ piece }) => piece));
  const before = [...prompt, ...written].slice(from - step.context_length);
  const past = before.map((piece) => h("span.hp-tier-past", tokenOf(piece, { cells: CELLS })));
  const how = { from, called, ...choosing };
  const chips = lanes[level].chips.map((laneChip) => chip(laneChip, level, how));
  const slots = h("div.hp-tier-slots", top ? past : null, chips);
  const lights = now === level ? ".is-now" : "";
  return h(
    `div.hp-tier.${css}${lights}`,
    { "data-level": level },
    h("div.hp-tier-head", head),
    slots,
  );
}

/**
 * How much of what it was asked for has been settled: a segment per token, the notch after the
 * number asked for.
 * @type {(lane: LevelLane, threshold: number) => Child}
 */
function meter({ asked, settled }, threshold) {
  const want = asked ?? threshold;
  const css = (/** @type {number} */ i) => {
    const notch = i === want - 1 ? "is-notch" : "";
    return i < settled ? `is-full ${notch}` : notch;
  };
  const segments = Array.from({ length: Math.max(want, settled) }, (_, i) =>
    h("i", { class: css(i) }),
  );
  return [
    h("span.hp-squares", { "aria-hidden": "true" }, segments),
    h("span", `${settled} of ${want} settled · T = ${threshold}`),
  ];
}

/**
 * A token in a lane, as a button that shows its life.
 * @param {LaneChip} chip
 * @param {number} level
 * @param {{from: number, called: string[]} & LaneChoice} how called: the names of the levels
 * @returns {HTMLElement}
 */
function chip({ token, verdict, fresh }, level, { from, chosen, called, onToken }) {
  const { origin, level: home } = token.born;
  const [judged, tick] = verdict ? VERDICTS[verdict] : [];
  const risen = home !== level ? ` from ${called[home]}` : "";
  const outcome = judged ? `, ${judged}` : "";
  const title = `${visible(token.piece)}: ${ORIGINS[origin]}${risen}${outcome}`;
  const marks = [sign(origin), tick ? h(`span.hp-tier-verdict.is-${verdict}`, tick) : null];
  const attributes = {
    "type": "button",
    "class": `hp-tier-token is-${origin} is-${verdict ?? "open"}${fresh ? " is-fresh" : ""}`,
    title,
    "aria-label": title,
    "style": `grid-column: ${token.position - from + 1}`,
    "data-chip": `${level}-${token.id}`,
    "aria-pressed": String(token.id === chosen),
    "onclick": () => onToken(token.id),
  };
  const words = [
    tokenOf(token.piece, { cells: CELLS }),
    h("span.hp-tier-marks", { "aria-hidden": "true" }, marks),
  ];
  return h("button", attributes, words);
}

/**
 * What passes between a level and the one below it; what is handed up is also drawn, one square per
 * token.
 * @type {(view: View, state: LaneState, level: number, event: EventPlace) => HTMLElement}
 */
function between({ step }, { lanes, level: now }, level, event) {
  const { chips, lent, asked, settled } = lanes[level - 1];
  const kept = chips.filter(({ verdict }) => verdict === "kept").length;
  const down = event !== null && now === level - 1;
  const up = down && handsUp(step, event) ? `↑ hands up ${settled}` : "";
  const handed = lent ? `↑ ${lent} handed up: ${kept} kept` : up;
  const squares = chips.map(({ verdict }) => h("i", { class: `is-${verdict}` }));
  const block = handed && h("span.hp-squares", { "aria-hidden": "true" }, squares);
  const ask = h("span.hp-tier-ask", asked === null ? "" : `↓ asks for ${asked}`);
  const css = down || (now === level && lent) ? ".is-now" : "";
  return h(`div.hp-tier-link${css}`, { "data-below": level - 1 }, ask, block, handed);
}

// ---- what each level did, and the life of one token

/**
 * A table that scrolls; the first cell of each row names it.
 * @type {(name: string, heads: string[], rows: Child[][]) => HTMLElement}
 */
function table(name, heads, rows) {
  const line = (/** @type {"td" | "th"} */ tag, /** @type {Child[]} */ [first, ...rest]) => {
    const scope = tag === "td" ? "row" : "col";
    const cells = rest.map((cell) => h(tag, cell));
    return h("tr", h("th", { scope }, first), cells);
  };
  const body = rows.map((row) => line("td", row));
  const head = h("thead", line("th", heads));
  return scroller(name, h("table.hp-candidates.hp-levels-table", head, h("tbody", body)));
}

/**
 * Totals of the run up to an event; a token is kept if the level above kept it.
 * @type {(view: View, event: EventPlace) => HTMLElement}
 */
function sums({ trace, index }, event) {
  const all = totals(trace, index, event);
  const called = names(trace.setup);
  const rows = all.map(({ calls, handed, kept }, level) => {
    const below = [count(handed), count(kept), handed ? percent(kept / handed) : "–"];
    return [
      capital(called[level]),
      count(calls),
      ...(level < all.length - 1 ? below : ["–", "–", "–"]),
    ];
  });
  return table(
    "what each level did",
    ["", "calls", "tokens handed up", "kept above", "share kept"],
    rows.reverse(),
  );
}

/**
 * Who drew a token, each of its tests up to an event, and where it ended.
 * @type {(view: View, id: number | undefined, event: EventPlace) => HTMLElement[]}
 */
function lifeOf(view, id, event) {
  const token = lanesOf(view).tokens[id ?? -1];
  if (!token) return [];
  const called = names(view.trace.setup);
  const { born, instead, position, end } = token;
  const past = (/** @type {EventPlace} */ at) => event === null || (at !== null && at <= event);
  const facts = {
    who: called[born.level],
    origin: born.origin,
    instead: instead === undefined ? null : { piece: instead },
    place: position + 1,
    end: end && past(end.event) ? end.kind : "",
  };
  const tests = token.tests.filter((test) => past(test.event));
  const rows = tests.map(({ level, accepted, kept, p, q, threshold, coin }) => {
    const words = say("level_test", { accepted, kept, untested: accepted === null });
    const outcome = h(`span.hp-tier-verdict.is-${kept ? "kept" : "dropped"}`, prose(words));
    const numbers = [p, q, threshold, coin].map((x) => number(x));
    return [capital(called[level]), ...numbers, outcome];
  });
  const heads = ["tested by", "p, of this level", "q, of the one below", "threshold", "coin", ""];
  const named = { piece: token.piece, origin: born.origin };
  const life = h("p.hp-note", prose([named, ...say("level_life", facts)]));
  if (!rows.length) return [life];
  return [life, table("tests of this token, level by level", heads, rows)];
}

export { beats, create, moves, shows };

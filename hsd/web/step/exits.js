// What a model computes that drafts and checks at exits of its own (HiSpec), in layers: under the
// lane of each exit a cell for every layer and token, what was computed and kept, what is computed
// now, and what of it in vain; and the cost of each depth so far, beside plain decoding.
import { h } from "../kit/dom.js";
import { exact, number, plural, subscript } from "../kit/format.js";
import { card } from "../kit/controls.js";
import { plain, say } from "./sentences.js";
import { kinds, names, totals } from "./lanes.js";

/**
 * Whether a run leaves its model early, and its trace tells after how many layers.
 * @type {StepPart["shows"]}
 */
const shows = ({ step, trace: { setup } }) =>
  Boolean(setup.models.at(-1)?.layers) &&
  setup.options.levels.exits.length > 0 &&
  step.events.length > 0;

// ---- what is computed
//
// The layers fall into groups, one up to each exit. A group keeps what it computed for the first n
// tokens of the text, and a deeper one never has more. Reading up to a place runs every group on
// what it has not read yet; what was rejected is forgotten. The lengths follow from the trace's
// positions; tests compare them with its `work` counts.

/**
 * The layers of each group, [first, last] from 1 on; an empty one has last < first.
 * @type {(setup: Setup) => TextSpan[]}
 */
const groupsOf = ({ models }) =>
  models.map(({ layers }, i) => [(models[i - 1]?.layers ?? 0) + 1, layers ?? 0]);

/**
 * One entry per event of a step, and one for the target's pass: read, per group the places that it
 * computed; heads, the places after which this level's head gave a distribution; after, the groups'
 * lengths when it was over.
 * @type {(step: Step, groups: number) => GroupWork[]}
 */
function workOf(step, groups) {
  const seen = /** @type {GroupWork[]} */ ([]);
  // the last token is fed by the round that follows it
  let lengths = /** @type {number[]} */ (Array(groups).fill(step.context_length - 1));
  /** @type {(level: number, start: number, end: number, length: number) => void} */
  const note = (level, start, end, length) => {
    const read = lengths.map((known, group) => {
      const reached = group <= level ? Math.max(known, end) : known;
      return /** @type {TextSpan} */ ([known, reached]);
    });
    lengths = read.map(([, reached]) => Math.min(reached, length));
    seen.push({
      level,
      read,
      heads: [start - 1, end],
      after: lengths,
    });
  };
  for (const { kind, level, position, committed, tested, work } of step.events) {
    const draft = kind === "draft"; // one call per token, also for those after an end of the text
    const end = position + (draft ? work.calls - 1 : tested.length);
    const length = draft ? Infinity : position + committed.length - 1;
    note(level, position, end, length);
  }
  const { context_length: start } = step;
  note(groups - 1, start, start + step.drafted, start + step.committed.length - 1);
  return seen;
}

/**
 * The layers under a lane of `levels.js`, and over them the head of its exit.
 * @param {number} level
 * @param {string} css of the level, see `kinds`
 * @param {View} view
 * @param {number | null} event the one that has just happened; null for the target's pass
 * @param {TextSpan} places the columns of the lane
 * @returns {HTMLElement}
 */
function under(level, css, { trace: { setup }, step }, event, [from, to]) {
  const work = /** @type {GroupWork} */ (workOf(step, setup.models.length).at(event ?? -1));
  const { read, after, heads, level: now } = work;
  const [first, last] = groupsOf(setup)[level];
  const lit = read[level];
  const length = after[level];
  const fresh = lit[1] - lit[0];
  const within = (/** @type {TextSpan} */ [low, high], /** @type {number} */ place) =>
    place >= low && place < high;
  const cell = (/** @type {number} */ place) => {
    const computed = within(lit, place);
    const kind = computed ? "is-lit" : "";
    if (place < length) return `${kind} is-cached`;
    return computed ? `${kind} is-lost` : kind;
  };
  const head = (/** @type {number} */ place) =>
    now === level && within(heads, place) ? "is-lit" : "";
  /** @type {(kind: string, cellAt: (place: number) => string, layer?: number) => HTMLElement} */
  const row = (kind, cellAt, layer) => {
    const places = Array.from({ length: to - from }, (_, i) => from + i);
    const cells = places.map((place) => h("i", { class: cellAt(place) }));
    return h("div.hp-depth-row", { "class": kind, "data-layer": layer }, cells);
  };
  const depth = Math.max(0, last - first + 1);
  const layers = Array.from({ length: depth }, (_, i) => row("", cell, last - i));
  const computes = fresh > 0 && depth > 0;
  const side = [
    h("b", layersWords(first, last)),
    h("span.hp-depth-kept", `n${subscript(level)} = ${plural(length, "token")} cached`),
    computes ? h("span", `now ${depth} × ${fresh}`) : null,
  ];
  // the head stands over the token after which it gives a distribution
  const rows = h("div.hp-depth-rows", { "aria-hidden": "true" }, row("is-heads", head), layers);
  return h(
    `div.hp-depth.${css}${computes ? ".is-now" : ""}`,
    { "data-group": level },
    h("div.hp-tier-head", side),
    rows,
  );
}

/** The layers of a group in words. @type {(first: number, last: number) => string} */
function layersWords(first, last) {
  if (last < first) return "no layers";
  return last > first ? `layers ${first}–${last}` : `layer ${first}`;
}

const SIGNS = [
  ["is-cached", "computed before, kept"],
  ["is-lit is-cached", "computed now"],
  ["is-lit is-lost", "computed now in vain: its token was rejected"],
];
/** Pairs of a sign and what it means. @returns {[HTMLElement, string][]} */
const legend = () =>
  SIGNS.map(([css, words]) => {
    const sign = h("span.hp-depth-row.is-sign", h("i", { class: css }));
    return [sign, words];
  });

// ---- what it costs

/** Parts of a cost with their sum. @type {(parts: LayerCost["parts"]) => LayerCost} */
const summed = (parts) => ({
  parts,
  sum: parts.reduce((all, part) => all + part.layers + part.heads, 0),
});

/**
 * What a run computed up to the end of a step: tokens committed, what a head costs, and the cost of
 * work (tokens × layers), of passes (layers, however many tokens go through together), and of plain
 * decoding of as many tokens.
 * @param {Trace} trace
 * @param {number} index of the step
 */
function costs(trace, index) {
  const rows = totals(trace, index);
  const top = rows.length - 1;
  const { layers, head_cost: head } = trace.setup.models[top];
  const tokens = rows[top].kept;
  const headCost = head ?? 0;
  const work = rows.map(({ computed, heads }, level) => ({
    level,
    layers: computed,
    heads: heads * headCost,
  }));
  const passes = rows.map((row, level) => ({
    level,
    layers: row.layers,
    heads: row.calls * headCost,
  }));
  const plain = {
    level: top,
    layers: tokens * (layers ?? 0),
    heads: tokens * headCost,
  };
  return {
    tokens,
    head: headCost,
    work: summed(work),
    passes: summed(passes),
    plain: summed([plain]),
  };
}

/**
 * What a run computed up to the end of a step, as bars and in words.
 * @type {(trace: Trace, index: number) => HTMLElement[]}
 */
function figure(trace, index) {
  const { tokens, head, work, passes, plain: usual } = costs(trace, index);
  const called = names(trace.setup);
  const css = kinds(trace.setup);
  const longest = Math.max(usual.sum, work.sum, passes.sum) || 1;
  const part = (
    /** @type {number} */ level,
    /** @type {string} */ of,
    /** @type {number} */ value,
  ) => {
    const style = `width:${(100 * value) / longest}%`;
    const title = `${called[level]}, ${of}: ${number(value)}`;
    return h(`i.is-${of}.${css[level]}`, { style, title });
  };
  const bar = (
    /** @type {string} */ name,
    /** @type {LayerCost} */ { parts, sum },
    /** @type {string} */ words,
  ) => {
    const track = parts.map(({ level, layers, heads }) => [
      part(level, "layers", layers),
      part(level, "head", heads),
    ]);
    const shown = h("b", number(sum, 4));
    return h(
      "div.hp-cost",
      { "data-cost": name },
      h("span", words),
      h("span.hp-cost-track", track),
      shown,
    );
  };
  const inPasses = passes.sum / usual.sum;
  const facts = {
    work: times(work.sum / usual.sum),
    passes: times(inPasses),
    faster: inPasses < 1,
    head: number(head),
    dear: head >= 0.5,
  };
  return [
    bar("work", work, "tokens × layers"),
    bar("passes", passes, "passes through a layer"),
    bar("plain", usual, `plain decoding, ${plural(tokens, "token")}`),
    h("p.hp-note", plain(say("run_cost", facts))),
  ];
}

/** A factor as the start of a comparison: "2 times as much as". @param {number} x */
function times(x) {
  if (x === 1) return "as much as";
  return x > 1 ? `${exact(x)} times as much as` : `${exact(x)} of`;
}

/** @type {StepPart["create"]} */
function create() {
  const hint = plain(say("costs_hint", {}));
  const box = h("div.hp-costs");
  const below = card("hp-exits", "What it cost up to this target call", hint, box);
  return { below, draw: ({ trace, index }) => box.replaceChildren(...figure(trace, index)) };
}

export { create, legend, shows, under };

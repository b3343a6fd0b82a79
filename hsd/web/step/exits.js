// What a model computes that drafts and checks at exits of its own (HiSpec), in layers: under the lane of each exit a cell
// for every layer and token, what was computed and kept, what is computed now, and what of it in vain; and the cost of each
// depth so far, beside plain decoding.
import { h } from "../kit/dom.js";
import { exact, number, plural, subscript } from "../kit/format.js";
import { card } from "../kit/parts.js";
import { plain, say } from "./fill.js";
import { kinds, names, totals } from "./lanes.js";

/** Whether a run leaves its model early, and its trace tells after how many layers. @type {StepPart["shows"]} */
const shows = ({ step, trace: { setup } }) =>
  Boolean(setup.models.at(-1)?.layers) && setup.options.levels.exits.length > 0 && step.events.length > 0;

// ---- what is computed
//
// The layers fall into groups, one up to each exit. A group keeps what it computed for the first n tokens of the text,
// and a deeper one never has more. Reading up to a place runs every group on what it has not read yet; what was
// rejected is forgotten. The lengths follow from the trace's positions; tests compare them with its `work` counts.

/** The layers of each group, [first, last] from 1 on; an empty one has last < first. @type {(setup: Setup) => TextSpan[]} */
const groupsOf = ({ models }) => models.map(({ layers }, i) => [(models[i - 1]?.layers ?? 0) + 1, layers ?? 0]);

/**
 * One entry per event of a step, and one for the target's pass: read, per group the places that it computed; heads, the
 * places after which this level's head gave a distribution; after, the groups' lengths when it was over.
 * @type {(step: Step, groups: number) => GroupWork[]}
 */
function workOf(step, groups) {
  const seen = /** @type {GroupWork[]} */ ([]);
  let lengths = Array(groups).fill(step.context_length - 1); // the last token is fed by the round that follows it
  const note = (/** @type {number[]} */ ...[level, start, end, length]) => {
    const read = lengths.map((n, group) => /** @type {TextSpan} */ ([n, group <= level ? Math.max(n, end) : n]));
    lengths = read.map(([, n]) => Math.min(n, length));
    seen.push({ level, read, heads: [start - 1, end], after: lengths });
  };
  for (const { kind, level, position, committed, tested, work } of step.events) {
    const draft = kind === "draft"; // one call per token, also for those after an end of the text
    const end = position + (draft ? work.calls - 1 : tested.length);
    note(level, position, end, draft ? Infinity : position + committed.length - 1);
  }
  const { context_length: start } = step;
  note(groups - 1, start, start + step.drafted, start + step.committed.length - 1);
  return seen;
}

/** The layers under a lane of `levels.js`, and over them the head of its exit. css: of the level, see `kinds`. @type {(level: number, css: string, view: View, event: number | null, places: TextSpan) => HTMLElement} */
function under(level, css, { trace: { setup }, step }, event, [from, to]) {
  const work = /** @type {GroupWork} */ (workOf(step, setup.models.length).at(event ?? -1));
  const { read, after, heads, level: now } = work;
  const [first, last] = groupsOf(setup)[level];
  const [lit, length] = [read[level], after[level]];
  const fresh = lit[1] - lit[0];
  const within = (/** @type {TextSpan} */ [low, high], /** @type {number} */ place) => place >= low && place < high;
  const cell = (/** @type {number} */ place) =>
    [within(lit, place) ? "is-lit" : "", place < length ? "is-cached" : within(lit, place) ? "is-lost" : ""].join(" ");
  const head = (/** @type {number} */ place) => (now === level && within(heads, place) ? "is-lit" : "");
  /** @type {(kind: string, one: (place: number) => string, layer?: number) => HTMLElement} */
  const row = (kind, one, layer) => {
    const cells = Array.from({ length: to - from }, (_, i) => h("i", { class: one(from + i) }));
    return h("div.hp-depth-row", { "class": kind, "data-layer": layer }, cells);
  };
  const layers = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => row("", cell, last - i));
  const named = layers.length > 1 ? `layers ${first}–${last}` : layers.length ? `layer ${first}` : "no layers";
  const side = [
    h("b", named),
    h("span.hp-depth-kept", `n${subscript(level)} = ${plural(length, "token")} cached`),
    fresh && layers.length ? h("span", `now ${layers.length} × ${fresh}`) : null,
  ];
  // the head stands over the token after which it gives a distribution
  const rows = h("div.hp-depth-rows", { "aria-hidden": "true" }, row("is-heads", head), layers);
  const lights = fresh && layers.length ? ".is-now" : "";
  return h(`div.hp-depth.${css}${lights}`, { "data-group": level }, h("div.hp-tier-head", side), rows);
}

const SIGNS = [
  ["is-cached", "computed before, kept"],
  ["is-lit is-cached", "computed now"],
  ["is-lit is-lost", "computed now in vain: its token was rejected"],
];
/** Pairs of a sign and what it means. @type {() => [HTMLElement, string][]} */
const legend = () => SIGNS.map(([css, words]) => [h("span.hp-depth-row.is-sign", h("i", { class: css })), words]);

// ---- what it costs

/** @type {(parts: LayerCost["parts"]) => LayerCost} */
const summed = (parts) => ({ parts, sum: parts.reduce((all, part) => all + part.layers + part.heads, 0) });

/**
 * What a run computed up to the end of a step: tokens committed, what a head costs, and the cost of work (tokens × layers),
 * of passes (layers, however many tokens go through together), and of plain decoding of as many tokens.
 * @param {Trace} trace @param {number} index of the step
 */
function costs(trace, index) {
  const rows = totals(trace, index);
  const top = rows.length - 1;
  const { layers, head_cost: head } = trace.setup.models[top];
  const [tokens, one] = [rows[top].kept, head ?? 0];
  const work = rows.map(({ computed, heads }, level) => ({ level, layers: computed, heads: heads * one }));
  const passes = rows.map((row, level) => ({ level, layers: row.layers, heads: row.calls * one }));
  const plain = [{ level: top, layers: tokens * (layers ?? 0), heads: tokens * one }];
  return { tokens, head: one, work: summed(work), passes: summed(passes), plain: summed(plain) };
}

/** The same as bars, and in words. @type {(trace: Trace, index: number) => HTMLElement[]} */
function figure(trace, index) {
  const { tokens, head, work, passes, plain: usual } = costs(trace, index);
  const [called, css] = [names(trace.setup), kinds(trace.setup)];
  const longest = Math.max(usual.sum, work.sum, passes.sum) || 1;
  const part = (/** @type {number} */ level, /** @type {string} */ of, /** @type {number} */ value) => {
    const title = `${called[level]}, ${of}: ${number(value)}`;
    return h(`i.is-${of}.${css[level]}`, { style: `width:${(100 * value) / longest}%`, title });
  };
  const bar = (/** @type {string} */ name, /** @type {LayerCost} */ { parts, sum }, /** @type {string} */ words) => {
    const track = parts.map(({ level, layers, heads }) => [part(level, "layers", layers), part(level, "head", heads)]);
    const shown = h("b", number(sum, 4));
    return h("div.hp-cost", { "data-cost": name }, h("span", words), h("span.hp-cost-track", track), shown);
  };
  const [one, other] = [work, passes].map(({ sum }) => sum / usual.sum);
  const facts = { work: times(one), passes: times(other), faster: other < 1, head: number(head), dear: head >= 0.5 };
  return [
    bar("work", work, "tokens × layers"),
    bar("passes", passes, "passes through a layer"),
    bar("plain", usual, `plain decoding, ${plural(tokens, "token")}`),
    h("p.hp-note", plain(say("cost", facts))),
  ];
}

/** @param {number} x */
const times = (x) => (x === 1 ? "as much as" : x > 1 ? `${exact(x)} times as much as` : `${exact(x)} of`);

/** @type {StepPart["create"]} */
function create() {
  const hint = plain(say("costs hint", {}));
  const box = h("div.hp-costs");
  const below = card("hp-exits", "What it cost up to this target call", hint, box);
  return { below, draw: ({ trace, index }) => box.replaceChildren(...figure(trace, index)) };
}

export { create, groupsOf, legend, shows, under, workOf };

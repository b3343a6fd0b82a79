// What a model computes that drafts and checks at exits of its own (HiSpec), in layers: under the lane of each exit a cell
// for every layer and token, what was computed and kept, what is computed now, and what of it in vain; and the cost of each
// depth so far, beside plain decoding.
import { h } from "../kit/dom.js";
import { exact, number, plural, subscript } from "../kit/format.js";
import { card } from "../kit/parts.js";
import { plain, say } from "./fill.js";
import { kinds, names, totals } from "./lanes.js";

const WORK = new WeakMap(); // step: what `workOf` found

/**
 * Whether a run leaves its model early, and its trace tells after how many layers.
 * @param {object} view a step as `model.readStep` gives it
 */
const shows = ({ step, trace }) =>
  Boolean(trace?.setup.models.at(-1).layers) && trace.setup.options.levels.exits.length > 0 && step.events.length > 0;

// ---- what is computed
//
// The layers fall into groups, one up to each exit. A group keeps what it computed for the first n tokens of the text,
// and a deeper one never has more. Reading up to a place runs every group on what it has not read yet; what was
// rejected is forgotten. The lengths follow from the trace's positions; tests compare them with its `work` counts.

/** The layers of each group, [first, last] from 1 on; an empty one has last < first. @param {Setup} setup */
const groupsOf = ({ models }) => models.map(({ layers }, i) => [(i ? models[i - 1].layers : 0) + 1, layers]);

/**
 * One entry per event of a step, and one for the target's pass: {level, read: per group [from, to) of the places that it
 * computed, heads: [from, to) of the places after which this level's head gave a distribution, after: the groups'
 * lengths when it was over}.
 * @param {Step} step
 * @param {number} count how many groups
 */
function workOf(step, count) {
  if (WORK.has(step)) return WORK.get(step);
  const seen = [];
  let lengths = Array(count).fill(step.context_length - 1); // the last token is fed by the round that follows it
  const note = (level, start, end, length) => {
    const read = lengths.map((n, group) => [n, group <= level ? Math.max(n, end) : n]);
    lengths = read.map(([, n]) => Math.min(n, length));
    seen.push({ level, read, heads: [start - 1, end], after: lengths });
  };
  for (const { kind, level, position, committed, tested, work } of step.events) {
    const draft = kind === "draft"; // one call per token, also for those after an end of the text
    const end = position + (draft ? work.calls - 1 : tested.length);
    note(level, position, end, draft ? Infinity : position + committed.length - 1);
  }
  const { context_length: start } = step;
  note(count - 1, start, start + step.drafted, start + step.committed.length - 1);
  WORK.set(step, seen);
  return seen;
}

/**
 * The layers under a lane of `levels.js`, and over them the head of its exit.
 * @param {number} level
 * @param {string} kind of the level, see `kinds`
 * @param {object} view
 * @param {number | null} event of the step, null for the target's pass
 * @param {[number, number]} places of the columns, the second after the last
 */
function under(level, kind, { trace: { setup }, step }, event, [from, to]) {
  const { read, after, heads, level: now } = workOf(step, setup.models.length).at(event ?? -1);
  const [first, last] = groupsOf(setup)[level];
  const [lit, length] = [read[level], after[level]];
  const fresh = lit[1] - lit[0];
  const within = ([low, high], place) => place >= low && place < high;
  const cell = (place) =>
    [within(lit, place) ? "is-lit" : "", place < length ? "is-cached" : within(lit, place) ? "is-lost" : ""].join(" ");
  const head = (place) => (now === level && within(heads, place) ? "is-lit" : "");
  const row = (css, one, layer) =>
    h(
      `div.hp-depth-row${css}`,
      { "data-layer": layer },
      Array.from({ length: to - from }, (_, i) => h("i", { class: one(from + i) })),
    );
  const layers = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => row("", cell, last - i));
  const named = layers.length > 1 ? `layers ${first}–${last}` : layers.length ? `layer ${first}` : "no layers";
  const side = [
    h("b", named),
    h("span.hp-depth-kept", `n${subscript(level)} = ${plural(length, "token")} cached`),
    fresh && layers.length ? h("span", `now ${layers.length} × ${fresh}`) : null,
  ];
  // the head stands over the token after which it gives a distribution
  return h(
    `div.hp-depth.${kind}${fresh && layers.length ? ".is-now" : ""}`,
    { "data-group": level },
    h("div.hp-tier-head", side),
    h("div.hp-depth-rows", { "aria-hidden": "true" }, row(".is-heads", head), layers),
  );
}

const SIGNS = [
  ["is-cached", "computed before, kept"],
  ["is-lit is-cached", "computed now"],
  ["is-lit is-lost", "computed now in vain: its token was rejected"],
];
/** Pairs of a sign and what it means. */
const legend = () => SIGNS.map(([css, words]) => [h("span.hp-depth-row.is-sign", h("i", { class: css })), words]);

// ---- what it costs

/**
 * What a run computed up to the end of a step, in layers on one token: tokens committed; and for each of work (tokens ×
 * layers), passes (layers, however many tokens go through together), and plain decoding of as many tokens, the parts
 * [{level, layers, heads}] and their sum.
 * @param {Trace} trace
 * @param {number} index of the step
 */
function costs(trace, index) {
  const rows = totals(trace, index);
  const { layers, head_cost: head } = trace.setup.models.at(-1);
  const top = rows.length - 1;
  const tokens = rows[top].kept;
  const summed = (parts) => ({ parts, sum: parts.reduce((all, part) => all + part.layers + part.heads, 0) });
  const each = (made, calls) =>
    summed(rows.map((row, level) => ({ level, layers: row[made], heads: row[calls] * head })));
  return {
    tokens,
    head,
    work: each("computed", "heads"),
    passes: each("layers", "calls"),
    plain: summed([{ level: top, layers: tokens * layers, heads: tokens * head }]),
  };
}

/** The same as bars, and in words. @param {Trace} trace @param {number} index */
function figure(trace, index) {
  const cost = costs(trace, index);
  const { tokens, head, plain: usual } = cost;
  const [called, css] = [names(trace.setup), kinds(trace.setup)];
  const longest = Math.max(usual.sum, cost.work.sum, cost.passes.sum) || 1;
  const part = (level, of, value) =>
    h(`i.is-${of}.${css[level]}`, {
      style: `width:${(100 * value) / longest}%`,
      title: `${called[level]}, ${of}: ${number(value)}`,
    });
  const bar = ([name, words]) => {
    const parts = cost[name].parts.flatMap(({ level, layers, heads }) => [
      part(level, "layers", layers),
      part(level, "head", heads),
    ]);
    const sum = h("b", number(cost[name].sum, 4));
    return h("div.hp-cost", { "data-cost": name }, h("span", words), h("span.hp-cost-track", parts), sum);
  };
  const bars = [
    ["work", "tokens × layers"],
    ["passes", "passes through a layer"],
    ["plain", `plain decoding, ${plural(tokens, "token")}`],
  ];
  const [work, passes] = [cost.work, cost.passes].map(({ sum }) => sum / usual.sum);
  const facts = { work: times(work), passes: times(passes), faster: passes < 1, head: number(head), dear: head >= 0.5 };
  return [...bars.map(bar), h("p.hp-note", plain(say("cost", facts)))];
}

const times = (x) => (x === 1 ? "as much as" : x > 1 ? `${exact(x)} times as much as` : `${exact(x)} of`);

/** As a part of a step, see parts.js. */
function create() {
  const hint =
    "In layers: one layer on one token is 1. The output heads are part of it, drawn paler; the prompt is not.";
  const box = h("div.hp-costs");
  const draw = ({ trace, index }) => box.replaceChildren(...figure(trace, index));
  return { below: card("hp-exits", "What it cost up to this target call", hint, box), draw, beat() {} };
}

export { costs, create, figure, groupsOf, legend, shows, under, workOf };

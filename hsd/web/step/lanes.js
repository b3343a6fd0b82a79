// What lay in the lane of each level of a run when something had happened there: once for every event below the target,
// and once for the target's own pass. Pure: a view of model.js in; no element here.

import { plain, say } from "./fill.js";

/**
 * A token, followed from where it was born to where it ended. position: its place in the text, from 0; instead: the piece that
 * it replaced; an event is the number of one in its step, null for the target's pass.
 * @typedef {object} LaneToken
 * @property {number} id
 * @property {string} piece
 * @property {number} position
 * @property {{level: number, origin: string, event: number | null}} born
 * @property {string} [instead]
 * @property {{level: number, event: number | null, p: number, q: number, threshold: number | null, coin: number,
 *   accepted: boolean | null, kept: boolean}[]} tests
 * @property {{kind: "text" | "dropped" | "cut", event: number | null} | null} end
 */

/**
 * A lane at a moment: its tokens; asked, how many the level was asked for; settled, how many it has; lent, how many it has just
 * handed up and the level above has judged.
 * @typedef {object} Lane
 * @property {{token: LaneToken, verdict: "kept" | "dropped" | null, fresh: boolean}[]} chips
 * @property {number | null} asked
 * @property {number} settled
 * @property {number | null} lent
 */

const READ = new WeakMap(); // view: what `lanesOf` found

/** How the levels of a run are called in sentences, the smallest first. @param {Setup} setup @returns {string[]} */
const names = ({ models, options }) =>
  models.map((_, level) => {
    const facts = { top: level === models.length - 1, level, levels: models.length };
    return plain(say("level name", { ...facts, exits: options.levels.exits.length > 0 }));
  });

/** The kind of each level, for its colour: one drafts, one is the target. @param {Setup} setup @returns {string[]} */
const kinds = ({ models }) =>
  models.map((_, level) => (level === models.length - 1 ? "is-target" : level ? "is-between" : "is-bottom"));

/**
 * What happened in a step, moment by moment. end: the length that the longest lane reaches; states: one after each event and
 * one after the target's pass, lanes with the smallest level first, and the level at which it happened.
 * @param {object} view a step as `model.readStep` gives it
 * @returns {{tokens: LaneToken[], end: number, states: {level: number, lanes: Lane[]}[]}}
 */
function lanesOf(view) {
  if (READ.has(view)) return READ.get(view);
  const { step } = view;
  const count = view.trace.setup.models.length;
  const read = { tokens: [], states: [], end: step.context_length + 1 };
  let lanes = Array.from({ length: count }, () => ({ chips: [], asked: null, settled: 0, lent: null }));
  step.events.forEach((event, index) => {
    lanes = lanes.map(rested);
    if (event.kind === "verify") judge(lanes[event.level - 1], event.tested, event.kept, event.level, index);
    settle(lanes[event.level], event, lanes[event.level - 1], index, read);
    read.states.push({ level: event.level, lanes });
  });
  read.states.push({ level: count - 1, lanes: targetPass(view, lanes.map(rested), count, read) });
  askAhead(step, read.states);
  READ.set(view, read);
  return read;
}

/** A lane as the next moment finds it. */
const rested = (lane) => ({ ...lane, chips: lane.chips.map((chip) => ({ ...chip, fresh: false })) });

/** The level above has judged what this lane handed up. */
function judge(lane, tested, kept, level, event) {
  lane.lent = tested.length;
  lane.chips = lane.chips.map(({ token }, i) => {
    const test = tested[i];
    if (test) token.tests.push({ ...test, level, event, kept: i < kept });
    if (!test || i >= kept) token.end = { kind: test ? "dropped" : "cut", event };
    return { token, verdict: test && i < kept ? "kept" : "dropped", fresh: false };
  });
}

/** What an event appends to its lane: kept tokens rise from the lane below, the others are born here. */
function settle(lane, event, below, index, read) {
  const before = event.held === 0 ? [] : lane.chips.slice(0, event.held);
  const added = event.committed.map(({ piece, origin }, i) => {
    const rises = event.kind === "verify" && i < event.kept;
    const token = rises
      ? below.chips[i].token
      : born(read, piece, event.position + i, { level: event.level, origin, event: index });
    if (!rises && event.kind === "verify" && event.tested[i]) token.instead = event.tested[i].piece;
    return { token, verdict: null, fresh: true };
  });
  Object.assign(lane, { chips: [...before, ...added], asked: event.asked, lent: null });
  lane.settled = event.held + added.length;
  const drafted = event.kind === "draft" ? event.work.calls - 1 : 0; // also after an end of the text
  read.end = Math.max(read.end, event.position + Math.max(added.length, event.tested.length, drafted));
}

function born(read, piece, position, where) {
  const token = { id: read.tokens.length, piece, position, born: where, tests: [], end: null };
  read.tokens.push(token);
  return token;
}

/** The lanes after the target's pass: it judges the block of the level below and commits. */
function targetPass({ step, own, original }, lanes, count, read) {
  const tested = step.nodes.map(({ id, p, q, coin }) => {
    const made = own.decisions.find(({ node }) => node === id);
    return { p, q, coin: made?.coin ?? coin, threshold: made?.threshold ?? null, accepted: made?.accepted ?? null };
  });
  const [below, target] = [lanes[count - 2], lanes[count - 1]];
  if (below) judge(below, tested, own.kept, count - 1, null);
  // with other coins or another rule, what would follow the kept tokens is not known
  const committed = original
    ? step.nodes.slice(0, own.kept).map((node) => ({ ...node, origin: "draft" }))
    : step.committed;
  target.chips = committed.map(({ piece, origin }, i) => {
    const rises = i < own.kept && below && below.chips[i];
    const where = { level: count - 1, origin, event: null };
    const token = rises ? below.chips[i].token : born(read, piece, step.context_length + i, where);
    if (!rises && step.nodes[i]) token.instead = step.nodes[i].piece;
    token.end = { kind: "text", event: null };
    return { token, verdict: null, fresh: true };
  });
  target.settled = target.chips.length;
  read.end = Math.max(read.end, step.context_length + Math.max(step.committed.length, step.nodes.length));
  return lanes;
}

/** A level without an event so far has been asked for tokens too; its next event says for how many. */
function askAhead(step, states) {
  states.forEach(({ lanes }, k) => {
    lanes.forEach((lane, level) => {
      const next = step.events.slice(k).find((event) => event.level === level);
      lane.asked ??= next ? next.asked : null;
    });
  });
}

/**
 * Whether the level of an event hands up what it has settled: what happens next happens above it.
 * @param {Step} step
 * @param {number} index of the event
 */
function handsUp(step, index) {
  const next = step.events[index + 1];
  return !next || next.level > step.events[index].level;
}

/**
 * Totals of the run up to an event of a step, or to its end (null): one per level, the smallest first: calls, layers,
 * computed, heads, as a trace's `work` counts them; handed, the tokens handed up and judged by the level above, and kept
 * of them; for the target those that were committed.
 * @param {Trace} trace
 * @param {number} index of the step
 * @param {number | null} event
 */
function totals({ setup, steps }, index, event = null) {
  const rows = setup.models.map(() => ({ calls: 0, handed: 0, kept: 0, layers: 0, computed: 0, heads: 0 }));
  const add = (level, counts) => {
    for (const [name, count] of Object.entries(counts)) rows[level][name] += count;
  };
  steps.slice(0, index + 1).forEach((step, i) => {
    const whole = i < index || event === null;
    for (const { level, kind, tested, kept, work } of step.events.slice(0, whole ? Infinity : event + 1)) {
      add(level, work);
      if (kind === "verify") add(level - 1, { handed: tested.length, kept });
    }
    if (!whole) return;
    const top = rows.length - 1;
    add(top, { ...step.work, handed: step.committed.length, kept: step.committed.length });
    if (top > 0) add(top - 1, { handed: step.drafted, kept: step.kept });
  });
  return rows;
}

export { handsUp, kinds, lanesOf, names, totals };

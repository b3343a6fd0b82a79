// What lay in the lane of each level of a run when something had happened there: once for every event below the target,
// and once for the target's own pass. Pure: a view of model.js in; no element here.

import { plain, say } from "./fill.js";

/** @typedef {{level: number, origin: Origin, event: number | null}} Birth event: its number in the step, null for the target's pass */
/** @typedef {Pick<Tested, "p" | "q" | "coin" | "accepted"> & {threshold: number | null, level: number, event: number | null, kept: boolean}} LaneTest */

/**
 * A token, followed from where it was born to where it ended. position: its place in the text, from 0; instead: the piece
 * that it replaced.
 * @typedef {object} LaneToken
 * @property {number} id
 * @property {string} piece
 * @property {number} position
 * @property {Birth} born
 * @property {string} [instead]
 * @property {LaneTest[]} tests
 * @property {{kind: "text" | "dropped" | "cut", event: number | null} | null} end
 */

/** @typedef {{token: LaneToken, verdict: "kept" | "dropped" | null, fresh: boolean}} Chip a token in a lane */

/**
 * A lane at a moment: its tokens; asked, how many the level was asked for; settled, how many it has; lent, how many it has
 * just handed up and the level above has judged.
 * @typedef {{chips: Chip[], asked: number | null, settled: number, lent: number | null}} Lane
 */

/** @typedef {{level: number, lanes: Lane[]}} LaneState the lanes after an event, the smallest level first, and where it happened */
/** @typedef {{tokens: LaneToken[], states: LaneState[], end: number}} Lanes end: the length that the longest lane reaches */

/** @type {WeakMap<View, Lanes>} */
const READ = new WeakMap(); // what `lanesOf` has read already

/** How the levels of a run are called in sentences, the smallest first. @param {Setup} setup @returns {string[]} */
const names = ({ models, options }) =>
  models.map((_, level) => {
    const facts = { top: level === models.length - 1, level, levels: models.length };
    return plain(say("level name", { ...facts, exits: options.levels.exits.length > 0 }));
  });

/** The kind of each level, for its colour: one drafts, one is the target. @param {Setup} setup @returns {string[]} */
const kinds = ({ models }) =>
  models.map((_, level) => (level === models.length - 1 ? "is-target" : level ? "is-between" : "is-bottom"));

/** What happened in a step: a state after each event, and one after the target's pass. @type {(view: View) => Lanes} */
function lanesOf(view) {
  const earlier = READ.get(view);
  if (earlier) return earlier;
  const { step } = view;
  const count = view.trace.setup.models.length;
  /** @type {Lanes} */
  const read = { tokens: [], states: [], end: step.context_length + 1 };
  let lanes = Array.from(
    { length: count },
    () => /** @type {Lane} */ ({ chips: [], asked: null, settled: 0, lent: null }),
  );
  for (const [index, event] of step.events.entries()) {
    lanes = lanes.map(rested);
    if (event.kind === "verify") judge(lanes[event.level - 1], event.tested, event.kept, event.level, index);
    settle(lanes[event.level], event, lanes[event.level - 1], index, read);
    read.states.push({ level: event.level, lanes });
  }
  read.states.push({ level: count - 1, lanes: targetPass(view, lanes.map(rested), count, read) });
  askAhead(step, read.states);
  READ.set(view, read);
  return read;
}

/** A lane as the next moment finds it. @type {(lane: Lane) => Lane} */
const rested = (lane) => ({ ...lane, chips: lane.chips.map((chip) => ({ ...chip, fresh: false })) });

/** The level above has judged what this lane handed up. @type {(lane: Lane, tested: Omit<LaneTest, "level" | "event" | "kept">[], kept: number, level: number, event: number | null) => void} */
function judge(lane, tested, kept, level, event) {
  lane.lent = tested.length;
  lane.chips = lane.chips.map(({ token }, i) => {
    const test = tested[i];
    if (test) token.tests.push({ ...test, level, event, kept: i < kept });
    if (!test || i >= kept) token.end = { kind: test ? "dropped" : "cut", event };
    return { token, verdict: test && i < kept ? "kept" : "dropped", fresh: false };
  });
}

/** What an event appends to its lane: kept tokens rise from the lane below, the others are born here. @type {(lane: Lane, event: LevelEvent, below: Lane, index: number, read: Lanes) => void} */
function settle(lane, { level, kind, position, asked, held, tested, kept, committed, work }, below, index, read) {
  const added = committed.map(({ piece, origin }, i) => {
    const rises = kind === "verify" && i < kept;
    const token = rises ? below.chips[i].token : born(read, piece, position + i, { level, origin, event: index });
    if (!rises && kind === "verify" && tested[i]) token.instead = tested[i].piece;
    return { token, verdict: null, fresh: true };
  });
  lane.chips = [...lane.chips.slice(0, held), ...added];
  [lane.asked, lane.lent, lane.settled] = [asked, null, held + added.length];
  const drafted = kind === "draft" ? work.calls - 1 : 0; // also after an end of the text
  read.end = Math.max(read.end, position + Math.max(added.length, tested.length, drafted));
}

/** @type {(read: Lanes, piece: string, position: number, where: Birth) => LaneToken} */
function born({ tokens }, piece, position, where) {
  tokens.push({ id: tokens.length, piece, position, born: where, tests: [], end: null });
  return tokens[tokens.length - 1];
}

/** The lanes after the target's pass: it judges the block of the level below and commits. @type {(view: View, lanes: Lane[], count: number, read: Lanes) => Lane[]} */
function targetPass({ step, own, original }, lanes, count, read) {
  const tested = step.nodes.map(({ id, p, q, coin }) => {
    const { threshold = null, accepted = null, ...test } = own.decisions.find(({ node }) => node === id) ?? { coin };
    return { p, q, coin: test.coin, threshold, accepted };
  });
  const [below, target] = [lanes[count - 2], lanes[count - 1]];
  judge(below, tested, own.kept, count - 1, null);
  // with other coins or another rule, what would follow the kept tokens is not known
  /** @type {Pick<Committed, "piece" | "origin">[]} */
  const kept = step.nodes.slice(0, own.kept).map(({ piece }) => ({ piece, origin: "draft" }));
  const committed = original ? kept : step.committed;
  target.chips = committed.map(({ piece, origin }, i) => {
    const rises = i < own.kept && below.chips[i];
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

/** A level without an event so far has been asked for tokens too; its next event says for how many. @type {(step: Step, states: LaneState[]) => void} */
function askAhead({ events }, states) {
  for (const [k, { lanes }] of states.entries())
    for (const [level, lane] of lanes.entries())
      lane.asked ??= events.slice(k).find((event) => event.level === level)?.asked ?? null;
}

/** Whether the level of an event hands up what it has settled: what happens next happens above it. @type {(step: Step, index: number) => boolean} */
const handsUp = ({ events }, index) => (events[index + 1]?.level ?? Infinity) > events[index].level;

/** @typedef {Work & {handed: number, kept: number}} Totals handed: tokens handed up and judged by the level above; kept: of these */

/**
 * Totals of the run up to an event of a step, or to its end (null), one per level, the smallest first; the target hands up
 * and keeps what is committed.
 * @type {(trace: Trace, index: number, event?: number | null) => Totals[]}
 */
function totals({ setup, steps }, index, event = null) {
  const rows = setup.models.map(() => ({ calls: 0, layers: 0, computed: 0, heads: 0, handed: 0, kept: 0 }));
  const add = (/** @type {number} */ level, /** @type {Partial<Totals>} */ counts) => {
    for (const name of /** @type {(keyof Totals)[]} */ (Object.keys(counts))) rows[level][name] += counts[name] ?? 0;
  };
  const top = rows.length - 1;
  for (const [i, step] of steps.slice(0, index + 1).entries()) {
    const whole = i < index || event === null;
    for (const { level, kind, tested, kept, work } of step.events.slice(0, whole ? Infinity : event + 1)) {
      add(level, work);
      if (kind === "verify") add(level - 1, { handed: tested.length, kept });
    }
    if (!whole) continue;
    add(top, { ...step.work, handed: step.committed.length, kept: step.committed.length });
    if (top > 0) add(top - 1, { handed: step.drafted, kept: step.kept });
  }
  return rows;
}

export { handsUp, kinds, lanesOf, names, totals };

// What lay in the lane of each level of a run when something had happened there: once for every
// event below the target, and once for the target's own pass. Pure: a view of model.js in; no
// element here.

import { plain, say } from "./sentences.js";

/**
 * How the levels of a run, two at least, are called in sentences, the smallest first.
 * @param {Setup} setup
 * @returns {string[]}
 */
function names({ models, options }) {
  const shared = { levels: Math.max(models.length, 2), exits: options.levels.exits.length > 0 };
  const facts = Array.from({ length: shared.levels }, (_, level) => ({
    level,
    top: level === shared.levels - 1,
  }));
  return facts.map((own) => plain(say("level_name", { ...shared, ...own })));
}

/**
 * The kind of each level, for its colour: one drafts, one is the target.
 * @param {Setup} setup
 * @returns {string[]}
 */
const kinds = ({ models }) =>
  models.map((_, level) => {
    if (level === models.length - 1) return "is-target";
    return level ? "is-between" : "is-bottom";
  });

/**
 * What happened in a step: a state after each event, and one after the target's pass; state: the
 * one after an event (null: the pass).
 * @type {(view: View, event?: EventPlace) => Lanes & {state: LaneState}}
 */
function lanesOf(view, event = null) {
  const { step } = view;
  const count = view.trace.setup.models.length;
  /** @type {Lanes} */
  const read = {
    tokens: [],
    states: [],
    end: step.context_length + 1,
  };
  /** @type {() => LevelLane} */
  const empty = () => ({
    chips: [],
    asked: null,
    settled: 0,
    lent: null,
  });
  let lanes = Array.from({ length: count }, empty);
  for (const [index, happened] of step.events.entries()) {
    const { level, kind, tested, kept } = happened;
    lanes = lanes.map(rested);
    const below = lanes[level - 1];
    if (kind === "verify") judge(below, tested, kept, level, index);
    settle(lanes[level], happened, below, index, read);
    read.states.push({ level, lanes });
  }
  lanes = targetPass(view, lanes.map(rested), count, read);
  read.states.push({ level: count - 1, lanes });
  askAhead(step, read.states);
  return { ...read, state: read.states[event ?? step.events.length] };
}

/** A lane at the next event: none of its tokens is fresh. @type {(lane: LevelLane) => LevelLane} */
const rested = (lane) => ({
  ...lane,
  chips: lane.chips.map((chip) => ({ ...chip, fresh: false })),
});

/**
 * Write into a lane what the level above made of the tokens that it handed up.
 * @param {LevelLane} lane
 * @param {Omit<LaneTest, "level" | "event" | "kept">[]} tested
 * @param {number} kept how many of them
 * @param {number} level the one above
 * @param {EventPlace} event in which it judged
 */
function judge(lane, tested, kept, level, event) {
  lane.lent = tested.length;
  lane.chips = lane.chips.map(({ token }, i) => {
    const test = tested[i];
    const isKept = i < kept;
    if (test)
      token.tests.push({
        ...test,
        level,
        event,
        kept: isKept,
      });
    if (test && isKept) return { token, verdict: "kept", fresh: false };
    token.end = { kind: test ? "dropped" : "cut", event };
    return { token, verdict: "dropped", fresh: false };
  });
}

/**
 * What a level adds to its lane: the first `kept` tokens rise from the lane below, the others are
 * born here.
 * @type {(read: Lanes, below: LevelLane, what: AddedTokens) => LaneChip[]}
 */
function added({ tokens }, below, { level, event, position, kept, tested, committed }) {
  return committed.map(({ piece, origin }, i) => {
    const risen = i < kept && below.chips[i];
    if (risen)
      return {
        token: risen.token,
        verdict: null,
        fresh: true,
      };
    const born = { level, origin, event };
    tokens.push({
      id: tokens.length,
      piece,
      position: position + i,
      born,
      instead: tested[i]?.piece,
      tests: [],
      end: null,
    });
    return {
      token: tokens[tokens.length - 1],
      verdict: null,
      fresh: true,
    };
  });
}

/**
 * Append to a lane what an event of its level brought.
 * @param {LevelLane} lane
 * @param {LevelEvent} event
 * @param {LevelLane} below
 * @param {number} index of the event
 * @param {Lanes} read
 */
function settle(lane, event, below, index, read) {
  const { kind, position, asked, held, tested, committed, work } = event;
  const kept = kind === "verify" ? event.kept : 0;
  lane.chips = [
    ...lane.chips.slice(0, held),
    ...added(read, below, {
      ...event,
      event: index,
      kept,
    }),
  ];
  lane.asked = asked;
  lane.lent = null;
  lane.settled = lane.chips.length;
  const drafted = kind === "draft" ? work.calls - 1 : 0; // also after an end of the text
  read.end = Math.max(read.end, position + Math.max(committed.length, tested.length, drafted));
}

/**
 * The lanes after the target's pass: it judges the block of the level below and commits.
 * @type {(view: View, lanes: LevelLane[], count: number, read: Lanes) => LevelLane[]}
 */
function targetPass({ step, own, original }, lanes, count, read) {
  const tested = step.nodes.map(({ id, p, q, coin }) => {
    const test = own.decisions.find(({ node }) => node === id);
    return {
      p,
      q,
      coin: test?.coin ?? coin,
      threshold: test?.threshold ?? null,
      accepted: test?.accepted ?? null,
    };
  });
  const below = lanes[count - 2];
  const target = lanes[count - 1];
  judge(below, tested, own.kept, count - 1, null);
  // with other coins or another rule, what would follow the kept tokens is not known
  /** @type {Pick<Committed, "piece" | "origin">[]} */
  const kept = step.nodes.slice(0, own.kept).map(({ piece }) => ({ piece, origin: "draft" }));
  const committed = original ? kept : step.committed;
  const { context_length: position, nodes } = step;
  const what = {
    level: count - 1,
    event: null,
    position,
    kept: own.kept,
    tested: nodes,
    committed,
  };
  target.chips = added(read, below, what);
  for (const { token } of target.chips) token.end = { kind: "text", event: null };
  target.settled = target.chips.length;
  read.end = Math.max(read.end, position + Math.max(step.committed.length, nodes.length));
  return lanes;
}

/**
 * Fill in how many tokens a level without an event so far was asked for: its next event says it.
 * @type {(step: Step, states: LaneState[]) => void}
 */
function askAhead({ events }, states) {
  for (const [k, { lanes }] of states.entries())
    for (const [level, lane] of lanes.entries()) {
      const next = events.slice(k).find((event) => event.level === level);
      lane.asked ??= next?.asked ?? null;
    }
}

/**
 * Whether the level of an event hands up what it has settled: what happens next happens above it.
 * @type {(step: Step, index: number) => boolean}
 */
function handsUp({ events }, index) {
  const next = events[index + 1]?.level ?? Infinity;
  return next > events[index].level;
}

/**
 * Totals of the run up to an event of a step, or to its end (null), one per level, the smallest
 * first; the target hands up and keeps what is committed.
 * @type {(trace: Trace, index: number, event?: number | null) => LevelTotals[]}
 */
function totals({ setup, steps }, index, event = null) {
  const rows = setup.models.map(() => ({
    calls: 0,
    layers: 0,
    computed: 0,
    heads: 0,
    handed: 0,
    kept: 0,
  }));
  const add = (/** @type {number} */ level, /** @type {Partial<LevelTotals>} */ counts) => {
    for (const name of /** @type {(keyof LevelTotals)[]} */ (Object.keys(counts)))
      rows[level][name] += counts[name] ?? 0;
  };
  const top = rows.length - 1;
  for (const [i, step] of steps.slice(0, index + 1).entries()) {
    const whole = i < index || event === null;
    const events = whole ? step.events : step.events.slice(0, event + 1);
    for (const { level, kind, tested, kept, work } of events) {
      add(level, work);
      if (kind === "verify") add(level - 1, { handed: tested.length, kept });
    }
    if (!whole) continue;
    const written = step.committed.length;
    add(top, {
      ...step.work,
      handed: written,
      kept: written,
    });
    if (top > 0) add(top - 1, { handed: step.drafted, kept: step.kept });
  }
  return rows;
}

export { handsUp, kinds, lanesOf, names, totals };

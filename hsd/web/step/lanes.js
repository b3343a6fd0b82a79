// What happened at the levels of a run, moment by moment: one for every event below the target, and one for the
// target's own pass. Pure functions on the parsed JSON of a Trace; no element here.
//
// A token is followed from where it was born to where it ended: {id, piece, position, born: {level, origin, event},
// instead: the piece that it replaced, tests: [{level, event, p, q, threshold, coin, accepted, kept}], end: {kind:
// "text" | "dropped" | "cut", level, event}}; event is null for the target's pass. position: its place in the text,
// counted from 0. A chip is a token in a lane: {token, verdict, fresh}.
const READ = new WeakMap(); // step: what `readStep` found

/** How many levels a run has, the target included. */
const levelCount = (setup) => setup.models.length;

/** Which kind of level, for its colour: the one that drafts, the target, or one between them. */
const kind = (level, setup) =>
  level === levelCount(setup) - 1 ? "is-target" : level === 0 ? "is-bottom" : "is-between";

/** All moments of a run, in order: {step, event}; event is null for the target's pass. */
function moments(steps, from = 0) {
  return steps
    .slice(from)
    .flatMap((step, i) => [
      ...step.events.map((_, event) => ({ step: from + i, event })),
      { step: from + i, event: null },
    ]);
}

/** The state of all lanes after a moment; see `readStep`. */
function stateAt(trace, { step, event }) {
  const read = readStep(trace.steps[step], levelCount(trace.setup));
  return read.states[event === null ? read.states.length - 1 : event];
}

/**
 * tokens: all tokens of a step; end: the length that the longest lane reaches; states: one after each event and one
 * after the target's pass, each {level, lanes: [{chips, asked, settled, lent}]}: asked, how many tokens the level was
 * asked for; settled, how many it has; lent, how many it has just handed up and the level above has judged.
 */
function readStep(step, count) {
  if (READ.has(step)) return READ.get(step);
  const read = { tokens: [], states: [], end: step.context_length + 1 };
  let lanes = Array.from({ length: count }, () => ({ chips: [], asked: null, settled: 0, lent: null }));
  step.events.forEach((event, index) => {
    lanes = lanes.map(rested);
    if (event.kind === "verify") judge(lanes[event.level - 1], event.tested, event.kept, event.level, index);
    settle(lanes[event.level], event, lanes[event.level - 1], index, read);
    read.states.push({ level: event.level, lanes });
  });
  read.states.push({ level: count - 1, lanes: targetPass(step, lanes.map(rested), count, read) });
  askAhead(step, read.states);
  READ.set(step, read);
  return read;
}

/** A lane as the next moment finds it. */
const rested = (lane) => ({ ...lane, chips: lane.chips.map((chip) => ({ ...chip, fresh: false })) });

/** The level above has judged what this lane handed up. */
function judge(lane, tested, kept, level, event) {
  lane.lent = tested.length;
  lane.chips = lane.chips.map(({ token }, i) => {
    const test = tested[i];
    if (!test) token.end = { kind: "cut", level, event };
    else {
      const { p, q, threshold, coin, accepted } = test;
      token.tests.push({ level, event, p, q, threshold, coin, accepted, kept: i < kept });
      if (i >= kept) token.end = { kind: "dropped", level, event };
    }
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
function targetPass(step, lanes, count, read) {
  const decided = new Map((step.verdict ? step.verdict.decisions : []).map((decision) => [decision.node, decision]));
  const tested = step.nodes.map(({ id, p, q, coin }) => {
    const made = decided.get(id);
    return { p, q, coin, threshold: made ? made.threshold : null, accepted: made ? made.accepted : null };
  });
  const [below, target] = [lanes[count - 2], lanes[count - 1]];
  if (below) judge(below, tested, step.kept, count - 1, null);
  target.chips = step.committed.map(({ piece, origin }, i) => {
    const rises = i < step.kept && below && below.chips[i];
    const where = { level: count - 1, origin, event: null };
    const token = rises ? below.chips[i].token : born(read, piece, step.context_length + i, where);
    if (!rises && step.nodes[i]) token.instead = step.nodes[i].piece;
    token.end = { kind: "text", level: count - 1, event: null };
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
      if (lane.asked !== null) return;
      const next = step.events.slice(k).find((event) => event.level === level);
      lane.asked = next ? next.asked : null;
    });
  });
}

/** Whether the level of an event hands up what it has settled: what happens next happens above it. */
function handsUp(step, index) {
  const next = step.events[index + 1];
  return !next || next.level > step.events[index].level;
}

/** What has happened to a token by a moment: {tests, over: its end has come}. */
function lifeBy(token, at) {
  const past = (event) => at === null || (event !== null && event <= at);
  return { tests: token.tests.filter((test) => past(test.event)), over: Boolean(token.end) && past(token.end.event) };
}

/** All pieces of the text before a step, from place `from` on: prompt and what was committed. */
function pieces(trace, step, from) {
  const all = [...trace.prompt.pieces, ...trace.steps.slice(0, step).flatMap((s) => s.committed.map((c) => c.piece))];
  return all.slice(from);
}

/**
 * Totals of the run up to a moment, one per level, the smallest first: calls, handed (tokens handed up and judged by
 * the level above) and kept of them; for the target its calls and the tokens committed.
 */
function totals(trace, { step, event }) {
  const rows = trace.setup.models.map(() => ({ calls: 0, handed: 0, kept: 0, layers: 0, computed: 0, heads: 0 }));
  const add = (level, work) => {
    for (const name of ["calls", "layers", "computed", "heads"]) rows[level][name] += work[name];
  };
  trace.steps.slice(0, step + 1).forEach((one, index) => {
    const whole = index < step || event === null;
    for (const done of one.events.slice(0, whole ? one.events.length : event + 1)) {
      add(done.level, done.work);
      if (done.kind === "verify") hand(rows[done.level - 1], done.tested.length, done.kept);
    }
    if (!whole) return;
    const top = rows.length - 1;
    add(top, one.work);
    if (top > 0) hand(rows[top - 1], one.drafted, one.kept);
    hand(rows[top], one.committed.length, one.committed.length);
  });
  return rows;
}

function hand(row, handed, kept) {
  row.handed += handed;
  row.kept += kept;
}

export { kind, levelCount, moments, stateAt, readStep, handsUp, lifeBy, pieces, totals };

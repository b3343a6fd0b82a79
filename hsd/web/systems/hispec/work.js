// What HiSpec computes at each moment: which tokens go through which group of layers, and where the head is used.
//
// The layers fall into groups, one up to each exit. A group keeps what it computed for the first n tokens of the text,
// and a deeper one never has more. Reading up to a place runs every group on what it has not read yet; what was
// rejected is forgotten. The lengths follow from the trace's positions; tests compare them with its `work` counts.
const READ = new WeakMap();

/** The layers of each group, [first, last] from 1 on; an empty group has last < first. */
function groupsOf(exits, layers) {
  const depths = [...exits, layers];
  return depths.map((depth, i) => [(i ? depths[i - 1] : 0) + 1, depth]);
}

/**
 * One entry per moment of a step: {level, read: per group [from, to) of the places that it computed, heads: [from,
 * to) of the places after which this level's head gave a distribution, after: the groups' lengths when it was over}.
 */
function workOf(step, count) {
  if (READ.has(step)) return READ.get(step);
  let lengths = Array(count).fill(step.context_length - 1); // the last token is fed by the round that follows it
  const seen = [];
  for (const event of step.events) {
    const { level, position, committed, tested, work } = event;
    const draft = event.kind === "draft"; // one call per token, also for those after an end of the text
    const end = draft ? position + work.calls - 1 : position + tested.length;
    const length = draft ? Infinity : position + committed.length - 1;
    lengths = note(seen, level, lengths, end, [position - 1, end], length);
  }
  const end = step.context_length + step.drafted;
  const length = step.context_length + step.committed.length - 1;
  note(seen, count - 1, lengths, end, [step.context_length - 1, end], length);
  READ.set(step, seen);
  return seen;
}

/** Read up to `end` at a level, then forget what is beyond `length`; returns the groups' lengths. */
function note(seen, level, before, end, heads, length) {
  const read = before.map((n, group) => [n, group <= level ? Math.max(n, end) : n]);
  const after = read.map(([, n]) => Math.min(n, length));
  seen.push({ level, read, heads, after });
  return after;
}

const workAt = (trace, { step, event }) => {
  const all = workOf(trace.steps[step], trace.setup.models.length);
  return all[event === null ? all.length - 1 : event];
};

export { groupsOf, workOf, workAt };

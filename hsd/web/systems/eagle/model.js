// The tree of a step: how it grew, what the target's rows see of it, which tests were made, what the caches keep.
// Pure functions on the parsed JSON of a Trace; no page, no facts.
//
// A node is a drafted token that the target read, or the root (0), the last token of the text: {id, parent, token, piece,
// depth, line: the nodes on its path from depth 1 on, itself last; sees: the root and its line; position: its place in
// the text, which siblings share; q, joint: the head's probability of it and of its path, as drawn; p, reach: the
// target's, so reach is the chance that decoding from the target alone would go through it}. A candidate is what a
// level proposed: {id, parent, level, token, piece, q, joint, read: expanded for the next level; node: or null where it
// was dropped}.
const READ = new WeakMap();

/** chosen: siblings are the likeliest tokens, and were not drawn. */
function treeOf(step, chosen) {
  if (!READ.has(step)) READ.set(step, readTree(step, chosen));
  return READ.get(step);
}

function readTree(step, chosen) {
  const nodes = nodesOf(step);
  const told = (step.growth || []).length > 0;
  const candidates = told ? step.growth.map((one, i) => ({ id: i + 1, ...one })) : drawnOf(nodes);
  const decisions = (step.verdict ? step.verdict.decisions : []).map((made, i) => ({ ...made, order: i + 1 }));
  const last = (decisions.findLast(({ accepted }) => accepted) || { node: 0 }).node;
  const tree = { step, chosen, told, nodes, candidates, decisions, last, path: new Set([0, ...nodes[last].line]) };
  tree.levels = levelsOf(candidates);
  tree.rerank = chosen && told;
  tree.moments = momentsOf(tree);
  return tree;
}

function nodesOf({ nodes: drafted, context_length: length }) {
  const found = [{ id: 0, parent: null, depth: 0, line: [], sees: [0], position: length - 1, joint: 1, reach: 1 }];
  for (const { id, parent, token, piece, p, q, draw } of drafted) {
    const above = found[parent];
    const line = [...above.line, id];
    const [depth, position] = [above.depth + 1, above.position + 1];
    const chances = { p, q, joint: above.joint * q, reach: above.reach * p };
    found.push({ id, parent, token, piece, draw, depth, line, sees: [0, ...line], position, ...chances });
  }
  return found;
}

/** What was drawn is what the target reads. Every token after which another was drawn has been read by the head. */
function drawnOf(nodes) {
  const inner = new Set(nodes.map(({ parent }) => parent));
  return nodes.slice(1).map(({ id, parent, depth, token, piece, q, joint }) => {
    return { id, parent, level: depth, token, piece, q, joint, read: inner.has(id), node: id };
  });
}

/** Candidates of each level, below each other as their parents are. */
function levelsOf(candidates) {
  const levels = [];
  for (const one of candidates) (levels[one.level - 1] ??= []).push(one);
  const place = new Map([[0, 0]]);
  for (const level of levels) {
    level.sort((a, b) => place.get(a.parent) - place.get(b.parent) || a.id - b.id);
    level.forEach(({ id }, i) => place.set(id, i));
  }
  return levels;
}

// ---- moments

/** What happens in a step, one after the other: {kind, level: from 1, or index: of a test}. The last is "keep". */
function momentsOf({ chosen, told, rerank, levels, decisions }) {
  const keep = { kind: "keep" };
  if (!levels.length) return [keep];
  const growth = levels.flatMap((_, i) => {
    const expands = chosen && told && i < levels.length - 1;
    return [{ kind: "propose", level: i + 1 }, ...(expands ? [{ kind: "expand", level: i + 1 }] : [])];
  });
  const tests = decisions.map((_, index) => ({ kind: "test", index }));
  return [{ kind: "know" }, ...growth, ...(rerank ? [{ kind: "rerank" }] : []), { kind: "read" }, ...tests, keep];
}

/** All moments of the steps from `from` on, as the player has them: {step, event}, event null for the last of a step. */
function moments(steps, chosen, from = 0) {
  return steps.slice(from).flatMap((step, i) => {
    const { length } = treeOf(step, chosen).moments;
    return Array.from({ length }, (_, event) => ({ step: from + i, event: event < length - 1 ? event : null }));
  });
}

/** The place of a moment in its step. */
const beat = (tree, { event }) => event ?? tree.moments.length - 1;

/** When something happens in a step, never where it does not; which: a level, or the index of a test. */
function beatOf(tree, kind, which) {
  const at = tree.moments.findIndex((one) => one.kind === kind && (one.level ?? one.index) === which);
  return at < 0 ? Infinity : at;
}

// ---- what the tree is worth

/**
 * Nodes by depth, with the chance that so many tokens at least are kept of a chosen tree: the sum of their reach; and the
 * sum over all of them, which is how many tokens are kept on average.
 */
function worth({ nodes }) {
  const depths = [];
  for (const node of nodes.slice(1)) (depths[node.depth - 1] ??= []).push(node);
  const rows = depths.map((row) => ({ nodes: row, sum: row.reduce((sum, { reach }) => sum + reach, 0) }));
  return { rows, sum: rows.reduce((all, { sum }) => all + sum, 0) };
}

/** Expected tokens kept per tree and rule, over all steps that tell it of all the same rules; null without any. */
function meanKept(steps) {
  const told = steps.map((step) => step.expected_kept).filter((one) => Object.keys(one).length);
  const names = Object.keys(told[0] || {}).filter((name) => told.every((one) => name in one));
  if (!names.length) return null;
  const mean = (name) => told.reduce((sum, one) => sum + one[name], 0) / told.length;
  return { trees: told.length, rules: Object.fromEntries(names.map((name) => [name, mean(name)])) };
}

// ---- afterwards

/** What the head reads at the next step with what the target then knows: {piece, after: the piece before it}. */
function again({ committed }, rootPiece) {
  return committed.map(({ piece, origin }, i) => ({ piece, origin, after: i ? committed[i - 1].piece : rootPiece }));
}

/** Seconds of the head's passes and of the target's one, how many passes, and how much of the latter the former took. */
function cost({ times, below }) {
  const passes = below && below.length ? below[0].calls : null;
  return {
    head: times.draft,
    target: times.target,
    passes,
    ratio: times.target > 0 ? times.draft / times.target : null,
  };
}

export { treeOf, moments, beat, beatOf, worth, meanKept, again, cost };

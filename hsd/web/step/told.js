// How a rule came to what it keeps of several drafts, in sentences for a student. Pure: sentence parts, see dom.prose.
// Every tree rule is told in its own way: draft after draft, from the root down, or from the leaves up.
import { count, pair, plural } from "../kit/format.js";

const ORDINARY = {
  "recursive-tokenwise": draftAfterDraft,
  "recursive-blockwise": draftAfterDraft,
  "recursive-hsd": draftAfterDraft,
  "top-down": fromTheRoot,
  "one-hot": fromTheRoot,
  "traversal": fromTheLeaves,
};

/** Sentence parts on one rule's way through the tree. */
function way(view, judged) {
  const tell = ORDINARY[judged.rule];
  return judged.decisions.length && tell ? tell(view, judged) : [];
}

function compare({ coin, threshold, accepted }) {
  const [a, b] = pair(coin, threshold);
  return `${a} ${accepted ? "is below" : "is not below"} ${b}`;
}

const tokens = (n) => plural(n, "token");

// ---- draft after draft

/** The tests of each draft that was judged, in order: [{draft, tests, from, kept}]. */
function drafts(view, judged) {
  const groups = [];
  for (const test of judged.decisions) {
    const last = groups[groups.length - 1];
    if (last && last.draft === test.draft) last.tests.push(test);
    else groups.push({ draft: test.draft, tests: [test], from: last ? last.kept : 0 });
    const group = groups[groups.length - 1];
    const passed = group.tests.filter((made) => made.accepted);
    group.kept = passed.length ? view.depth.get(passed[passed.length - 1].node) : group.from;
  }
  return groups;
}

function draftAfterDraft(view, judged) {
  const groups = drafts(view, judged);
  const tell = (group, i) => [...skipped(groups[i - 1], group), ...oneDraft(judged, group)];
  const told = groups.slice(0, 4).flatMap(tell);
  const more = groups.length - 4;
  if (more > 0) told.push(`${plural(more, "further draft")} ${more === 1 ? "was" : "were"} judged in the same way. `);
  return told;
}

function skipped(before, { draft, from }) {
  const between = before ? draft - before.draft - 1 : 0;
  if (!between) return [];
  const many = `Drafts ${before.draft + 2}–${draft} do not go on from ${place(from)} with draws of their own. `;
  return [between > 1 ? many : `Draft ${draft} does not go on from ${place(from)} with draws of its own. `];
}

const place = (kept) => (kept ? keptTokens(kept) : "the start");
const keptTokens = (kept) => (kept === 1 ? "the kept token" : `the ${kept} kept tokens`);

function oneDraft(judged, { draft, tests, from, kept }) {
  const name = `Draft ${draft + 1}`;
  const last = tests[tests.length - 1];
  const opening = draft && from ? `${name} shares ${keptTokens(from)} and ` : `${name} `;
  if (judged.info.forward) return [opening, ...forwardDraft(tests, from, kept, last)];
  if (last.accepted && last.test === "draft") return [opening, `passed as a whole: ${compare(last)}. `];
  const whole = `failed as a whole (${compare(tests[0])})`;
  if (kept > from) return [opening, `${whole} and was cut back to ${tokens(kept)}: ${compare(last)}. `];
  const parts = tests.length > 1 ? ", and so did every shorter part" : "";
  return [opening, `${whole}${parts}: ${from ? "it adds nothing" : "nothing of it is kept"}. `];
}

function forwardDraft(tests, from, kept, last) {
  const passed = kept - from;
  if (last.accepted) return [`passed to its end, token by token. `];
  const failed = `token ${kept + 1} failed (${compare(last)})`;
  return [passed ? `passed ${tokens(passed)}, then ${failed}. ` : `stopped at once: ${failed}. `];
}

// ---- from the root down

function fromTheRoot(view, judged) {
  const places = [];
  for (const test of judged.decisions) {
    const depth = view.depth.get(test.node);
    const last = places[places.length - 1];
    if (last && last.depth === depth) last.tests.push(test);
    else places.push({ depth, tests: [test] });
  }
  const opening =
    "From the root: the tokens drafted at a place are tried in turn, and the first that passes leads on. ";
  const untold = places.length - 4;
  const first = untold > 0 ? [`The first ${untold === 1 ? "token" : tokens(untold)} passed. `] : [];
  return [opening, ...first, ...places.slice(-4).flatMap(({ depth, tests }) => onePlace(view, depth, tests))];
}

function onePlace(view, depth, tests) {
  const last = tests[tests.length - 1];
  const piece = { piece: view.nodes.get(last.node).piece, cells: 14 };
  const failed = tests.length - (last.accepted ? 1 : 0);
  if (!last.accepted) {
    const all = tests.length === 1 ? ["the only try, ", piece, ", failed"] : [`all ${count(failed)} tries failed`];
    return [`Token ${depth}: `, ...all, tests.length === 1 ? ` (${compare(last)}). ` : ". "];
  }
  const before = failed ? ` after ${count(failed)} other ${failed === 1 ? "try" : "tries"}` : "";
  return [`Token ${depth}: `, piece, ` passed${before}. `];
}

// ---- from the leaves up

function fromTheLeaves(view, judged) {
  const last = judged.decisions[judged.decisions.length - 1];
  const failed = judged.decisions.length - (last.accepted ? 1 : 0);
  const opening =
    "From the leaves: the path to a leaf is kept, or the leaf is deleted and what remains is tested next. ";
  if (!last.accepted) return [opening, `All ${plural(failed, "test")} failed, so nothing is kept. `];
  const piece = { piece: view.nodes.get(last.node).piece, cells: 14 };
  const length = view.depth.get(last.node);
  const kept = length === 1 ? "1 token is" : `the ${length} tokens up to it are`;
  if (!failed) return [opening, "The first leaf, ", piece, `, passed: ${compare(last)}, so ${kept} kept. `];
  return [opening, `${plural(failed, "test")} failed; then `, piece, ` passed: ${compare(last)}, so ${kept} kept. `];
}

// ---- why it ended where it did, in half a sentence

/** The decisive test: the one that kept, else the last that failed. */
function reason(view, judged) {
  const { decisions } = judged;
  if (!decisions.length) return ["it made no test"];
  const last = decisions[decisions.length - 1];
  const whole = judged.last && !view.children.has(judged.last);
  const name = judged.info.drafts ? `draft ${last.draft + 1}` : "a draft";
  if (whole && last.accepted) return [`${name} passed to its end (${compare(last)})`];
  if (judged.rule === "traversal") return stoppedUp(view, last);
  const piece = { piece: view.nodes.get(last.node).piece, cells: 14 };
  if (last.accepted) return [piece, ` passed (${compare(last)}), and no further draft could go on`];
  if (judged.info.drafts) return [`${name}, the last that could go on, failed at `, piece, ` (${compare(last)})`];
  const tries = judged.decisions.filter((test) => view.depth.get(test.node) === view.depth.get(last.node)).length;
  const which = tries === 1 ? "the only try" : `the last of ${tries} tries`;
  return [`${which} for token ${view.depth.get(last.node)}, `, piece, `, failed (${compare(last)})`];
}

function stoppedUp(view, last) {
  const piece = { piece: view.nodes.get(last.node).piece, cells: 14 };
  return last.accepted
    ? ["every leaf before ", piece, ` failed, and it passed (${compare(last)})`]
    : ["every leaf failed, down to the root"];
}

export { way, reason };

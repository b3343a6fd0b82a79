// The drafts in a tree: which leaf belongs to which draft, and which tokens of a large tree are drawn. Pure.
//
// A tree records its tokens once, in the order in which they were first drawn, level by level; which further drafts
// share one is not recorded. What is said here about a draft's number follows from that order or from a test that
// names the draft; where neither settles it, a range is given.
import { count, percent, shorten } from "../kit/format.js";
import { pathTo } from "./model.js";

const LAYOUTS = {
  paths: "independent",
  comb: "a comb of spare continuations",
  distinct: "with different first tokens",
  top: "the likeliest first tokens",
};
const layoutWords = ({ drafts, tree }) => `${drafts} drafts, ${LAYOUTS[tree] || tree}`;
const LIMIT = 60; // tokens drawn of one tree

/** The ends of the drafts, in the order in which they were first drawn. */
function leaves(view) {
  const paths = view.step.nodes.filter((node) => !view.children.has(node.id)).map((node) => pathTo(view, node.id));
  const rank = (a, b) => {
    const shared = Math.min(a.length, b.length) - 1;
    return a[shared] - b[shared];
  };
  return paths.sort(rank).map((path) => path[path.length - 1]);
}

/** Drafts that a test names, by the leaf that they end in: Map leaf → Set of numbers from 0. */
function proven(view, ends) {
  const below = new Map();
  for (const leaf of ends) for (const id of pathTo(view, leaf)) below.set(id, below.has(id) ? null : leaf); // null: several
  const known = new Map(ends.map((leaf) => [leaf, new Set()]));
  if (ends.length) known.get(firstDraft(view)).add(0);
  for (const judged of [view.own, view.shadow]) {
    if (!judged || !judged.info.drafts) continue;
    for (const { node, draft } of judged.decisions) if (below.get(node)) known.get(below.get(node)).add(draft);
  }
  return known;
}

/** The leaf of the first draft: everywhere the token that was drawn first. */
function firstDraft(view) {
  let id = 0;
  for (let kids = view.children.get(0); kids; kids = view.children.get(id)) id = Math.min(...kids);
  return id;
}

/** The name of every leaf's drafts: Map leaf → "draft 2", "drafts 1, 3", "draft 2 or 3", … */
function names(view) {
  const ends = leaves(view);
  const known = proven(view, ends);
  const { tree = "paths", drafts = 1 } = view.trace.setup;
  const even = new Set(ends.map((leaf) => view.depth.get(leaf))).size <= 1;
  if (ends.length === 1 && tree === "paths" && drafts > 1) return new Map([[ends[0], `all ${drafts} drafts`]]);
  const range = ranges(ends, known, tree === "paths" ? drafts : ends.length);
  return new Map(
    ends.map((leaf, i) => {
      const sure = new Set(known.get(leaf));
      const placed = tree !== "comb" && (even || tree !== "paths");
      if (placed && range[i][0] === range[i][1]) sure.add(range[i][0]);
      if (sure.size) return [leaf, listed([...sure].sort((a, b) => a - b))];
      return [leaf, placed ? between(range[i]) : parting(view, leaf)];
    }),
  );
}

/** For every leaf, the lowest and the highest number that the draft which drew it first can have. */
function ranges(ends, known, count) {
  const elsewhere = (draft, leaf) => ends.some((other) => other !== leaf && known.get(other).has(draft));
  const low = [];
  const high = [];
  ends.forEach((leaf, i) => {
    let draft = i ? low[i - 1] + 1 : 0;
    while (draft < count && elsewhere(draft, leaf)) draft += 1;
    low.push(draft);
  });
  for (let i = ends.length - 1; i >= 0; i -= 1) {
    let draft = Math.min(i === ends.length - 1 ? count - 1 : high[i + 1] - 1, ...known.get(ends[i]));
    while (draft > low[i] && elsewhere(draft, ends[i])) draft -= 1;
    high[i] = Math.max(draft, low[i]);
  }
  return low.map((draft, i) => [draft, high[i]]);
}

const listed = (drafts) =>
  drafts.length > 1
    ? `drafts ${drafts
        .slice(0, 4)
        .map((d) => d + 1)
        .join(", ")}${drafts.length > 4 ? " …" : ""}`
    : `draft ${drafts[0] + 1}`;

const between = ([low, high]) =>
  high === low + 1 ? `draft ${low + 1} or ${high + 1}` : `one of drafts ${low + 1}–${high + 1}`;

/** Where a leaf's path leaves the first draft. */
function parting(view, leaf) {
  const main = new Set(pathTo(view, firstDraft(view)));
  const own = pathTo(view, leaf).filter((id) => !main.has(id));
  return `leaves draft 1 at token ${view.depth.get(own[0])}`;
}

/**
 * The tokens that are drawn: all, or of a large tree the kept path, the selected token, the other rule's path, the
 * tokens that were tested, in order, and then whole drafts as they were drawn, up to `limit`.
 */
function shown(view, selected = 0, limit = LIMIT) {
  if (view.nodes.size <= limit) return new Set(view.nodes.keys());
  const chosen = new Set();
  const add = (id, always = false) => {
    const fresh = pathTo(view, id).filter((node) => !chosen.has(node));
    if (always || chosen.size + fresh.length <= limit) fresh.forEach((node) => chosen.add(node));
  };
  add(view.own.last, true);
  add(selected, true);
  if (view.shadow) add(view.shadow.last, true);
  for (const decision of view.own.decisions) add(decision.node);
  for (const decision of view.shadow ? view.shadow.decisions : []) add(decision.node);
  for (const leaf of leaves(view)) add(leaf);
  return chosen;
}

/** What a large tree leaves out: null, or {drawn, all, tested, mass}. */
function leftOut(view, chosen) {
  const hidden = view.step.nodes.filter((node) => !chosen.has(node.id));
  if (!hidden.length) return null;
  const tested = hidden.filter(({ id }) => view.own.at.has(id) || (view.shadow && view.shadow.at.has(id))).length;
  const tops = hidden.filter((node) => node.parent === 0 || chosen.has(node.parent));
  const mass = tops.reduce((sum, node) => sum + joint(view, node), 0);
  return { drawn: chosen.size, all: view.nodes.size, tested, mass };
}

/** The target's probability of the whole path to a node. */
const joint = (view, { id }) => pathTo(view, id).reduce((product, at) => product * view.nodes.get(at).p, 1);

function draftedWords(out) {
  if (!out) return [];
  const tested =
    out.tested === 0
      ? "None of the others was tested."
      : `${count(out.tested)} of the others ${out.tested === 1 ? "was" : "were"} tested, and not kept.`;
  return [
    `${count(out.drawn)} of ${count(out.all)} drafted tokens are drawn. ${tested}`,
    `Left to itself, the target would go into those others with probability ${percent(out.mass)}`,
    "(the product of p along the path, summed over the places where they begin).",
  ];
}

/** What is not drawn, in a sentence each: tokens of a large tree, and possible next tokens of the selected branch. */
function leftOutWords(view, { shown: chosen, rests }, selected) {
  const said = draftedWords(leftOut(view, chosen));
  const rest = rests.find(({ node }) => node === selected);
  if (!rest || rest.hidden <= 0) return said;
  const after = selected ? `After “${shorten(view.nodes.get(selected).piece, 20)}”` : "At the start";
  const size = view.trace.setup.vocab_size;
  const mass = `${percent(rest.p)} of p${rest.q === null ? "" : ` and ${percent(rest.q)} of q`}`;
  const drawn = `${count(size - rest.hidden)} of ${count(size)} possible next tokens are drawn`;
  return [...said, `${after}: ${drawn}; the others hold ${mass}.`];
}

export { leaves, names, shown, leftOut, leftOutWords, layoutWords };

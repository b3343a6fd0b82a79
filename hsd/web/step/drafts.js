// The drafts of a tree: which end where, and which tokens of a large tree are drawn. Pure.
import { count, percent, shorten } from "../kit/format.js";
import { pathTo, reach } from "./model.js";

const LIMIT = 60; // tokens drawn of one tree
const LISTED = 3; // drafts that are listed in a sentence
const NUMBERED = 8; // drafts of a step that are told apart by numbers
const NAMED = 4; // drafts that are named where several end in one token

/** The ends of the drafts, in order: Map node → the numbers of the drafts that end there, from 0. */
function ends(view) {
  const found = new Map();
  view.step.paths.forEach(({ nodes }, draft) => {
    const leaf = nodes[nodes.length - 1];
    if (leaf) found.set(leaf, [...(found.get(leaf) || []), draft]);
  });
  return found;
}

/** The tokens that drafts end in. */
const leaves = (view) => [...ends(view).keys()];

/** What the drafts that end in a token are called: Map node → "draft 2", "drafts 1, 3", "all 4 drafts". */
function names(view) {
  const all = view.step.paths.length;
  if (all > NUMBERED) return new Map();
  return new Map([...ends(view)].map(([leaf, drafts]) => [leaf, named(drafts, all)]));
}

/** drafts: numbers from 0; all: how many there are. */
function named(drafts, all) {
  if (all > 1 && drafts.length === all) return `all ${all} drafts`;
  if (drafts.length === 1) return `draft ${drafts[0] + 1}`;
  const first = drafts.slice(0, NAMED).map((draft) => draft + 1);
  return `drafts ${first.join(", ")}${drafts.length > NAMED ? " …" : ""}`;
}

/** The drafts that run through a token: "draft 2", "draft 1 and draft 3", "5 drafts", "all drafts"; "" of too many. */
function through(view, id) {
  const { paths } = view.step;
  if (paths.length > NUMBERED) return "";
  const words = paths.flatMap(({ nodes }, draft) => (nodes.includes(id) ? [`draft ${draft + 1}`] : []));
  if (words.length > 1 && words.length === paths.length) return "all drafts";
  if (words.length > LISTED) return `${words.length} drafts`;
  const last = words.pop() ?? "";
  return words.length ? `${words.join(", ")} and ${last}` : last;
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
  const mass = tops.reduce((sum, node) => sum + reach(view, node.id), 0);
  return { drawn: chosen.size, all: view.nodes.size, tested, mass };
}

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

/** cut: how many candidates of a grown tree were dropped, and how many of these are drawn; none of any other tree. */
const droppedWords = (cut) =>
  cut && cut.drawn < cut.dropped
    ? [`${count(cut.drawn)} of ${count(cut.dropped)} dropped candidates are drawn, the surest of each level.`]
    : [];

/** What is not drawn, in a sentence each: tokens of a large tree, and possible next tokens of the selected branch. @type {(plan: TreeLayout) => string[]} */
function leftOutWords({ view, selected, shown: chosen, rest, cut }) {
  const said = [...draftedWords(leftOut(view, chosen)), ...droppedWords(cut)];
  if (!rest || rest.hidden <= 0) return said;
  const after = selected ? `After “${shorten(view.nodes.get(selected).piece, 20)}”` : "At the start";
  const size = view.trace.setup.vocab_size;
  const mass = `${percent(rest.p)} of p${rest.q === null ? "" : ` and ${percent(rest.q)} of q`}`;
  const drawn = `${count(size - rest.hidden)} of ${count(size)} possible next tokens are drawn`;
  return [...said, `${after}: ${drawn}; the others hold ${mass}.`];
}

export { leaves, leftOut, leftOutWords, names, shown, through };

// The drafts of a tree: which end where, and which tokens of a large tree are drawn. Pure.
import { count, percent, shorten } from "../kit/format.js";
import { pathTo, reach } from "./model.js";

const LIMIT = 60; // tokens drawn of one tree
const LISTED = 3; // drafts that are listed in a sentence
const NUMBERED = 8; // drafts of a step that are told apart by numbers
const NAMED = 4; // drafts that are named where several end in one token

/** The ends of the drafts, in order: node → the numbers of the drafts that end there, from 0. @param {StepView} view */
function ends(view) {
  const found = /** @type {Map<number, number[]>} */ (new Map());
  for (const [draft, { nodes }] of view.step.paths.entries()) {
    const leaf = nodes[nodes.length - 1];
    if (leaf) found.set(leaf, [...(found.get(leaf) ?? []), draft]);
  }
  return found;
}

/** What the drafts that end in a token are called: node → "draft 2", "drafts 1, 3", "all 4 drafts". @param {StepView} view */
function names(view) {
  const all = view.step.paths.length;
  const few = all <= NUMBERED ? [...ends(view)] : [];
  return new Map(few.map(([leaf, drafts]) => [leaf, named(drafts, all)]));
}

/** drafts: numbers from 0; all: how many there are. @type {(drafts: number[], all: number) => string} */
function named(drafts, all) {
  if (all > 1 && drafts.length === all) return `all ${all} drafts`;
  if (drafts.length === 1) return `draft ${drafts[0] + 1}`;
  const first = drafts.slice(0, NAMED).map((draft) => draft + 1);
  return `drafts ${first.join(", ")}${drafts.length > NAMED ? " …" : ""}`;
}

/** The drafts that run through a token: "draft 2", "draft 1 and draft 3", "5 drafts", "all drafts"; "" of too many. @type {(view: StepView, id: number) => string} */
function through({ step: { paths } }, id) {
  if (paths.length > NUMBERED) return "";
  const words = paths.flatMap(({ nodes }, draft) => (nodes.includes(id) ? [`draft ${draft + 1}`] : []));
  if (words.length > 1 && words.length === paths.length) return "all drafts";
  if (words.length > LISTED) return `${words.length} drafts`;
  const last = words.pop() ?? "";
  return words.length ? `${words.join(", ")} and ${last}` : last;
}

/**
 * The tokens that are drawn: all, or of a large tree the kept path, the selected token, the other rule's path, the
 * tokens that were tested, in order, and then whole drafts as they were drawn, up to `LIMIT`.
 * @param {StepView} view
 */
function shown(view, selected = 0) {
  const { nodes, own, shadow } = view;
  if (nodes.size <= LIMIT) return new Set(nodes.keys());
  const always = [own.last, selected, ...(shadow ? [shadow.last] : [])];
  const chosen = new Set(always.flatMap((id) => pathTo(view, id)));
  const tested = [...own.decisions, ...(shadow?.decisions ?? [])].map(({ node }) => node);
  for (const id of [...tested, ...ends(view).keys()]) {
    const fresh = pathTo(view, id).filter((node) => !chosen.has(node));
    if (chosen.size + fresh.length <= LIMIT) for (const node of fresh) chosen.add(node);
  }
  return chosen;
}

/** What a large tree leaves out, in words. @type {(view: StepView, chosen: Set<number>) => string[]} */
function draftedWords(view, chosen) {
  const hidden = view.step.nodes.filter((node) => !chosen.has(node.id));
  if (!hidden.length) return [];
  const tested = hidden.filter(({ id }) => view.own.at.has(id) || view.shadow?.at.has(id)).length;
  const tops = hidden.filter((node) => node.parent === 0 || chosen.has(node.parent));
  const mass = tops.reduce((sum, node) => sum + reach(view, node.id), 0);
  const others = tested
    ? `${count(tested)} of the others ${tested === 1 ? "was" : "were"} tested, and not kept.`
    : "None of the others was tested.";
  return [
    `${count(chosen.size)} of ${count(view.nodes.size)} drafted tokens are drawn. ${others}`,
    `Left to itself, the target would go into those others with probability ${percent(mass)}`,
    "(the product of p along the path, summed over the places where they begin).",
  ];
}

/** What is not drawn, in a sentence each: tokens of a large tree, and possible next tokens of the selected branch. @type {(plan: TreeLayout) => string[]} */
function leftOutWords({ view, selected, shown: chosen, rest, cut }) {
  const said = draftedWords(view, chosen);
  if (cut && cut.drawn < cut.dropped)
    said.push(`${count(cut.drawn)} of ${count(cut.dropped)} dropped candidates are drawn, the surest of each level.`);
  if (!rest || rest.hidden <= 0) return said;
  const after = selected ? `After “${shorten(view.nodes.get(selected).piece, 20)}”` : "At the start";
  const size = view.trace.setup.vocab_size;
  const mass = `${percent(rest.p)} of p${rest.q === null ? "" : ` and ${percent(rest.q)} of q`}`;
  const drawn = `${count(size - rest.hidden)} of ${count(size)} possible next tokens are drawn`;
  return [...said, `${after}: ${drawn}; the others hold ${mass}.`];
}

export { leftOutWords, names, shown, through };

// The drafts of a tree: which end where, and which tokens of a large tree are drawn. Pure.
import { count, percent } from "../kit/format.js";
import { listing, plain, say } from "./fill.js";
import { pathTo, reach } from "./model.js";

const LIMIT = 60; // tokens drawn of one tree

/** The last tokens of the drafts, in their order. @param {StepView} view */
const ends = ({ step: { paths } }) => [...new Set(paths.flatMap(({ nodes }) => nodes.at(-1) || []))];

/** The drafts that run through a token: "draft 2", "drafts 1 and 3", "5 drafts", "all drafts"; "" of too many. @type {(view: StepView, id: number) => string} */
const through = (view, id) => plain(say("through", passing(view, id)));

/** What this sentence names. @type {(view: StepView, id: number) => SentenceFacts} */
function passing({ step: { paths } }, id) {
  const drafts = paths.flatMap(({ nodes }, i) => (nodes.includes(id) ? [i + 1] : []));
  return {
    "listed": paths.length,
    "drafts through": drafts.length,
    "through every": drafts.length === paths.length,
    "their numbers": listing(drafts),
  };
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
  for (const id of [...tested, ...ends(view)]) {
    const fresh = pathTo(view, id).filter((node) => !chosen.has(node));
    if (chosen.size + fresh.length <= LIMIT) for (const node of fresh) chosen.add(node);
  }
  return chosen;
}

/** What is not drawn, in words: tokens of a large tree, dropped candidates, and possible next tokens of the selected branch. @type {(plan: TreeLayout) => string} */
function leftOutWords({ view, selected, shown: chosen, rest, cut }) {
  const hidden = view.step.nodes.filter((node) => !chosen.has(node.id));
  const tops = hidden.filter((node) => node.parent === 0 || chosen.has(node.parent));
  const [size, more] = [view.trace.setup.vocab_size, Math.max(rest?.hidden ?? 0, 0)];
  const facts = {
    ...{ hidden: hidden.length, drawn: count(chosen.size), all: count(view.nodes.size) },
    tested: hidden.filter(({ id }) => view.own.at.has(id) || view.shadow?.at.has(id)).length,
    mass: percent(tops.reduce((sum, { id }) => sum + reach(view, id), 0)),
    ...(cut && { fewer: cut.drawn < cut.dropped, surest: count(cut.drawn), dropped: count(cut.dropped) }),
    after: selected ? { piece: view.nodes.get(selected).piece } : null,
    ...{ more, size: count(size), listed: count(size - more), p: percent(rest?.p), q: rest?.q ?? null },
  };
  return plain(say("left out", { ...facts, q: facts.q === null ? null : percent(facts.q) })).trim();
}

export { ends, leftOutWords, passing, shown, through };

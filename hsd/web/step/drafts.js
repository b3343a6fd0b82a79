// The drafts of a tree: which end where, and which tokens of a large tree are drawn. Pure.
import { count, percent } from "../kit/format.js";
import { listing, plain, say } from "./sentences.js";
import { pathTo, reach } from "./model.js";

const LIMIT = 60; // tokens drawn of one tree

/** The last tokens of the drafts, in their order. @param {StepView} view */
function ends({ step: { paths } }) {
  const last = paths.flatMap(({ nodes }) => nodes.at(-1) || []);
  return [...new Set(last)];
}

/**
 * The drafts that run through a token: "draft 2", "drafts 1 and 3", "5 drafts", "all drafts"; "" of
 * too many.
 * @type {(view: StepView, id: number) => string}
 */
const through = (view, id) => plain(say("through", passing(view, id)));

/**
 * What sentences may name about the drafts that run through a token.
 * @type {(view: StepView, id: number) => ThroughFacts}
 */
function passing({ step: { paths } }, id) {
  const drafts = paths.flatMap(({ nodes }, i) => (nodes.includes(id) ? i + 1 : []));
  return {
    "listed": paths.length,
    drafts_through: drafts.length,
    through_every: drafts.length === paths.length,
    their_numbers: listing(drafts),
  };
}

/**
 * The tokens that are drawn: all, or of a large tree the kept path, the selected token, the other
 * rule's path, the tokens that were tested, in order, and then whole drafts as they were drawn, up
 * to `LIMIT`.
 * @param {StepView} view
 */
function shown(view, selected = 0) {
  const { nodes, own, shadow } = view;
  if (nodes.size <= LIMIT) return new Set(nodes.keys());
  const always = [own.last, selected];
  if (shadow) always.push(shadow.last);
  const chosen = new Set(always.flatMap((id) => pathTo(view, id)));
  const tests = [...own.decisions, ...(shadow?.decisions ?? [])];
  const tested = tests.map(({ node }) => node);
  for (const id of [...tested, ...ends(view)]) {
    const fresh = pathTo(view, id).filter((node) => !chosen.has(node));
    if (chosen.size + fresh.length > LIMIT) continue;
    for (const node of fresh) chosen.add(node);
  }
  return chosen;
}

/**
 * What is not drawn, in words: tokens of a large tree, dropped candidates, and possible next tokens
 * of the selected branch.
 * @type {(plan: TreeLayout) => string}
 */
function leftOutWords({ view, selected, shown: chosen, rest, cut }) {
  const { own, shadow, nodes } = view;
  const hidden = view.step.nodes.filter((node) => !chosen.has(node.id));
  const tested = hidden.filter(({ id }) => own.at.has(id) || shadow?.at.has(id));
  const tops = hidden.filter((node) => node.parent === 0 || chosen.has(node.parent));
  const size = view.trace.setup.vocab_size;
  const more = Math.max(rest?.hidden ?? 0, 0);
  const q = rest?.q ?? null;
  const dropped = cut && {
    fewer: cut.drawn < cut.dropped,
    surest: count(cut.drawn),
    dropped: count(cut.dropped),
  };
  const facts = {
    hidden: hidden.length,
    drawn: count(chosen.size),
    all: count(nodes.size),
    tested: tested.length,
    mass: percent(tops.reduce((sum, { id }) => sum + reach(view, id), 0)),
    ...dropped,
    after: selected ? { piece: nodes.get(selected).piece } : null,
    more,
    size: count(size),
    listed: count(size - more),
    p: percent(rest?.p),
    q: q === null ? null : percent(q),
  };
  return plain(say("left_out", facts)).trim();
}

export { ends, leftOutWords, passing, shown, through };

// What a rejection did, between two tests: the target of the branch becomes the residual. Also the list of all that
// happened to one branch, for the ledger.
import { h, prose, token } from "../kit/dom.js";
import { agreeing, count, exact, number, percent, plural } from "../kit/format.js";
import { say } from "./fill.js";
import { forms } from "../rules/tests.js";
import { changesOf } from "./model.js";
import { changeFacts } from "./sentences.js";

const ENDS = 4; // rejections listed at the beginning and at the end of a long history
const NAMED = 2; // tokens in the sentence itself; the others unfold

/** The line after the test that brought the change. */
function note(view, judged, change) {
  const facts = { ...changeFacts(view, judged, change), ...numbers(view, judged, change) };
  return h(
    "li.hp-change",
    { "data-after": change.after, "data-node": change.node },
    h("p", prose(say("changes", facts))),
    h("p", prose([...examples(view, change), ...say("rate", facts), ...say("beside it", facts)])),
    outcomes(view, change),
  );
}

/** The path's ratio from then on; and what tokens drawn without replacement have lost, where some are still to be tested. */
function numbers(view, judged, { node, rate, earlier, after }) {
  const cause = judged.decisions[after - 1];
  const open = (view.children.get(node) || []).length - earlier.length - 1;
  const distinct = view.options.draft.tree.startsWith("distinct") && !forms[cause.grounds.form]?.certain;
  const tested = [...earlier.map((before) => judged.decisions[before.after - 1]), cause];
  const gone = tested.reduce((sum, decision) => sum + view.nodes.get(decision.node).q, 0);
  const left = (told) => exact(1 - told.gone, 4, 4) === exact(1 - gone, 4, 4);
  return {
    rate: node && (rate ?? null) !== null ? exact(rate, 4, 4) : null,
    gone: distinct && open > 0 ? agreeing({ gone }, left).texts.gone : null,
  };
}

/** "p(blue) 0.12 → 0.39": what the change did to tokens that are still to be tested, then to the likeliest ones. */
function examples(view, change) {
  if (change.mass === 0) return [];
  const drafted = new Set((view.children.get(change.node) || []).map((id) => view.nodes.get(id).token));
  const moved = change.top.filter((top) => top.probability > 0 || formerly(change, top) !== 0);
  const first = moved.sort((a, b) => drafted.has(b.token) - drafted.has(a.token)).slice(0, NAMED);
  const one = (top) => `) ${number(formerly(change, top))} → ${number(top.probability)}. `;
  return first.flatMap((top) => ["p(", { piece: top.piece, cells: 12 }, one(top)]);
}

/** What a token had before this change: what the change before it left, if that is recorded, else its first p. */
function formerly({ earlier }, { token: id, p }) {
  if (!earlier.length) return p;
  return earlier.at(-1).top.find((top) => top.token === id)?.probability ?? null;
}

/** All recorded outcomes, folded; made when they are unfolded for the first time. */
function outcomes(view, change) {
  if (change.mass === 0) return null;
  const size = count(view.trace.setup.vocab_size);
  const unfold = () => {
    if (element.open && element.children.length === 1) element.append(...outcomeTable(change));
  };
  const element = h(
    "details.hp-outcomes",
    { ontoggle: unfold, onclick: (event) => event.stopPropagation() },
    h("summary", `${change.top.length} of ${size} tokens`),
  );
  return element;
}

function outcomeTable(change) {
  const row = (top) =>
    h(
      "tr",
      h("th", { scope: "row" }, token(top.piece, { cells: 16 })),
      [top.p, formerly(change, top), top.probability].map((x) => h("td", number(x))),
    );
  const head = ["token", "first p", "before", "now"].map((name) => h("th", { scope: "col" }, name));
  const rows = [...change.top].sort((a, b) => b.probability - a.probability).map(row);
  const table = h("table.hp-candidates", h("thead", h("tr", head)), h("tbody", rows));
  return [table, h("p.hp-hint", `The others together: ${percent(change.rest)}. – : not recorded.`)];
}

const AS_FIRST =
  "The branch is shown as it was first. Each rejection leaves a residual, which is its target from then on.";

/** For the ledger: what the run's rule made of the target of one branch, in order; null if nothing. */
function history(view, node) {
  const list = changesOf(view.own).filter((change) => change.node === node);
  if (!list.length) return null;
  const untold = list.length - 2 * ENDS;
  const told = untold > 0 ? [...list.slice(0, ENDS), null, ...list.slice(-ENDS)] : list;
  const words = (change) => [`After test ${change.after}: `, ...say("change", changeFacts(view, view.own, change))];
  const entry = (change) =>
    change
      ? h("div.hp-past", { "data-after": change.after }, h("p.hp-note", prose(words(change))), outcomes(view, change))
      : h("p.hp-hint", `… ${plural(untold, "further rejection")} …`);
  const title = h("h4.hp-subtitle", "How the target changed here");
  return h("div.hp-history", title, h("p.hp-hint", AS_FIRST), told.map(entry));
}

export { note, history };

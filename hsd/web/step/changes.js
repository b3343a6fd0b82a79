// What a rejection did, between two tests: the target of the branch becomes the residual.
import { h, prose, token } from "../kit/dom.js";
import { count, exact, number, percent, shortest } from "../kit/format.js";
import { forms } from "../rules/tests.js";
import { say } from "./sentences.js";
import { draftedAfter } from "./model.js";
import { changeFacts } from "./explain.js";

const NAMED = 2; // tokens in the sentence itself; the others unfold

/**
 * The line after the test that brought the change.
 * @type {(view: View, judged: Judged, change: ReadChange) => HTMLElement}
 */
function note(view, judged, change) {
  const facts = { ...changeFacts(view, judged, change), ...numbers(view, judged, change) };
  const details = [examples(view, change), say("path_rate", facts), say("beside_it", facts)];
  const lines = [h("p", prose(say("changes", facts))), h("p", prose(details.flat()))];
  return h(
    "li.hp-change",
    { "data-after": change.after, "data-node": change.node },
    lines,
    outcomes(view, change),
  );
}

/**
 * The path's ratio from then on; and what tokens drawn without replacement have lost, where some
 * are still to be tested.
 * @type {(view: View, judged: Judged, change: ReadChange) => Pick<ShownChange, "rate" | "gone">}
 */
function numbers(view, { decisions }, { node, rate, earlier, after }) {
  const orders = [...earlier.map((before) => before.after), after];
  const tested = orders.map((order) => decisions[order - 1]);
  const children = view.children.get(node) ?? [];
  const open = children.length - tested.length;
  const form = tested.at(-1)?.grounds.form ?? "";
  const distinct = view.options.draft.tree.startsWith("distinct") && !forms[form]?.certain;
  const gone = tested.reduce((sum, test) => sum + view.nodes.get(test.node).q, 0);
  const left = (/** @type {{gone: number}} */ rounded) =>
    exact(1 - rounded.gone, 4, 4) === exact(1 - gone, 4, 4);
  return {
    rate: node && rate !== null ? exact(rate, 4, 4) : null,
    gone: distinct && open > 0 ? shortest({ gone }, left).texts.gone : null,
  };
}

/**
 * "p(blue) 0.12 → 0.39": what the change did to tokens that are still to be tested, then to the
 * likeliest ones.
 * @type {(view: View, change: ReadChange) => Part[]}
 */
function examples(view, change) {
  if (change.mass === 0) return [];
  const drafted = draftedAfter(view, change.node);
  const isDrafted = (/** @type {Outcome} */ { token: id }) => Number(drafted.includes(id));
  const moved = change.top.filter((top) => top.probability > 0 || formerly(change, top) !== 0);
  moved.sort((a, b) => isDrafted(b) - isDrafted(a));
  return moved.slice(0, NAMED).flatMap((top) => {
    const values = `) ${number(formerly(change, top))} → ${number(top.probability)}. `;
    return ["p(", { piece: top.piece, cells: 12 }, values];
  });
}

/**
 * What a token had before this change: what the change before it left, if that is recorded, else
 * its first p.
 * @type {(change: ReadChange, top: Outcome) => number | null}
 */
function formerly({ earlier }, { token: id, p }) {
  const before = earlier.at(-1);
  if (!before) return p;
  return before.top.find((top) => top.token === id)?.probability ?? null;
}

/**
 * All recorded outcomes, folded; made when they are unfolded for the first time.
 * @type {(view: View, change: ReadChange) => HTMLElement | null}
 */
function outcomes(view, change) {
  if (change.mass === 0) return null;
  const unfold = () => {
    if (element.open && element.children.length === 1) element.append(...outcomeTable(change));
  };
  const stop = (/** @type {Event} */ event) => event.stopPropagation();
  const words = `${change.top.length} of ${count(view.trace.setup.vocab_size)} tokens`;
  const element = h(
    "details.hp-outcomes",
    { ontoggle: unfold, onclick: stop },
    h("summary", words),
  );
  return element;
}

/**
 * The table of recorded outcomes with their probabilities, and what the others hold together.
 * @param {ReadChange} change
 */
function outcomeTable(change) {
  const sorted = [...change.top].sort((a, b) => b.probability - a.probability);
  const rows = sorted.map((top) => {
    const name = h("th", { scope: "row" }, token(top.piece, { cells: 16 }));
    const numbers = [top.p, formerly(change, top), top.probability];
    const cells = numbers.map((x) => h("td", number(x)));
    return h("tr", name, cells);
  });
  const names = ["token", "first p", "before", "now"];
  const heads = names.map((name) => h("th", { scope: "col" }, name));
  const table = h("table.hp-candidates", h("thead", h("tr", heads)), h("tbody", rows));
  return [table, h("p.hp-hint", `The others together: ${percent(change.rest)}. – : not recorded.`)];
}

export { note };

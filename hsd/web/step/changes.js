// What a rejection did, between two tests: the target of the branch becomes the residual. Also the list of all that
// happened to one branch, for the ledger.
import * as dom from "../kit/dom.js";
import { h, prose, token } from "../kit/dom.js";
import { count, exact, nearOne, number, percent, plural } from "../kit/format.js";

const ENDS = 4; // rejections listed at the beginning and at the end of a long history
const NAMED = 2; // tokens in the sentence itself; the others unfold

/** A rule's changes with all that is known about each: {…change, earlier: those it builds on, cause, last}. */
function all(view, judged) {
  const seen = new Map();
  return judged.changes.map((change) => {
    const before = seen.get(change.node) || [];
    const earlier = before.filter((other) => !testedBetween(judged, change.node, other.after, change.after));
    seen.set(change.node, [...before, change]);
    const cause = change.after ? judged.decisions[change.after - 1] : null;
    return { ...change, earlier, cause, last: change.after === judged.decisions.length };
  });
}

/** A token that several drafts drew is there once for each; once one was tested, the next starts anew. */
const testedBetween = (judged, node, from, to) =>
  (judged.at.get(node) || []).some(({ order }) => order > from && order <= to);

/** The line between two tests. */
function note(view, judged, change) {
  return h(
    "li",
    { "class": "hp-change", "data-after": change.after, "data-node": change.node },
    h("p", {}, prose(sentence(view, judged, change))),
    h("p", {}, prose([examples(view, change), ratioWords(view, judged, change), after(view, judged, change)].flat())),
    outcomes(view, change),
  );
}

/** The same line for a plain text. */
const plain = (view, judged, change) => dom.plain(sentence(view, judged, change));

const sentence = (view, judged, change) => [...whatFailed(view, judged, change), ...newTarget(view, judged, change)];

const place = (view, node) => (node ? ["after ", { piece: view.nodes.get(node).piece, cells: 14 }] : ["at the start"]);

function whatFailed(view, judged, { cause, node }) {
  if (!cause) return [];
  if (!judged.info.drafts) return ["Rejected ", { piece: view.nodes.get(cause.node).piece, cells: 14 }, ". "];
  const kept = view.depth.get(node);
  const length = kept === 1 ? "1 token" : `${kept} tokens`;
  return [kept ? `Draft ${cause.draft + 1} ends after ${length}. ` : `Nothing of draft ${cause.draft + 1} is kept. `];
}

/** "At the start: the target becomes the residual max(p − q, 0) / 0.31." */
const newTarget = (view, judged, change) => [...prosePlace(view, change.node), ...formula(view, judged, change)];

function formula(view, judged, change) {
  if (change.mass === 0) return nothingLeft(view, judged, change);
  const p = change.earlier.length ? "p′" : "p";
  if (judged.rule === "one-hot") {
    const piece = { piece: view.nodes.get(change.cause.node).piece, cells: 14 };
    return [piece, ` is struck out of ${p}, and the other tokens' are divided by ${num(change.mass)}.`];
  }
  const q = withoutReplacement(view) && change.earlier.length ? "q′" : "q";
  const weight = change.weight === 1 ? "" : `${num(change.weight)}·`;
  const residual = { strong: `max(${weight}${p} − ${q}, 0) / ${num(change.mass)}` };
  return ["the target becomes the residual ", residual, "."];
}

const num = (x) => exact(x, 4, 4);
const withoutReplacement = (view) => view.options.draft.tree.startsWith("distinct");

function prosePlace(view, node) {
  const [first, ...rest] = place(view, node);
  return [`${first[0].toUpperCase()}${first.slice(1)}`, ...rest, ": "];
}

/** A residual without mass: the target stays as it was. */
function nothingLeft(view, judged, { weight }) {
  if (judged.rule === "one-hot") return ["it had all of the target, so nothing is left."];
  const given = judged.rule === "traversal" && weight < 1;
  const up = given ? " The other tokens of this branch are given up untested." : "";
  return [`the residual has no mass, so the target stays as it is.${up}`];
}

/** "p(blue) 0.12 → 0.39": what the change did to tokens that are still to be tested, then to the likeliest ones. */
function examples(view, change) {
  if (change.mass === 0) return [];
  const drafted = new Set((view.children.get(change.node) || []).map((id) => view.nodes.get(id).token));
  const moved = change.top.filter((top) => top.probability > 0 || formerly(change, top) !== 0);
  const others = moved.filter((top) => !drafted.has(top.token));
  const chosen = [...moved.filter((top) => drafted.has(top.token)), ...others].slice(0, NAMED);
  return chosen.flatMap((top) => [
    "p(",
    { piece: top.piece, cells: 12 },
    `) ${number(formerly(change, top))} → ${number(top.probability)}. `,
  ]);
}

/** What a token had before this change: what the change before it left, if that is recorded, else its first p. */
function formerly({ earlier }, { token: id, p }) {
  if (!earlier.length) return p;
  const before = earlier[earlier.length - 1].top.find((top) => top.token === id);
  return before ? before.probability : null;
}

function ratioWords(view, judged, { node, rate, weight, mass, cause, earlier }) {
  const said = [];
  if (judged.rule === "traversal" && node && rate !== null && rate !== undefined) {
    const sum = mass + 1 - weight > 0 ? ` = ${num(mass)} / (${num(mass)} + 1 − ${nearOne(weight)})` : "";
    said.push(`The capped ratio c of this path: ${num(weight)} → ${num(rate)}${sum}. `);
  }
  const siblings = (view.children.get(node) || []).length - earlier.length - 1; // that are still to be tested
  if (withoutReplacement(view) && judged.rule !== "one-hot" && cause && siblings > 0) {
    const gone = [...earlier.map((before) => judged.decisions[before.after - 1]), cause];
    const sum = gone.reduce((total, { node: id }) => total + view.nodes.get(id).q, 0);
    const rest = nearOne(sum);
    said.push(`The tokens beside it were drawn without it: their q is now the first q / (1 − ${rest}). `);
  }
  return said;
}

function after(view, judged, change) {
  const drawn = judged.residual && judged.residual.node === change.node;
  if (change.last) return drawn ? ["The next token is drawn from it."] : [];
  return judged.info.drafts ? ["The next draft that goes on from here starts afresh: c = 1 here."] : [];
}

/** All recorded outcomes, folded; made when they are unfolded for the first time. */
function outcomes(view, change) {
  if (change.mass === 0) return null;
  const size = count(view.trace.setup.vocab_size);
  const element = h(
    "details",
    {
      class: "hp-outcomes",
      ontoggle: () => {
        if (element.open && element.children.length === 1) element.append(...outcomeTable(change));
      },
      onclick: (event) => event.stopPropagation(),
    },
    h("summary", {}, `${change.top.length} of ${size} tokens`),
  );
  return element;
}

function outcomeTable(change) {
  const row = (top) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, token(top.piece, { cells: 16 })),
      h("td", {}, number(top.p)),
      h("td", {}, number(formerly(change, top))),
      h("td", {}, number(top.probability)),
    );
  const head = ["token", "first p", "before", "now"].map((name) => h("th", { scope: "col" }, name));
  const table = h(
    "table",
    { class: "hp-candidates" },
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, [...change.top].sort((a, b) => b.probability - a.probability).map(row)),
  );
  return [table, h("p", { class: "hp-hint" }, `The others together: ${percent(change.rest)}. – : not recorded.`)];
}

const AS_FIRST =
  "The branch is shown as it was first. Each rejection leaves a residual, which is its target from then on.";

/** For the ledger: what the run's rule made of the target of one branch, in order; null if nothing. */
function history(view, node) {
  const list = all(view, view.own).filter((change) => change.node === node);
  if (!list.length) return null;
  const untold = list.length > 2 * ENDS ? list.length - 2 * ENDS : 0;
  const told = untold ? [...list.slice(0, ENDS), null, ...list.slice(-ENDS)] : list;
  const entry = (change) =>
    change
      ? h(
          "div",
          { "class": "hp-past", "data-after": change.after },
          h("p", { class: "hp-note" }, prose([`After test ${change.after}: `, ...formula(view, view.own, change)])),
          outcomes(view, change),
        )
      : h("p", { class: "hp-hint" }, `… ${plural(untold, "further rejection")} …`);
  return h(
    "div",
    { class: "hp-history" },
    h("h4", { class: "hp-subtitle" }, "How the target changed here"),
    h("p", { class: "hp-hint" }, AS_FIRST),
    told.map(entry),
  );
}

export { all, note, plain, history };

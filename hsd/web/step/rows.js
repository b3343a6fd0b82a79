// The rows of a draft tree: shared tokens once, the kept path and what follows it on top, one row per further end.
// Pure: says in which row a token stands and how tall the rows are; layout.js turns that into pixels.
import * as drafts from "./drafts.js";
import { verdicts } from "./model.js";

const LINE = 17; // one test under a token
const LABEL = 20; // the name of a row's drafts, above it
const SPACE = 10; // between rows
const MOST = 4; // tests of one rule that are listed under a token

/** Gives every drawn token its row; `item(id, row)` adds it to the picture. */
function place(view, chosen, item) {
  const rowOf = new Map();
  const starts = new Map(); // row → the token it starts with
  let bottom = 0;
  const kidsOf = (id) => (view.children.get(id) || []).filter((kid) => chosen.has(kid));
  const put = (id, row) => {
    rowOf.set(id, row);
    bottom = Math.max(bottom, row);
    if (id && !starts.has(row)) starts.set(row, id);
    if (id) item(id, row);
    const kids = kidsOf(id).sort((a, b) => view.own.path.has(b) - view.own.path.has(a) || a - b);
    const topIsTaken = id === view.own.last && view.drawn !== null; // by the token that follows the kept ones
    kids.forEach((kid, i) => put(kid, i || topIsTaken ? bottom + 1 : row));
  };
  put(0, 0);
  return { rowOf, labels: labels(view, rowOf, starts) };
}

/** Each row is named above its first token by the drafts that end in it. */
function labels(view, rowOf, starts) {
  const names = drafts.names(view);
  const ends = new Map([...names].filter(([leaf]) => rowOf.has(leaf)).map(([leaf, name]) => [rowOf.get(leaf), name]));
  const drawn = view.drawn && view.own.last && !ends.has(0) ? [{ row: 0, node: starts.get(0), words: "kept" }] : [];
  return [...drawn, ...[...ends].map(([row, words]) => ({ row, node: starts.get(row), words }))];
}

/** The lines under a token: {judged, decision} of both rules, {judged, more}, or {judged, kept} without a test. */
function lines(view, id) {
  return verdicts(view).flatMap((judged) => {
    const tests = judged.at.get(id) || [];
    const first = tests.length > MOST ? tests.slice(0, MOST - 1) : tests;
    const told = first.map((decision) => ({ judged, decision }));
    if (first.length < tests.length) told.push({ judged, more: tests.slice(first.length) });
    const untold = judged.path.has(id) && !tests.some((test) => test.accepted);
    return untold ? [...told, { judged, kept: true }] : told;
  });
}

/** The top of each row, and where the last one ends. heightOf(item): of its box. */
function tops(plan, top, heightOf) {
  const below = new Map();
  for (const item of plan.items) {
    if (item.slot !== null) continue;
    const tall = heightOf(item) + (item.kind === "draft" ? LINE * lines(plan.view, item.id).length : 0);
    below.set(item.row, Math.max(below.get(item.row) ?? 0, tall));
  }
  const all = [];
  let y = top;
  for (let row = 0; row < below.size; row += 1) {
    all.push(y + LABEL);
    y += LABEL + below.get(row) + SPACE;
  }
  return [...all, y];
}

export { place, lines, tops, LINE, LABEL };

// Where everything of the draft tree goes. Pure: a step in, boxes with coordinates out.
// One column per position, and the rows of rows.js.
// Candidates that were not drafted stand below the drafted ones of their column.
import * as drafts from "./drafts.js";
import { pathTo, usualLength } from "./model.js";
import * as rows from "./rows.js";
import { LINE, lines } from "./rows.js";

const PAD = 14;
const ROOT = 92; // width of the root's column, which also holds the labels of the rows
const GAP = 24; // between columns, where the edges run
const HEADER = 30;
const PILL = { draft: 48, drawn: 48, root: 76, candidate: 50 };
const STEP = PILL.candidate + 7;
const REST = 34;
const MASS = 104;
const CANDIDATES = 3;
const COLUMN = { least: 104, most: 164 };

/** options: {width: room in pixels, selected: node whose branch is selected}. */
function layout(view, { width, selected }) {
  const plan = { view, selected, items: [], rests: [], labels: [], used: new Map(), maxRow: new Map() };
  plan.shown = drafts.shown(view, selected);
  placeDrafted(plan);
  placeDrawn(plan);
  for (const branch of shownBranches(plan)) placeCandidates(plan, branch);
  placeBonusCandidates(plan);
  return measure(plan, width);
}

function placeDrafted(plan) {
  const { view } = plan;
  const item = (id, row) => {
    const column = view.depth.get(id);
    plan.maxRow.set(column, Math.max(plan.maxRow.get(column) ?? 0, row));
    plan.items.push(draftItem(view, id, row, column));
  };
  plan.items.push({
    key: "root",
    kind: "root",
    id: 0,
    piece: view.rootPiece,
    column: 0,
    row: 0,
    slot: null,
    verdict: "kept",
  });
  Object.assign(plan, rows.place(view, plan.shown, item));
}

function draftItem(view, id, row, column) {
  const { token, piece, p, q } = view.nodes.get(id);
  return {
    key: `n${id}`,
    kind: "draft",
    id,
    branch: id,
    parent: view.nodes.get(id).parent,
    token,
    piece,
    p,
    q,
    row,
    column,
    slot: null,
    verdict: view.own.verdict(id),
  };
}

const take = (plan, column) => {
  const slot = plan.used.get(column) ?? 0;
  plan.used.set(column, slot + 1);
  return slot;
};

/** The token drawn after the kept ones. */
function placeDrawn(plan) {
  const { view } = plan;
  if (!view.drawn || !view.own.residual) return;
  const parent = view.own.residual.node;
  const column = view.depth.get(parent) + 1;
  const { token, piece, origin, outcome } = view.drawn;
  plan.items.push({
    key: "drawn",
    kind: "drawn",
    parent,
    branch: parent,
    token,
    piece,
    p: outcome ? outcome.p : null,
    q: outcome ? outcome.q : null,
    column,
    verdict: origin,
    words: view.step.drafted ? origin : "plain",
    row: 0,
    slot: null,
  });
}

/** Rivals are shown of the selected branch only. */
const shownBranches = ({ view, selected }) => view.step.branches.filter((branch) => branch.node === selected);

function placeCandidates(plan, branch) {
  const { view } = plan;
  const drafted = new Set((view.children.get(branch.node) || []).map((id) => view.nodes.get(id).token));
  const drawnHere = view.drawn && view.own.residual && view.own.residual.node === branch.node ? view.drawn.token : null;
  const possible = branch.top.filter((top) => top.p > 0 || top.q > 0);
  const rivals = possible.filter((top) => !drafted.has(top.token) && top.token !== drawnHere);
  const shown = rivals.slice(0, CANDIDATES);
  const column = view.depth.get(branch.node) + 1;
  for (const rival of shown) pushCandidate(plan, branch.node, column, rival);
  const undrawn = (view.children.get(branch.node) || []).filter((id) => !plan.shown.has(id));
  const hidden = [...rivals.slice(CANDIDATES), ...undrawn.map((id) => view.nodes.get(id))];
  const rest = (of, last) => hidden.reduce((sum, top) => sum + top[of], last);
  const drawn = possible.length - hidden.length;
  pushRest(plan, branch.node, column, drawn, rest("p", branch.rest_p), rest("q", branch.rest_q));
}

/** After a wholly kept draft the next token comes from the target: only p exists there. */
function placeBonusCandidates(plan) {
  const { residual } = plan.view.own;
  if (!residual || residual.origin !== "bonus" || plan.view.branches.has(residual.node)) return;
  if (plan.selected !== residual.node) return;
  const column = plan.view.depth.get(residual.node) + 1;
  const rivals = residual.top.filter((top) => !plan.view.drawn || top.token !== plan.view.drawn.token);
  for (const rival of rivals.slice(0, CANDIDATES)) pushCandidate(plan, residual.node, column, { ...rival, q: null });
  const hidden = rivals.slice(CANDIDATES);
  const rest = hidden.reduce((sum, top) => sum + top.p, residual.rest);
  pushRest(plan, residual.node, column, residual.top.length - hidden.length, rest, null);
}

function pushCandidate(plan, parent, column, { token, piece, p, q }) {
  plan.items.push({
    key: `c${parent}-${token}`,
    kind: "candidate",
    parent,
    branch: parent,
    token,
    piece,
    p,
    q,
    column,
    verdict: "candidate",
    slot: take(plan, column),
  });
}

function pushRest(plan, node, column, shown, p, q) {
  plan.rests.push({ node, column, hidden: plan.view.trace.setup.vocab_size - shown, p, q });
}

/** Pixels. */
function measure(plan, room) {
  const grid = columnGrid(plan, room);
  const massTop = Math.max(placeBoxes(plan, grid), placeRests(plan, grid)) + 10;
  const masses = placeMasses(plan, grid);
  const width = grid.left(grid.columns) + grid.pill + PAD;
  const height = masses.length ? massTop + MASS + 44 : massTop;
  const { items, rests, labels, shown } = plan;
  return { ...grid, items, rests, labels, shown, masses, massTop, width, height };
}

/** Columns share the room that there is, within limits; beyond it the picture scrolls. */
function columnGrid(plan, room) {
  const columns = Math.max(...plan.items.map((item) => item.column));
  const usual = Math.max(columns, usualLength(plan.view.options.draft) + 1); // the same width in every step of a run
  const even = columns ? (room - 2 * PAD - ROOT) / usual - GAP : 0;
  const pill = Math.round(Math.min(COLUMN.most, Math.max(COLUMN.least, even)));
  const left = (column) => (column ? PAD + ROOT + GAP + (column - 1) * (pill + GAP) : PAD);
  return { columns, pill, left };
}

/** Gives every pill its place; returns where the lowest one ends, the tests under it included. */
function placeBoxes(plan, { pill, left }) {
  const { view } = plan;
  const tops = rows.tops(plan, HEADER - 6, (item) => PILL[item.kind]);
  const under = (column) => tops[(plan.maxRow.get(column) ?? 0) + 1];
  for (const label of plan.labels) {
    Object.assign(label, { x: left(view.depth.get(label.node)), y: tops[label.row] - 7 });
  }
  const bottoms = plan.items.map((item) => {
    item.x = left(item.column);
    item.w = item.column ? pill : ROOT;
    item.y = item.slot === null ? tops[item.row] : slotTop(plan, item, under(item.column) + 4);
    item.h = PILL[item.kind];
    return item.y + item.h;
  });
  return Math.max(tops[tops.length - 1], ...bottoms);
}

/** The words about hidden candidates stand under the lowest pill of their column. */
function placeRests(plan, { left }) {
  const bottoms = plan.rests.map((rest) => {
    const column = plan.items.filter((item) => item.column === rest.column);
    rest.x = left(rest.column);
    rest.y = Math.max(...column.map((item) => item.y + item.h + testsUnder(plan, item))) + 14;
    return rest.y + REST - 14;
  });
  return Math.max(0, ...bottoms);
}

/** The room that the tests under a drafted token take. */
function testsUnder({ view }, item) {
  return item.kind === "draft" ? LINE * lines(view, item.id).length : 0;
}

/** Slots are as tall as a candidate, except those that hold a drawn token. */
function slotTop(plan, item, top) {
  const above = plan.items.filter(
    (other) => other.column === item.column && other.slot !== null && other.slot < item.slot,
  );
  return above.reduce((y, other) => y + (PILL[other.kind] - PILL.candidate) + STEP, top);
}

/** One pair of mass bars per column: the branches along the path through the selected token. */
function placeMasses({ view, selected }, { left, pill }) {
  return [0, ...through(view, selected)]
    .filter((node) => view.branches.has(node))
    .map((node) => ({ node, x: left(view.depth.get(node) + 1), w: pill, branch: view.branches.get(node) }));
}

/** The path to a token, and on from it as the main path goes or as it was drawn first. */
function through(view, selected) {
  const path = pathTo(view, selected);
  for (let kids = view.children.get(selected); kids; kids = view.children.get(path[path.length - 1])) {
    path.push(kids.find((id) => view.spine.includes(id)) ?? kids[0]);
  }
  return path;
}

export { layout, PAD, ROOT, HEADER, PILL, MASS };

// Where everything of the draft tree goes. Pure: a step in, boxes with coordinates out.
// One column per position, and the rows of rows.js.
// Candidates that were not drafted stand below the drafted ones of their column.
import * as drafts from "./drafts.js";
import { candidates, isCut } from "./growth.js";
import { pathTo, usualLength } from "./model.js";
import * as rows from "./rows.js";
import { LINE, lines } from "./rows.js";

const PAD = 14;
const ROOT = 92; // width of the root's column, which also holds the labels of the rows
const GAP = 24; // between columns, where the edges run
const HEADER = 30;
const PILL = { draft: 48, drawn: 48, root: 76, candidate: 50, dropped: 28 };
const BETWEEN = 7; // boxes that hang under each other
const REST = 34;
const MASS = 56;
const CANDIDATES = 3;
const DROPPED = 6; // candidates of a level that the re-ranking dropped and that are drawn
const COLUMN = { least: 104, most: 164 };

/**
 * options: {width: room in pixels, selected: node whose branch is selected}. Of a tree that was cut, `dropped` has the
 * surest candidates that the re-ranking left out, and those that were expanded.
 */
function layout(view, { width, selected }) {
  const plan = { view, selected, items: [], rests: [], labels: [], used: new Map(), maxRow: new Map() };
  plan.shown = drafts.shown(view, selected);
  placeDrafted(plan);
  placeDrawn(plan);
  placeDropped(plan);
  placeRivals(plan);
  return measure(plan, width);
}

function placeDrafted(plan) {
  const { view } = plan;
  const item = (id, row) => {
    const column = view.depth.get(id);
    plan.maxRow.set(column, Math.max(plan.maxRow.get(column) ?? 0, row));
    const verdict = view.own.verdict(id);
    plan.items.push({
      ...view.nodes.get(id),
      key: `n${id}`,
      kind: "draft",
      branch: id,
      row,
      column,
      slot: null,
      verdict,
    });
  };
  const root = { key: "root", kind: "root", id: 0, piece: view.rootPiece };
  plan.items.push({ ...root, column: 0, row: 0, slot: null, verdict: "kept" });
  Object.assign(plan, rows.place(view, plan.shown, item));
}

/** The token drawn after the kept ones. */
function placeDrawn(plan) {
  const { view } = plan;
  if (!view.drawn || !view.own.residual) return;
  const parent = view.own.residual.node;
  const { token, piece, origin, outcome } = view.drawn;
  plan.items.push({
    ...{ key: "drawn", kind: "drawn", parent, branch: parent, token, piece, row: 0, slot: null },
    p: outcome?.p ?? null,
    q: outcome?.q ?? null,
    column: view.depth.get(parent) + 1,
    verdict: origin,
    words: view.step.drafted ? origin : "plain",
  });
}

/** A box under the drafted ones of its column, `slot` pixels below the first of these boxes; returns it. */
function hang(plan, column, item) {
  const slot = plan.used.get(column) ?? 0;
  plan.used.set(column, slot + PILL[item.kind] + BETWEEN);
  plan.items.push({ ...item, column, slot });
  return plan.items.at(-1);
}

/** Of each level that the re-ranking cut some dropped candidates, below each other as those that they follow are. */
function placeDropped(plan) {
  const { view } = plan;
  if (!isCut(view)) return;
  const all = candidates(view);
  const boxes = new Map(plan.items.map((item) => [item.key, item]));
  const boxOf = (id) => boxes.get(id ? (all[id - 1].node ? `n${all[id - 1].node}` : `g${id}`) : "root");
  for (const { id, node, level, read, joint } of all) if (node) Object.assign(boxOf(id) ?? {}, { level, read, joint });
  const dropped = all.filter(({ node }) => node === null);
  plan.cut = { dropped: dropped.length, drawn: 0, levels: all.reduce((most, { level }) => Math.max(most, level), 0) };
  for (let level = 1; level <= plan.cut.levels; level += 1) {
    const surest = dropped.filter((one) => one.level === level && boxOf(one.parent));
    surest.sort((a, b) => Number(b.read) - Number(a.read) || b.joint - a.joint);
    for (const one of surest.slice(0, DROPPED).sort((a, b) => a.id - b.id)) {
      const from = boxOf(one.parent);
      const branch = from.kind === "dropped" ? from.branch : from.id;
      const p = view.branches.get(from.id)?.top.find(({ token }) => token === one.token)?.p ?? null;
      const item = {
        ...one,
        id: undefined,
        p,
        key: `g${one.id}`,
        from: from.key,
        branch,
        kind: "dropped",
        verdict: "dropped",
      };
      boxes.set(item.key, hang(plan, level, item));
      plan.cut.drawn += 1;
    }
  }
}

/** What could follow the selected token beside what was drafted: its likeliest rivals, and how many are not drawn. */
function placeRivals(plan) {
  const { view, selected: node } = plan;
  const offers = offered(view, node);
  if (!offers) return;
  const column = view.depth.get(node) + 1;
  const kids = (view.children.get(node) || []).map((id) => view.nodes.get(id));
  const there = new Set(kids.map(({ token }) => token));
  if (view.drawn && view.own.residual?.node === node) there.add(view.drawn.token);
  for (const { kind, from, token } of plan.items)
    if (kind === "dropped" && from === (node ? `n${node}` : "root")) there.add(token);
  const possible = offers.top.filter(({ p, q }) => p > 0 || q > 0);
  const rivals = possible.filter(({ token }) => !there.has(token));
  for (const { token, piece, p, q } of rivals.slice(0, CANDIDATES)) {
    const key = `c${node}-${token}`;
    hang(plan, column, {
      key,
      kind: "candidate",
      parent: node,
      branch: node,
      token,
      piece,
      p,
      q,
      verdict: "candidate",
    });
  }
  const hidden = [...rivals.slice(CANDIDATES), ...kids.filter(({ id }) => !plan.shown.has(id))];
  const rest = (of) => (offers[of] === null ? null : hidden.reduce((sum, one) => sum + one[of], offers[of]));
  const count = view.trace.setup.vocab_size - possible.length + hidden.length;
  plan.rests.push({ node, column, hidden: count, p: rest("p"), q: rest("q") });
}

/** The listed tokens after a node and the probabilities of all others; q null where only the target has been there. */
function offered(view, node) {
  const branch = view.branches.get(node);
  if (branch) return { top: branch.top, p: branch.rest_p, q: branch.rest_q };
  const { residual } = view.own;
  if (residual?.origin !== "bonus" || residual.node !== node) return null;
  return { top: residual.top.map((one) => ({ ...one, q: null })), p: residual.rest, q: null };
}

/** Pixels. */
function measure(plan, room) {
  const grid = columnGrid(plan, room);
  const massTop = Math.max(placeBoxes(plan, grid), placeRests(plan, grid)) + 10;
  const masses = placeMasses(plan, grid);
  const width = grid.left(grid.columns) + grid.pill + PAD;
  const height = masses.length ? massTop + MASS : massTop;
  const { items, rests, labels, shown, cut } = plan;
  return { ...grid, items, rests, labels, shown, cut, masses, massTop, width, height };
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
    item.y = item.slot === null ? tops[item.row] : under(item.column) + 4 + item.slot;
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

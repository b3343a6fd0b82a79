// Where everything of the draft tree goes. Pure: a step in, boxes with a row and a column out, each
// alone in its place. One column per position. Shared tokens stand once, the kept path and what
// follows it on top, in a row per further end; what was not drafted stands below the drafted tokens
// of its column.
import * as drafts from "./drafts.js";
import { candidates, isCut } from "./growth.js";
import { pathTo } from "./model.js";

const CANDIDATES = 3;
const DROPPED = 6; // candidates of a level that the re-ranking dropped and that are drawn

/**
 * The tree with the branch of a node selected. Of one that was cut also the surest candidates that
 * were left out.
 * @type {(view: View, selected: number) => TreeLayout}
 */
function layout(view, selected) {
  const shown = drafts.shown(view, selected);
  /** @type {TreeLayout} */
  const plan = {
    view,
    selected,
    boxes: [],
    shown,
    free: new Map(),
    rest: null,
    cut: null,
  };
  placeDrafted(plan);
  placeDrawn(plan);
  if (isCut(view)) placeDropped(plan);
  placeRivals(plan);
  return plan;
}

/** @type {(plan: TreeLayout, box: TreeBox) => TreeBox} */
function add({ boxes, free }, box) {
  boxes.push(box);
  free.set(box.column, Math.max(free.get(box.column) ?? 0, box.row + 1));
  return box;
}

const keyOf = (/** @type {number} */ node) => (node ? `n${node}` : "root");

/** @param {TreeLayout} plan */
function placeDrafted(plan) {
  const { view, shown } = plan;
  const { own, drawn } = view;
  let bottom = 0;
  const put = (/** @type {number} */ id, /** @type {number} */ row) => {
    bottom = Math.max(bottom, row);
    const place = {
      key: keyOf(id),
      id,
      branch: id,
      row,
      column: view.depth.get(id),
    };
    const verdict = id ? own.verdict(id) : "kept";
    const node = view.nodes.get(id);
    if (id)
      add(plan, {
        ...node,
        ...place,
        verdict,
        kind: "draft",
        from: keyOf(node.parent),
      });
    else
      add(plan, {
        ...place,
        verdict,
        kind: "root",
        piece: view.rootPiece,
        p: null,
        q: null,
      });
    const children = view.children.get(id) ?? [];
    const kids = children.filter((kid) => shown.has(kid));
    const isKept = (/** @type {number} */ kid) => Number(own.path.has(kid));
    kids.sort((a, b) => isKept(b) - isKept(a) || a - b);
    let below = id === own.last && drawn !== null; // under the token that follows the kept ones
    for (const kid of kids) {
      put(kid, below ? bottom + 1 : row);
      below = true;
    }
  };
  put(0, 0);
  if (own.decisions.length) nameRows(plan);
}

/**
 * Each row is named above its first token by the drafts of a token that ends in it.
 * @param {TreeLayout} plan
 */
function nameRows({ view, boxes }) {
  const first = (/** @type {number | undefined} */ row) =>
    boxes.find((box) => box.kind === "draft" && box.row === row);
  for (const leaf of drafts.ends(view)) {
    const start = first(boxes.find(({ id }) => id === leaf)?.row);
    if (start) start.label = drafts.through(view, leaf);
  }
  const top = first(0);
  if (view.drawn && view.own.last && top) top.label ||= "kept";
}

/** The token drawn after the kept ones. @param {TreeLayout} plan */
function placeDrawn(plan) {
  const { drawn, own, depth, step } = plan.view;
  if (!drawn || !own.residual) return;
  const { node } = own.residual;
  const { token, piece, origin, outcome } = drawn;
  const words = step.drafted ? origin : "plain";
  add(plan, {
    key: "drawn",
    kind: "drawn",
    from: keyOf(node),
    branch: node,
    row: 0,
    column: depth.get(node) + 1,
    token,
    piece,
    p: outcome?.p ?? null,
    q: outcome?.q ?? null,
    verdict: origin,
    words,
  });
}

/**
 * Of each level that the re-ranking cut some dropped candidates, below each other as those that
 * they follow are.
 * @param {TreeLayout} plan
 */
function placeDropped(plan) {
  const { view, boxes, free } = plan;
  const all = candidates(view);
  const byKey = new Map(boxes.map((box) => [box.key, box]));
  const boxOf = (/** @type {number} */ id) => {
    const node = id && all[id - 1].node;
    return byKey.get(node === null ? `g${id}` : keyOf(node));
  };
  for (const { id, node, level, read, joint } of all)
    if (node) Object.assign(boxOf(id) ?? {}, { level, read, joint });
  const dropped = all.filter(({ node }) => node === null);
  const levels = Math.max(...all.map(({ level }) => level));
  let drawn = 0;
  for (let level = 1; level <= levels; level += 1) {
    const following = dropped.filter((grown) => grown.level === level && boxOf(grown.parent));
    following.sort((a, b) => Number(b.read) - Number(a.read) || b.joint - a.joint);
    const surest = following.slice(0, DROPPED);
    surest.sort((a, b) => a.id - b.id);
    for (const grown of surest) {
      const from = /** @type {TreeBox} */ (boxOf(grown.parent));
      const branch = from.id ?? from.branch;
      const listed = view.branches.get(from.id ?? -1)?.top;
      const p = listed?.find(({ token }) => token === grown.token)?.p ?? null;
      const key = `g${grown.id}`;
      const box = add(plan, {
        ...grown,
        id: undefined,
        key,
        kind: "dropped",
        from: from.key,
        branch,
        row: free.get(level) ?? 0,
        column: level,
        p,
        verdict: "dropped",
      });
      byKey.set(key, box);
      drawn += 1;
    }
  }
  plan.cut = { dropped: dropped.length, drawn, levels };
}

/**
 * What could follow the selected token beside what was drafted: its likeliest rivals, and how many
 * are not drawn.
 * @param {TreeLayout} plan
 */
function placeRivals(plan) {
  const { view, selected: node, boxes, free, shown } = plan;
  const offers = offered(view, node);
  if (!offers) return;
  const column = view.depth.get(node) + 1;
  const children = view.children.get(node) ?? [];
  const kids = children.map((id) => view.nodes.get(id));
  const drawn = boxes.filter(({ kind, from }) => from === keyOf(node) && kind !== "draft");
  const there = new Set([...kids, ...drawn].map(({ token }) => token));
  const possible = offers.top.filter(({ p, q }) => p > 0 || q > 0);
  const rivals = possible.filter(({ token }) => !there.has(token));
  for (const { token, piece, p, q } of rivals.slice(0, CANDIDATES)) {
    add(plan, {
      key: `c${node}-${token}`,
      kind: "candidate",
      from: keyOf(node),
      branch: node,
      row: free.get(column) ?? 0,
      column,
      token,
      piece,
      p,
      q: offers.q === null ? null : q,
      verdict: "candidate",
    });
  }
  const hiddenKids = kids.filter(({ id }) => !shown.has(id));
  const hidden = [...rivals.slice(CANDIDATES), ...hiddenKids];
  const p = hidden.reduce((sum, token) => sum + token.p, offers.p);
  const q = hidden.reduce((sum, token) => sum + token.q, offers.q ?? 0);
  const many = view.trace.setup.vocab_size - possible.length + hidden.length;
  plan.rest = {
    row: free.get(column) ?? 0,
    column,
    hidden: many,
    p,
    q: offers.q === null ? null : q,
  };
}

/**
 * The listed tokens after a node and the probabilities of all others; q null where only the target
 * has been there.
 * @type {(view: View, node: number) => {top: Candidate[], p: number, q: number | null} | null}
 */
function offered(view, node) {
  const branch = view.branches.get(node);
  if (branch)
    return {
      top: branch.top,
      p: branch.rest_p,
      q: branch.rest_q,
    };
  const { residual } = view.own;
  if (residual?.origin !== "bonus" || residual.node !== node) return null;
  const top = residual.top.map((outcome) => ({ ...outcome, q: 0 }));
  return { top, p: residual.rest, q: null };
}

/**
 * The branches along the path to a token, and on from it as the main path goes or as it was drawn
 * first.
 * @type {(view: View, selected: number) => Branch[]}
 */
function branchesAlong(view, selected) {
  const path = [0, ...pathTo(view, selected)];
  let kids = view.children.get(selected);
  while (kids) {
    const next = kids.find((id) => view.spine.includes(id)) ?? kids[0];
    path.push(next);
    kids = view.children.get(next);
  }
  return path.flatMap((node) => view.branches.get(node) ?? []);
}

export { branchesAlong, layout };

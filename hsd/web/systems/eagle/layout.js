// Where the boxes of a growing tree go: a column per level, candidates below each other as their parents are. Pure.
const BOX = { width: 160, height: 32, row: 40, gap: 36, group: 6 };
const ROOT = 92; // width of the last token of the text
const [PAD, TOP] = [8, 46];
const OWN = "own";
const MOST = 18; // boxes of a column, unless more of them are kept or expanded

/**
 * boxes: candidates that are drawn; place: of each, by id, 0 for the root: {x, y, width}; more: where some are left out,
 * {x, y, level, count}; left(level): of a column. The token that the target adds has a place as `OWN`.
 */
function layout(tree) {
  const left = (level) => (level ? PAD + ROOT + BOX.gap + (level - 1) * (BOX.width + BOX.gap) : PAD);
  const plan = { boxes: [], more: [], left, place: new Map([[0, { x: PAD, y: TOP, width: ROOT }]]) };
  const depth = tree.nodes[tree.last].depth + 1;
  const count = Math.max(tree.levels.length, depth);
  const columns = Array.from({ length: count }, (_, i) => {
    return column(plan, tree.levels[i] || [], i + 1, i + 1 === depth ? ownParent(tree) : null);
  });
  plan.height = Math.max(TOP + 66, ...columns) + PAD;
  plan.width = left(count) + BOX.width + PAD;
  return plan;
}

/** The candidate that the target's own token follows, 0 for the root. */
const ownParent = ({ candidates, last }) => candidates.find(({ node }) => node === last)?.id ?? 0;

/**
 * The boxes of a level, a little apart where their parents differ; returns where the next one would stand. under: the
 * candidate after whose boxes the target's own token stands, or null.
 */
function column(plan, found, level, under) {
  const order = (id) => plan.place.get(id).y;
  const wanted = shown(found);
  if (under !== null) {
    const at = wanted.findIndex(({ parent }) => order(parent) > order(under));
    wanted.splice(at < 0 ? wanted.length : at, 0, { id: OWN, parent: under });
  }
  let y = TOP;
  wanted.forEach((one, i) => {
    if (i && wanted[i - 1].parent !== one.parent) y += BOX.group;
    plan.place.set(one.id, { x: plan.left(level), y, width: BOX.width });
    if (one.id !== OWN) plan.boxes.push(one);
    y += BOX.row;
  });
  const left = found.length - wanted.filter(({ id }) => id !== OWN).length;
  if (!left) return y + BOX.group;
  plan.more.push({ x: plan.left(level), y: y + 12, level, count: left });
  return y + 22 + BOX.group;
}

/** All of a level; of many those that were kept or expanded, and the surest of the others. */
function shown(found) {
  if (found.length <= MOST) return [...found];
  const matters = (one) => one.node !== null || one.read;
  const ranked = [...found].sort((a, b) => matters(b) - matters(a) || b.joint - a.joint);
  const wanted = new Set(ranked.slice(0, Math.max(MOST, found.filter(matters).length)));
  return found.filter((one) => wanted.has(one));
}

export { layout, BOX, OWN, ROOT };

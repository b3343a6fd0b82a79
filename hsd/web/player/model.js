// Reading a trace: who was kept, which tests were made at which token, what rejections changed.
// Pure functions on the parsed JSON of a Trace; no page.
//
// Words: a node's *branch* is the node with all its possible next tokens; node 0 is the last token before the
// step. ρ = p/q of one token; r the product of ρ along the path; c the same product, cut at 1 on the way.
import { facts, rule as ruleInfo } from "../kit/facts.js";

/** The full name of a rule: with several drafts, a chain rule's name stands for verifying draft after draft by it. */
const fullName = (rule, setup) => ((setup.drafts ?? 1) > 1 && ruleInfo(rule).recursive) || rule;

// What a mirrored step committed in the run itself (see mirror.js): a symbol, so that no file and no reader meets it.
const WRITTEN = Symbol("written");
const written = (step) => step[WRITTEN] || step.committed;

/** Everything the panels ask about one step. */
function readStep(trace, index) {
  const step = trace.steps[index];
  const rule = fullName(trace.setup.rule, trace.setup);
  const view = { trace, step, index, rule, detail: step.nodes.length > 0 };
  view.nodes = new Map(step.nodes.map((node) => [node.id, node]));
  view.branches = new Map(step.branches.map((branch) => [branch.node, branch]));
  view.children = childrenOf(step.nodes);
  view.depth = depths(step.nodes);
  view.deepest = Math.max(...view.depth.values());
  view.isChain = step.nodes.every((node) => node.parent === node.id - 1);
  view.isTrie = !view.isChain || (trace.setup.drafts ?? 1) > 1;
  view.own = judge(view, { ...step, rule });
  view.shadow = step.shadow ? judge(view, { ...step.shadow, rule: fullName(step.shadow.rule, trace.setup) }) : null;
  view.sameRule = Boolean(view.shadow) && view.shadow.rule === rule;
  view.differs = Boolean(view.shadow) && view.shadow.kept !== step.kept;
  view.spine = spine(view);
  view.rootPiece = lastPieceBefore(trace, index);
  view.drawn = drawnToken(step);
  view.decided = step.residual ? step.residual.node : view.own.last;
  return view;
}

function childrenOf(nodes) {
  const children = new Map();
  for (const node of nodes) {
    if (!children.has(node.parent)) children.set(node.parent, []);
    children.get(node.parent).push(node.id);
  }
  return children;
}

function depths(nodes) {
  const depth = new Map([[0, 0]]);
  for (const node of nodes) depth.set(node.id, depth.get(node.parent) + 1);
  return depth;
}

/**
 * One rule's part in a step: `at` its tests by node, a list each and in order, for drafts may share a token;
 * `path` the nodes it keeps; `changes` what its rejections did; `verdict(id)`.
 */
function judge(view, { decisions, changes = [], residual = null, next = null, rule, kept }) {
  const at = new Map();
  const ordered = decisions.map((decision, i) => ({ ...decision, order: i + 1 }));
  for (const decision of ordered) at.set(decision.node, [...(at.get(decision.node) || []), decision]);
  const accepted = decisions.filter((decision) => decision.accepted);
  const last = accepted.length ? accepted[accepted.length - 1].node : 0;
  const path = new Set(pathTo(view, last));
  const verdict = (id) => {
    if (path.has(id)) return "kept";
    if (!at.has(id)) return "unreached";
    const parent = view.nodes.get(id).parent;
    return view.isTrie || parent === 0 || path.has(parent) ? "rejected" : "over";
  };
  return { rule, info: ruleInfo(rule), decisions: ordered, changes, residual, next, at, last, path, verdict, kept };
}

/** The test at a node that counts: the one that passed, else the last; null where there was none. */
function decisive(judged, id) {
  const tests = judged.at.get(id) || [];
  return tests.find((test) => test.accepted) || tests[tests.length - 1] || null;
}

/** Node ids from the first drafted token to `id`. */
function pathTo(view, id) {
  const path = [];
  for (let at = id; at; at = view.nodes.get(at).parent) path.push(at);
  return path.reverse();
}

/** The path that the picture puts on top: what was kept, then what was tested, then what was drawn first. */
function spine(view) {
  const path = [];
  for (let kids = view.children.get(0); kids; kids = view.children.get(path[path.length - 1])) {
    path.push(kids.find((id) => view.own.path.has(id)) ?? kids.find((id) => view.own.at.has(id)) ?? kids[0]);
  }
  return path;
}

function lastPieceBefore(trace, index) {
  for (let i = index - 1; i >= 0; i -= 1) {
    const committed = written(trace.steps[i]);
    if (committed.length) return committed[committed.length - 1].piece;
  }
  return trace.prompt.pieces.length ? trace.prompt.pieces[trace.prompt.pieces.length - 1] : "";
}

/** The token that was drawn after the kept ones, with what is known about it; null if the text ended before. */
function drawnToken(step) {
  const committed = step.committed[step.kept];
  if (!committed || committed.origin === "draft") return null;
  const outcome = step.residual ? step.residual.top.find((top) => top.token === committed.token) : null;
  return { ...committed, outcome: outcome || null, extra: step.committed.slice(step.kept + 1) };
}

const rho = (node) => (node.q > 0 ? node.p / node.q : node.p > 0 ? Infinity : 0);

/** Joint ratio r of the path to a node; a node without a branch takes it from the one before. */
function ratio(view, id) {
  if (view.branches.has(id)) return view.branches.get(id).ratio;
  const node = view.nodes.get(id);
  return node ? ratio(view, node.parent) * rho(node) : 1;
}

/** Capped ratio c of the path to a node. */
function capped(view, id) {
  if (view.branches.has(id)) return view.branches.get(id).capped;
  const node = view.nodes.get(id);
  return node ? Math.min(1, capped(view, node.parent) * rho(node)) : 1;
}

/** The parts of a branch that add up to 1, on the draft's side and on the target's. */
function ledger(branch) {
  const overlap = 1 - branch.excess;
  return {
    draft: [
      ["overlap", overlap],
      ["excess", branch.excess],
    ],
    target: [
      ["overlap", overlap],
      ["deficient", branch.deficient],
      ["remainder", 1 - branch.capped],
    ],
  };
}

/** Who drafts for the target, and how many tokens: a draft length, or the levels and their thresholds. */
function draftedBy(setup) {
  if (!setup.thresholds?.length) return `γ ${setup.gamma}`;
  const levels =
    setup.system === "hispec" ? `HiSpec, exits ${setup.exits.join(", ")}` : `stack of ${setup.models.length} models`;
  return `${levels}, T ${setup.thresholds.join(", ")}`;
}

const DIVERGENCES = Object.fromEntries(facts.divergences.map(({ name, formula }) => [name, formula]));
const HUGE = 1e300; // stands for infinity, which a trace cannot hold
const unbounded = (x) => (x >= HUGE ? Infinity : x);

/**
 * The settings of the fuzzy rule in a run, and what it did in a step: D(id) at a drafted token, null if not recorded;
 * near(id): D ≤ T; overruled: the kept tokens that the exact test would have rejected; drift: Σ D over the kept
 * tokens with D ≤ T, and its bound T × kept. Null for a run without settings of the rule.
 */
function fuzzy(view) {
  const { divergence, tolerance, fuzzy_mode: mode, divergence_on: on } = view.trace.setup;
  if (!divergence) return null;
  const values = (view.step.divergences || []).map(unbounded);
  const T = unbounded(tolerance);
  const D = (id) => values[id - 1] ?? null;
  const near = (id) => D(id) !== null && D(id) <= T;
  const kept = view.step.nodes.slice(0, view.step.kept);
  const exact = (node) => Math.min(1, rho(node));
  const overruled = kept.filter((node) => near(node.id) && node.coin >= exact(node)).map((node) => node.id);
  const drift = kept.reduce((sum, { id }) => sum + (near(id) ? D(id) : 0), 0);
  const unit = divergence === "tv" ? "" : " nats";
  const name = DIVERGENCES[divergence] || String(divergence);
  return { T, mode, on, unit, name, divergence, D, near, exact, overruled, drift, bound: T * view.step.kept };
}

/** Steps whose number of kept tokens is not the one that the shadow rule would have kept. */
const differs = (step) => Boolean(step.shadow) && step.shadow.kept !== step.kept;

export {
  readStep,
  ruleInfo,
  fullName,
  decisive,
  pathTo,
  rho,
  ratio,
  capped,
  ledger,
  fuzzy,
  DIVERGENCES,
  draftedBy,
  differs,
  written,
  WRITTEN,
};

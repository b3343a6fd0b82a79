// Reading a trace: who was kept, which tests were made at which token, what rejections changed.
// Pure functions on the parsed JSON of a Trace of version 2; no page.
//
// Words: a node's *branch* is the node with all its possible next tokens; node 0 is the last token before the
// step. ρ = p/q of one token; r the product of ρ along the path; c the same product, cut at 1 on the way.
import { facts, layout, rule as ruleInfo } from "../kit/facts.js";
import { real } from "../kit/format.js";
import { comparison, SETTINGS } from "../rules/tests.js";

/** A run's rule by the name that its verdicts have: several drafts are judged by a rule of their own. */
const ruleOf = ({ rule, draft }) => (draft.drafts > 1 && ruleInfo(rule).recursive) || rule;

const UNTOLD = { decisions: [], changes: [], residual: null, next: null }; // a verdict whose details were not recorded

/** Everything that is asked about one step of a trace. */
function readStep(trace, index) {
  const view = readAlone(trace.steps[index], trace.setup.options);
  return Object.assign(view, { trace, index, rootPiece: lastPieceBefore(trace, index) });
}

const CHAIN = { draft: { drafts: 1, tree: "paths" }, fuzzy: {} };

/** The same about a step without its run: what was tested, kept and drawn. options: of the run, where it is known. */
function readAlone(step, options = CHAIN) {
  const view = { step, options, detail: step.nodes.length > 0 };
  view.nodes = new Map(step.nodes.map((node) => [node.id, node]));
  view.branches = new Map(step.branches.map((branch) => [branch.node, branch]));
  view.children = childrenOf(step.nodes);
  view.depth = depths(step.nodes);
  view.deepest = Math.max(...view.depth.values());
  view.isTrie = (step.paths || []).length > 1 || options.draft.drafts > 1;
  view.own = judge(view, step.verdict || { ...UNTOLD, rule: ruleOf(options), kept: step.kept });
  view.rule = view.own.rule;
  view.shadow = step.shadow ? judge(view, step.shadow) : null;
  view.sameRule = Boolean(view.shadow) && view.shadow.rule === view.rule;
  view.differs = differs(step);
  view.spine = spine(view);
  view.drawn = drawnToken(step, view.own.residual);
  view.decided = view.own.residual ? view.own.residual.node : view.own.last;
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
 * A verdict with what can be asked of it: `at` its tests by node, a list each and in order, for drafts may share a
 * token; `last` and `path` the nodes it keeps; `verdict(id)`.
 */
function judge(view, told) {
  const at = new Map();
  const settings = settingsOf(view.options);
  const decisions = told.decisions.map((made, i) => ({ ...made, order: i + 1, ...comparison(made, settings) }));
  for (const decision of decisions) at.set(decision.node, [...(at.get(decision.node) || []), decision]);
  const last = lastKept(told);
  const path = new Set(pathTo(view, last));
  const verdict = (id) => {
    if (path.has(id)) return "kept";
    if (!at.has(id)) return "unreached";
    const parent = view.nodes.get(id).parent;
    return view.isTrie || parent === 0 || path.has(parent) ? "rejected" : "over";
  };
  return { ...told, info: ruleInfo(told.rule), decisions, at, last, path, verdict };
}

/** The settings that rules of a run judge by, as web/rules takes them. */
const settingsOf = ({ fuzzy, typical, knobs, sampling }) => {
  const { temperature } = sampling ?? {}; // a lesson's step has none
  return { ...SETTINGS, ...fuzzy, ...typical, tolerance: real(fuzzy.tolerance), ...knobs, temperature };
};

/** The value of the one number that a rule has, see `knob` in facts. */
const knobOf = ({ options }, rule) => settingsOf(options)[ruleInfo(rule).knob.option];

/** Whether a rule is lossless with the number that it has here. */
function exactly({ options }, rule) {
  const { lossless, knob } = ruleInfo(rule);
  return lossless || (Boolean(knob) && knob.exact !== null && real(knobOf({ options }, rule)) <= knob.exact);
}

/** What rejections made of the target, in order: each change with `earlier`, those at its place that it builds on. */
function changesOf(judged) {
  const between = (node, from, to) => judged.decisions.slice(from, to).some((decision) => decision.node === node);
  return judged.changes.map((change, i) => {
    const before = judged.changes.slice(0, i).filter(({ node }) => node === change.node);
    // a token that several drafts drew is there once for each; once one was tested, the next starts anew
    return { ...change, earlier: before.filter(({ after }) => !between(change.node, after, change.after)) };
  });
}

/** The last node that a verdict keeps; 0 for none. */
const lastKept = ({ decisions }) => (decisions.findLast((decision) => decision.accepted) || { node: 0 }).node;

/** The test at a node that counts: the one that passed, else the last; null where there was none. */
function decisive(judged, id) {
  const tests = judged.at.get(id) || [];
  return tests.find((test) => test.accepted) || tests[tests.length - 1] || null;
}

const RANK = new Map(facts.rules.map(({ name }, i) => [name, i]));

/** The verdicts that a step shows, in an order that is the same whichever is the run's own: vanilla first. */
function verdicts({ own, shadow, sameRule }) {
  const shown = shadow && !sameRule ? [own, shadow] : [own];
  return shown.sort((a, b) => (RANK.get(a.rule) ?? 0) - (RANK.get(b.rule) ?? 0));
}

/** The coin of a drafted token: the same for every rule. Of a token that no test read, as it was drawn. */
function coinOf(view, id) {
  const made = [view.own, view.shadow].map((judged) => judged && decisive(judged, id)).find(Boolean);
  return made ? made.coin : (view.nodes.get(id).coin ?? null);
}

/** Node ids from the first drafted token to `id`. */
function pathTo(view, id) {
  const path = [];
  for (let at = id; at; at = view.nodes.get(at).parent) path.push(at);
  return path.reverse();
}

/** The target's probability of the whole path to a node. @returns {number} */
const reach = (view, id) => pathTo(view, id).reduce((product, at) => product * view.nodes.get(at).p, 1);

/** The target's layers that a head reads; empty where a model of its own drafted. @returns {number[]} */
const tapsOf = ({ trace }) => trace?.setup.models?.[0].taps ?? []; // the Lab has no models

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
    const { committed } = trace.steps[i];
    if (committed.length) return committed[committed.length - 1].piece;
  }
  return trace.prompt.pieces.length ? trace.prompt.pieces[trace.prompt.pieces.length - 1] : "";
}

/** The token that was drawn after the kept ones, with what is known about it; null if the text ended before. */
function drawnToken(step, residual) {
  const committed = (step.committed || [])[step.kept];
  if (!committed || committed.origin === "draft") return null;
  const outcome = residual ? residual.top.find((top) => top.token === committed.token) : null;
  return { ...committed, outcome: outcome || null, extra: step.committed.slice(step.kept + 1) };
}

const rho = (node) => (node.q > 0 ? node.p / node.q : node.p > 0 ? Infinity : 0);

/** Joint ratio r of the path to a node; a node without a branch takes it from the one before. */
function ratio(view, id) {
  if (view.branches.has(id)) return real(view.branches.get(id).ratio);
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

/** Whether the text itself is the draft's source (n-grams), and no model. */
const COPIERS = new Set(facts.proposers.filter((one) => one.copies).map(({ name }) => name));
const copies = ({ draft }) => COPIERS.has(draft.proposer);

/** How long drafts are: a number, or a few where each chooses its length. */
const usualLength = ({ gamma }) => (typeof gamma === "number" ? gamma : 4);

/** Who drafts for the target, and how many tokens: a draft length, or the levels and their thresholds. */
function draftedBy({ models, options: { system, draft, levels } }) {
  if (copies({ draft })) return `γ ${draft.gamma}, copied from the text`;
  if (!levels.thresholds.length) return `γ ${draft.gamma}`;
  const who = system === "hispec" ? `HiSpec, exits ${levels.exits.join(", ")}` : `stack of ${models.length} models`;
  return `${who}, T ${levels.thresholds.join(", ")}`;
}

/** Several drafts in words; "" for one. */
const draftsWords = ({ drafts, tree }) => (drafts > 1 ? `${drafts} drafts, ${layout(tree).words || tree}` : "");

const DIVERGENCES = Object.fromEntries(facts.divergences.map(({ name, formula }) => [name, formula]));

/**
 * The settings of the fuzzy rule where a step was judged by it, and what it did there: D(id) at a drafted token, null
 * if not recorded; near(id): D ≤ T; overruled: the kept tokens that the exact test would have rejected; drift: Σ D over
 * the kept tokens with D ≤ T, and its bound T × kept. Null where neither rule is that.
 */
function fuzzy(view) {
  if (![view.own, view.shadow].some((judged) => judged && judged.info.by_divergence)) return null;
  const { divergence, tolerance, mode, on } = view.options.fuzzy;
  const values = view.step.divergences.map(real);
  const T = real(tolerance);
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

/** What became of a token: its sign, and the word for it. */
const VERDICTS = {
  kept: { icon: "✓", word: "kept" },
  rejected: { icon: "✕", word: "rejected" },
  over: { icon: "«", word: "stepped over" },
  unreached: { icon: "–", word: "not reached" },
  correction: { icon: "▲", word: "correction" },
  bonus: { icon: "◆", word: "bonus" },
  plain: { icon: "◆", word: "from the target" },
  candidate: { icon: "", word: "not drafted" },
  dropped: { icon: "", word: "dropped by the re-ranking" },
};

/** Steps whose number of kept tokens is not the one that the shadow rule would have kept. */
const differs = (step) => Boolean(step.shadow) && step.shadow.kept !== step.kept;

export {
  capped,
  changesOf,
  coinOf,
  copies,
  decisive,
  differs,
  DIVERGENCES,
  draftedBy,
  draftsWords,
  exactly,
  fuzzy,
  judge,
  knobOf,
  lastKept,
  ledger,
  pathTo,
  ratio,
  reach,
  readAlone,
  readStep,
  rho,
  ruleInfo,
  ruleOf,
  settingsOf,
  tapsOf,
  usualLength,
  VERDICTS,
  verdicts,
};

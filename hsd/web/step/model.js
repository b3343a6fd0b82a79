// Reading a trace: who was kept, which tests were made at which token, what rejections changed.
// Pure functions on the parsed JSON of a Trace of version 2; no page. types.d.ts has what they
// return.
//
// Words: a node's *branch* is the node with all its possible next tokens; node 0 is the last token
// before the step. ρ = p/q of one token; r the product of ρ along the path; c the same product, cut
// at 1 on the way.
import { divergence as divergenceOf, facts, rule as ruleInfo } from "../kit/facts.js";
import { real } from "../kit/format.js";
import { comparison, SETTINGS } from "../rules/tests.js";

/**
 * A run's rule by the name that its verdicts have: several drafts are judged by a rule of their
 * own.
 * @param {StepOptions} options
 */
function ruleOf({ rule = "", draft }) {
  const recursive = draft.drafts > 1 && ruleInfo(rule).recursive;
  return recursive || rule;
}

/**
 * What is known of a rule in a run.
 * @type {(options: Pick<StepOptions, "rule" | "own">, rule: string) => RuleInfo}
 */
function infoOf({ rule: name, own }, rule) {
  const info = ruleInfo(rule);
  if (!own || rule !== name) return info;
  const lossless = own.lossless === true;
  const judged = own.lossless === null ? "not judged" : "not lossless";
  return { ...info, own, lossless, mark: lossless ? "judged lossless" : judged };
}

/** A step of a run. @type {(trace: Trace, index: number) => View} */
function readStep(trace, index) {
  const before = trace.steps.slice(0, index).findLast(({ committed }) => committed.length);
  const lastPiece = before?.committed.at(-1)?.piece ?? trace.prompt.pieces.at(-1);
  return {
    ...readAlone(trace.steps[index], trace.setup.options),
    trace,
    index,
    rootPiece: lastPiece ?? "",
  };
}

/** @type {StepOptions} */
const CHAIN = { draft: { drafts: 1, tree: "paths" }, fuzzy: {} };

/**
 * A step without its run, such as a lesson's.
 * @param {Step} step
 * @param {StepOptions} [options]
 * @returns {Omit<StepView, "original">}
 */
function readAlone(step, options = CHAIN) {
  const nodes = /** @type {ByNode<TreeNode>} */ (
    new Map(step.nodes.map((node) => [node.id, node]))
  );
  const branches = new Map(step.branches.map((branch) => [branch.node, branch]));
  const children = /** @type {Map<number, number[]>} */ (new Map());
  const depth = new Map([[0, 0]]);
  for (const { id, parent } of step.nodes) {
    children.set(parent, [...(children.get(parent) ?? []), id]);
    depth.set(id, (depth.get(parent) ?? 0) + 1);
  }
  const isTrie = (step.paths ?? []).length > 1 || options.draft.drafts > 1;
  // of a step whose details were not recorded
  const bare = {
    decisions: [],
    changes: [],
    residual: null,
    next: null,
  };
  const given = step.verdict ?? {
    ...bare,
    rule: ruleOf(options),
    kept: step.kept,
  };
  const own = judge({ nodes, options, isTrie }, given);
  const shadow = step.shadow && judge({ nodes, options, isTrie }, step.shadow);
  return {
    step,
    options,
    nodes,
    branches,
    children,
    isTrie,
    own,
    shadow,
    rule: own.rule,
    depth: /** @type {ByNode<number>} */ (depth),
    deepest: Math.max(...depth.values()),
    detail: step.nodes.length > 0,
    sameRule: shadow?.rule === own.rule,
    spine: spine(children, own),
    drawn: drawnToken(step, own.residual),
    decided: own.residual?.node ?? own.last,
  };
}

/**
 * A verdict with its tests by node, the nodes that it keeps, and what became of each token.
 * @type {(view: Pick<StepView, "nodes" | "options" | "isTrie">, given: GivenVerdict) => Judged}
 */
function judge(view, given) {
  const settings = settingsOf(view.options);
  const info = infoOf(view.options, given.rule);
  const decisions = given.decisions.map((test, i) => {
    const read = {
      ...test,
      order: i + 1,
      ...comparison(test, settings),
    };
    return /** @type {ReadTest} */ (read);
  });
  const at = Map.groupBy(decisions, ({ node }) => node);
  const passed = decisions.findLast(({ accepted }) => accepted)?.node ?? 0;
  const last = info.own && view.nodes.size ? given.kept : passed;
  const path = new Set(pathTo(view, last));
  /** @type {Judged["verdict"]} */
  const verdict = (id) => {
    if (path.has(id)) return "kept";
    if (info.own) return "rejected";
    if (!at.has(id)) return "unreached";
    const { parent } = view.nodes.get(id);
    return view.isTrie || parent === 0 || path.has(parent) ? "rejected" : "over";
  };
  return {
    ...given,
    info,
    decisions,
    at,
    last,
    path,
    verdict,
  };
}

/**
 * The settings that rules of a run judge by, as web/rules takes them.
 * @param {StepOptions} options
 * @returns {Settings}
 */
function settingsOf({ fuzzy, typical, knobs, sampling }) {
  return {
    ...SETTINGS,
    ...fuzzy,
    ...typical,
    tolerance: real(fuzzy.tolerance),
    ...knobs,
    temperature: sampling?.temperature,
  };
}

/**
 * The value of the one number that a rule has, see `knob` in facts.
 * @type {(run: {options: StepOptions}, rule: string) => number}
 */
function knobOf({ options }, rule) {
  const { knob } = ruleInfo(rule);
  return settingsOf(options)[knob?.option ?? ""];
}

/**
 * Whether a rule is lossless with the settings of a run.
 * @type {(run: {options: StepOptions}, rule: string) => boolean}
 */
function exactly(run, rule) {
  const { lossless, knob } = infoOf(run.options, rule);
  if (lossless) return true;
  if (!knob || knob.exact === null) return false;
  return real(knobOf(run, rule)) <= knob.exact;
}

/**
 * What rejections made of the target, in order: each with the changes at its place that it builds
 * on.
 * @param {Judged} judged
 * @returns {ReadChange[]}
 */
function changesOf({ changes, decisions }) {
  return changes.map((change, i) => {
    const isThere = (/** @type {{node: number}} */ { node }) => node === change.node;
    const before = changes.slice(0, i).filter(isThere);
    // a token that several drafts drew is there once for each; once one was tested, the next starts
    // anew
    const test = decisions.slice(0, change.after).findLast(isThere);
    const tested = test?.order ?? 0;
    return { ...change, earlier: before.filter(({ after }) => tested <= after) };
  });
}

/**
 * The test at a node that counts: the one that passed, else the last; null where there was none.
 * @type {(judged: Judged, id: number) => ReadTest | null}
 */
function decisive({ at }, id) {
  const tests = at.get(id) ?? [];
  return tests.find(({ accepted }) => accepted) ?? tests.at(-1) ?? null;
}

/**
 * The verdicts that a step shows, in an order that is the same whichever is the run's own: vanilla
 * first.
 * @param {StepView} view
 */
function verdicts({ own, shadow, sameRule }) {
  const orderOf = (/** @type {Judged} */ { info }) => info.order ?? (info.own ? Infinity : 0);
  const shown = shadow && !sameRule ? [own, shadow] : [own];
  return shown.sort((a, b) => orderOf(a) - orderOf(b));
}

/**
 * The coin of a drafted token: the same for every rule. Of a token that no test read, as it was
 * drawn.
 * @type {(view: StepView, id: number) => number}
 */
function coinOf({ own, shadow, nodes }, id) {
  const test = decisive(own, id) ?? (shadow && decisive(shadow, id));
  return (test ?? nodes.get(id)).coin;
}

/**
 * Node ids from the first drafted token to `id`.
 * @type {(view: Pick<StepView, "nodes">, id: number) => number[]}
 */
function pathTo(view, id) {
  if (!id) return [];
  const { parent } = view.nodes.get(id);
  return [...pathTo(view, parent), id];
}

/**
 * The tokens, as the vocabulary numbers them, that were drafted after a node.
 * @type {(view: StepView, id: number) => number[]}
 */
function draftedAfter({ children, nodes }, id) {
  const ids = children.get(id) ?? [];
  return ids.map((child) => nodes.get(child).token);
}

/**
 * The target's probability of the whole path to a node.
 * @type {(view: StepView, id: number) => number}
 */
const reach = (view, id) =>
  pathTo(view, id).reduce((product, at) => product * view.nodes.get(at).p, 1);

/**
 * `reach` summed at each depth: of a chosen tree, the chance to keep so many at least.
 * @type {(view: StepView) => number[]}
 */
function worth(view) {
  const sums = Array(view.deepest).fill(0);
  for (const id of view.nodes.keys()) sums[view.depth.get(id) - 1] += reach(view, id);
  return sums;
}

/**
 * The target's layers that a head reads; empty where a model of its own drafted.
 * @param {View} view
 * @returns {number[]}
 */
const tapsOf = ({ trace }) => trace?.setup.models?.[0].taps ?? []; // the Lab has no models

/**
 * The path in the top row: at each place the kept token, else one that was tested, else the first
 * that was drawn.
 * @type {(children: StepView["children"], own: Judged) => number[]}
 */
function spine(children, { path, at }) {
  const ids = [];
  let kids = children.get(0);
  while (kids) {
    const kept = kids.find((id) => path.has(id));
    const next = kept ?? kids.find((id) => at.has(id)) ?? kids[0];
    ids.push(next);
    kids = children.get(next);
  }
  return ids;
}

/**
 * The token that was drawn after the kept ones; null if the text ended before.
 * @type {(step: Step, residual: Residual | null) => DrawnToken | null}
 */
function drawnToken({ committed = [], kept }, residual) {
  const token = committed[kept];
  if (!token || token.origin === "draft") return null;
  const outcome = residual?.top.find((top) => top.token === token.token) ?? null;
  return {
    ...token,
    outcome,
    extra: committed.slice(kept + 1),
  };
}

/**
 * The ratio ρ = p/q of a token; Infinity where only q is 0, 0 where both are.
 * @param {{p: number, q: number}} node
 */
function rho({ p, q }) {
  if (q > 0) return p / q;
  return p > 0 ? Infinity : 0;
}

/**
 * Joint ratio r of the path to a node; a node without a branch takes it from the one before.
 * @type {(view: StepView, id: number) => number}
 */
function ratio(view, id) {
  const branch = view.branches.get(id);
  const node = view.nodes.get(id);
  if (branch) return real(branch.ratio);
  return node ? ratio(view, node.parent) * rho(node) : 1;
}

/** Capped ratio c of the path to a node. @type {(view: StepView, id: number) => number} */
function capped(view, id) {
  const branch = view.branches.get(id);
  const node = view.nodes.get(id);
  if (branch) return branch.capped;
  return node ? Math.min(1, capped(view, node.parent) * rho(node)) : 1;
}

/**
 * Whether the text itself is the draft's source (n-grams), and no model.
 * @param {{draft: {proposer?: string}}} options
 */
const copies = ({ draft }) =>
  facts.proposers.some(({ name, copies }) => copies && name === draft.proposer);

/** How long drafts are: a number, or a few where each chooses its length. @param {Draft} draft */
const usualLength = ({ gamma }) => (typeof gamma === "number" ? gamma : 4);

/** The divergence of the fuzzy rule as a formula. @param {Partial<Fuzzy>} fuzzy */
const divergenceName = ({ divergence = "" }) => divergenceOf(divergence).formula ?? divergence;

/**
 * The settings of the fuzzy rule where a step was judged by it, and what it did there; null
 * elsewhere.
 * @param {StepView} view
 * @returns {FuzzyStep | null}
 */
function fuzzy(view) {
  if (!view.own.info.by_divergence && !view.shadow?.info.by_divergence) return null;
  const { divergence, tolerance, mode, on } = /** @type {Fuzzy} */ (view.options.fuzzy);
  const values = view.step.divergences.map(real);
  const T = real(tolerance);
  const near = (/** @type {number} */ id) => id <= values.length && values[id - 1] <= T;
  const exact = (/** @type {Pick<TreeNode, "id" | "p" | "q">} */ node) => {
    const test = view.isTrie ? decisive(view.own, node.id) : null;
    return test?.threshold ?? Math.min(1, rho(node));
  };
  const kept = view.step.nodes.filter(({ id }) => view.own.path.has(id));
  const passed = kept.filter(({ id }) => near(id));
  return {
    T,
    mode,
    on,
    divergence,
    name: divergenceName(view.options.fuzzy),
    unit: divergence === "tv" ? "" : " nats",
    D: (id) => values[id - 1] ?? null,
    near,
    exact,
    overruled: passed.filter((node) => node.coin >= exact(node)).map(({ id }) => id),
    drift: passed.reduce((sum, { id }) => sum + values[id - 1], 0),
    bound: T * view.step.kept,
  };
}

/**
 * What became of a token: its sign, and the word for it.
 * @type {Record<string, {icon: string, word: string}>}
 */
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

/**
 * Whether the number of kept tokens is not the one that the shadow rule would have kept.
 * @param {Step} step
 */
const differs = ({ kept, shadow }) => shadow !== null && shadow.kept !== kept;

/**
 * The place of the step in which two rules part most, on average over all coins, whichever keeps
 * more; null where none parts them.
 * @param {Step[]} steps
 */
function mostApart(steps) {
  const gaps = steps.map(({ verdict, shadow, expected_kept: means }) => {
    const own = means[verdict?.rule ?? ""];
    const beside = means[shadow?.rule ?? ""];
    return own === undefined || beside === undefined ? 0 : Math.abs(own - beside);
  });
  const widest = Math.max(0, ...gaps);
  return widest > 1e-6 ? gaps.indexOf(widest) : null;
}

export {
  capped,
  changesOf,
  coinOf,
  copies,
  decisive,
  differs,
  divergenceName,
  draftedAfter,
  exactly,
  fuzzy,
  infoOf,
  judge,
  knobOf,
  mostApart,
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
  worth,
};

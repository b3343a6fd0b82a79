// Reading a trace: who was kept, what each test compared, and the numbers behind each threshold.
// Pure functions on the parsed JSON of a Trace; no page. The formulas repeat those of hsd/verify/rules.py.
//
// Words: a node's *branch* is the node with all its possible next tokens; node 0 is the last token before the
// step. ρ = p/q of one token; r the product of ρ along the path; c the same product, cut at 1 on the way.
(function (hsd) {
  "use strict";

  const RULES = {
    "tokenwise": { name: "vanilla", title: "Vanilla, token by token", inner: null, end: null },
    "blockwise": { name: "block verification", title: "Block verification", inner: "share", end: "capped" },
    "hsd": { name: "HSD", title: "HSD, hierarchical", inner: "share", end: "capped" },
    "hsd-released": { name: "HSD as released", title: "HSD as released", inner: "share", end: "uncapped" },
    "naive-hsd": { name: "naive HSD", title: "Naive HSD", inner: "naive", end: "uncapped" },
  };

  const ruleInfo = (name) => RULES[name] || { name: String(name), title: String(name), inner: null, end: null };

  /** Everything the panels ask about one step. */
  function readStep(trace, index) {
    const step = trace.steps[index];
    const view = { trace, step, index, rule: trace.setup.rule, detail: step.nodes.length > 0 };
    view.nodes = new Map(step.nodes.map((node) => [node.id, node]));
    view.branches = new Map(step.branches.map((branch) => [branch.node, branch]));
    view.children = childrenOf(step.nodes);
    view.depth = depths(step.nodes);
    view.own = judge(view, step.decisions, trace.setup.rule, step.kept);
    view.shadow = step.shadow ? judge(view, step.shadow.decisions, step.shadow.rule, step.shadow.kept) : null;
    view.sameRule = Boolean(step.shadow) && step.shadow.rule === trace.setup.rule;
    view.differs = Boolean(step.shadow) && step.shadow.kept !== step.kept;
    view.spine = spine(view);
    view.isChain = step.nodes.every((node) => node.parent === node.id - 1);
    view.rootPiece = lastPieceBefore(trace, index);
    view.drawn = drawnToken(step);
    view.decided = step.residual ? step.residual.node : view.own.last;
    return view;
  }

  function childrenOf(nodes) {
    const children = new Map();
    for (const node of nodes) children.set(node.parent, [...(children.get(node.parent) || []), node.id]);
    return children;
  }

  function depths(nodes) {
    const depth = new Map([[0, 0]]);
    for (const node of nodes) depth.set(node.id, depth.get(node.parent) + 1);
    return depth;
  }

  /** One rule's decisions of a step: `at` by node, `path` the nodes it keeps, `verdict(id)`. */
  function judge(view, decisions, rule, kept) {
    const at = new Map(decisions.map((decision, i) => [decision.node, { ...decision, order: i + 1 }]));
    const accepted = decisions.filter((decision) => decision.accepted);
    const last = accepted.length ? accepted[accepted.length - 1].node : 0;
    const path = new Set(pathTo(view, last));
    const verdict = (id) => {
      if (path.has(id)) return "kept";
      if (!at.has(id)) return "unreached";
      const parent = view.nodes.get(id).parent;
      return parent === 0 || path.has(parent) ? "rejected" : "over";
    };
    return { rule, info: ruleInfo(rule), decisions, at, last, path, verdict, kept };
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
      const committed = trace.steps[i].committed;
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

  function testAt(view, id, rule) {
    const decision = view.own.rule === rule ? view.own.at.get(id) : null;
    if (decision) return decision.test;
    if (rule === "tokenwise") return "token";
    return view.children.has(id) ? "prefix" : "draft";
  }

  /**
   * The threshold of a rule at a node, computed from the step's numbers, and the numbers it was computed from.
   * Null for a rule, or a place, whose formula is not known here.
   */
  function arithmetic(view, id, rule, test = testAt(view, id, rule)) {
    const node = view.nodes.get(id);
    if (!node || !RULES[rule]) return null;
    if (test === "token") return { form: "token", p: node.p, q: node.q, value: Math.min(1, rho(node)) };
    if (test === "draft") return wholeDraft(view, node, RULES[rule].end);
    const branch = view.branches.get(id);
    return branch ? innerTest(view, branch, RULES[rule].inner) : null;
  }

  function wholeDraft(view, node, end) {
    if (!end) return null;
    const before = end === "capped" ? capped(view, node.parent) : ratio(view, node.parent);
    return { form: end, before, p: node.p, q: node.q, value: Math.min(1, before * rho(node)) };
  }

  function innerTest(view, branch, inner) {
    if (inner === "share") {
      const { deficient: S, excess: E, capped: c } = branch;
      return { form: "share", S, E, c, value: E > 0 ? Math.min(1, S / E) : 1 };
    }
    return inner === "naive" ? naiveTest(view, branch) : null;
  }

  /** D(p,q)/max(D(p,q), D(q,p)), both with the uncapped r; D(q,p) = D(p,q) + 1 − r. */
  function naiveTest(view, branch) {
    const r = branch.ratio;
    if (r >= 1) return { form: "naive", r, D: null, value: 1 };
    const recorded = view.own.at.get(branch.node);
    const D = r === branch.capped ? branch.deficient : uncappedDeficient(branch, recorded);
    if (D === null) return null;
    const whole = D + 1 - r;
    return { form: "naive", r, D, value: whole > 0 ? D / whole : 1 };
  }

  /** Σ max(r p − q, 0): summed where every token is recorded, else worked back from the recorded threshold. */
  function uncappedDeficient(branch, recorded) {
    const sum = branch.top.reduce((total, top) => total + Math.max(branch.ratio * top.p - top.q, 0), 0);
    if (branch.rest_p < 1e-6) return sum;
    return recorded && recorded.threshold < 1
      ? (recorded.threshold * (1 - branch.ratio)) / (1 - recorded.threshold)
      : null;
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

  /** Steps whose number of kept tokens is not the one that the shadow rule would have kept. */
  const differs = (step) => Boolean(step.shadow) && step.shadow.kept !== step.kept;

  hsd.model = { readStep, ruleInfo, pathTo, rho, ratio, capped, arithmetic, ledger, differs };
})(window.hsdPlayer);

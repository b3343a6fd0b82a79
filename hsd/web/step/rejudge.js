// A draft judged once more in the page: by another rule, or with other coins. Along a single draft only: in a tree what
// a test compares depends on all tests before it. Pure.
import { facts } from "../kit/facts.js";
import { coinOf, judge, ruleInfo } from "./model.js";
import { thresholdAt, unmade } from "./arithmetic.js";

const CHAINS = facts.rules.filter(({ single }) => single).map(({ name }) => name);
const WHOLE = ["agreement", "typical"]; // rules whose corrections leave q out

/** The tests of a rule at tokens 1 … γ, made or not: [{node, threshold, grounds}], null where the step does not tell. */
function thresholds(view, rule) {
  const asked = { rule, info: ruleInfo(rule) };
  const known = [view.own, view.shadow].find((judged) => judged && judged.rule === rule);
  const made = (id) => (known && known.decisions.find((decision) => decision.node === id)) || null;
  return view.step.nodes.map(({ id }) => {
    const test = made(id);
    const threshold = thresholdAt(view, id, asked, test);
    return { node: id, threshold, grounds: test ? test.grounds : unmade(view, id, asked) };
  });
}

/** The rules that the page can judge this draft by; of a tree, and of a step without details, none. */
function judges(view) {
  if (view.isTrie || !view.detail) return [];
  const rules = new Set([view.rule, view.shadow && view.shadow.rule, ...CHAINS]);
  return [...rules].filter((rule) => rule && thresholds(view, rule).every(({ threshold }) => threshold !== null));
}

/** What a rule keeps of the draft: a verdict as a trace has it, without what was drawn after it. */
function verdict(view, rule, coins) {
  const { forward } = ruleInfo(rule);
  const tests = thresholds(view, rule).map(({ node, threshold, grounds }) => {
    const coin = coins.get(node) ?? coinOf(view, node);
    const whole = !forward && !view.children.has(node);
    const test = forward ? "token" : whole ? "draft" : "prefix";
    return { node, coin, threshold, grounds, test, accepted: coin < threshold };
  });
  if (!forward) tests.reverse();
  const end = tests.findIndex(({ accepted }) => accepted !== forward);
  const decisions = end < 0 ? tests : tests.slice(0, end + 1);
  const last = decisions.findLast(({ accepted }) => accepted);
  return { rule, kept: last ? view.depth.get(last.node) : 0, decisions, changes: [], residual: null, next: null };
}

/**
 * The view with both verdicts as they would be if the run's rule were `rule` and coins fell as in `coins` (node → coin).
 * A verdict that comes out as recorded keeps what was drawn after it.
 */
function again(view, { rule, coins }) {
  const one = (judged, by) => {
    const told = verdict(view, by, coins);
    const same = by === judged.rule && told.kept === judged.kept;
    return judge(view, same ? { ...told, residual: judged.residual, next: judged.next } : told);
  };
  const own = one(view.own, rule || view.rule);
  const shadow = view.shadow && one(view.shadow, view.shadow.rule);
  const sameRule = Boolean(shadow) && shadow.rule === own.rule;
  const same = own.rule === view.rule && own.kept === view.own.kept;
  return { ...view, own, shadow, sameRule, rule: own.rule, drawn: same ? view.drawn : null, original: view };
}

/** The chances that 0 … γ tokens are kept, over all coins; null where the step does not tell. */
function chances(view, rule) {
  const known = (view.step.kept_law || {})[rule];
  if (known) return known;
  const list = thresholds(view, rule).map(({ threshold }) => threshold);
  if (list.includes(null)) return null;
  const out = new Array(list.length + 1).fill(0);
  let reached = 1;
  const { forward } = ruleInfo(rule);
  for (const i of forward ? list.keys() : [...list.keys()].reverse()) {
    out[forward ? i : i + 1] = reached * (forward ? 1 - list[i] : list[i]);
    reached *= forward ? list[i] : 1 - list[i];
  }
  out[forward ? list.length : 0] = reached;
  return out;
}

/**
 * The tokens that would likely follow, where a rule kept other tokens than in the run: of the branch's listed tokens
 * those that the draft gave too little of, the largest first: [{piece, origin}]. Empty after the whole draft.
 */
function likely(view, judged) {
  const branch = view.branches.get(judged.last);
  if (!branch || judged.kept === view.step.drafted) return [];
  const weight = judged.info.forward ? 1 : branch.capped;
  const missing = ({ p, q }) => weight * p - (WHOLE.includes(judged.rule) ? 0 : q);
  const rejected = view.children.get(judged.last).map((id) => view.nodes.get(id).token);
  const left = branch.top.filter(
    (top) => missing(top) > 0 && !(judged.rule === "agreement" && rejected.includes(top.token)),
  );
  return left.sort((a, b) => missing(b) - missing(a)).map(({ piece }) => ({ piece, origin: "correction" }));
}

export { again, chances, judges, likely };

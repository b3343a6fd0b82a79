// The numbers behind a threshold: recorded with the test where rejections may have changed them (trees), else computed
// from the step. Pure. The formulas repeat those of hsd/rules/chain.py, fuzzy.py and tree.py.
import { capped, decisive, fuzzy, ratio, rho, ruleInfo } from "./model.js";

// rule → [form of the test of a part of the draft, ratio that the whole draft is tested with]
const FORMS = {
  "blockwise": ["share", "capped"],
  "hsd": ["share", "capped"],
  "hsd-released": ["share", "uncapped"],
  "naive-hsd": ["naive", "uncapped"],
};

/**
 * The threshold of a rule at a node and the numbers it is computed from: of the test `decision` if given, else of the
 * test that would end the draft there. Null for a rule, or a place, whose formula is not known here.
 */
function arithmetic(view, id, rule, test = testAt(view, id, rule), decision = null) {
  const node = view.nodes.get(id);
  if (!node) return null;
  if (decision && decision.grounds) return fromGrounds(view, node, decision.grounds);
  if (rule === "fuzzy") return fuzzyTest(view, node, decision);
  if (view.isTrie) return null; // what a test not made would have compared depends on all tests before it
  if (test === "token") return { form: "token", p: node.p, q: node.q, value: Math.min(1, rho(node)) };
  if (test === "draft") return wholeDraft(view, node, (FORMS[rule] || [])[1]);
  const branch = view.branches.get(id);
  return branch ? innerTest(view, branch, (FORMS[rule] || [])[0], decision) : null;
}

function testAt(view, id, rule) {
  const judged = [view.own, view.shadow].find((one) => one && one.rule === rule);
  const made = judged ? decisive(judged, id) : null;
  if (made) return made.test;
  if (ruleInfo(rule).forward) return "token";
  return view.children.has(id) ? "prefix" : "draft";
}

/**
 * Near (D ≤ T) a token passes whatever it is; elsewhere the exact test is made, or none. Where D was not recorded, as
 * for the rule that a run is compared with, the threshold tells which it was.
 */
function fuzzyTest(view, node, decision) {
  const settings = fuzzy(view);
  const made = decision || (view.shadow && view.shadow.rule === "fuzzy" ? decisive(view.shadow, node.id) : null);
  if (!settings) return null;
  const { T, mode } = settings;
  const D = settings.D(node.id);
  if (D === null && !made) return null;
  const exact = settings.exact(node);
  const only = mode === "divergence-only";
  const near = D === null ? made.threshold === 1 && (only || exact < 1) : D <= T;
  if (near) return { form: "near", D, T, exact, only, value: 1 };
  if (only) return { form: "far", D, T, value: 0 };
  return { form: D === null ? "token" : "beyond", D, T, p: node.p, q: node.q, exact, value: exact };
}

const same = (a, b) => Math.abs(a - b) <= 1e-6 * Math.max(Math.abs(a), Math.abs(b));

/** Recorded numbers; `changed` names those that are no longer the step's first ones. */
function fromGrounds(view, node, { form, p, q, before, mass }) {
  const changed = { p: !same(p, node.p), q: !same(q, node.q) };
  if (form === "token") return { form, p, q, changed, value: q > 0 ? Math.min(1, p / q) : Number(p > 0) };
  if (form === "chosen") return { form, p, changed: { p: changed.p }, value: p };
  if (form === "capped") {
    changed.c = !same(before, capped(view, node.parent));
    return { form, before, p, q, changed, value: q > 0 ? Math.min(1, (before * p) / q) : Number(p > 0) };
  }
  const branch = view.branches.get(node.id);
  const E = mass + (1 - before);
  const now = { c: !same(before, capped(view, node.id)), S: Boolean(branch) && !same(mass, branch.deficient) };
  return { form: "share", S: mass, E, c: before, changed: now, value: E > 0 ? mass / E : 1 };
}

function wholeDraft(view, node, end) {
  if (!end) return null;
  const before = end === "capped" ? capped(view, node.parent) : ratio(view, node.parent);
  return { form: end, before, p: node.p, q: node.q, value: Math.min(1, before * rho(node)) };
}

function innerTest(view, branch, inner, decision) {
  if (inner === "share") {
    const { deficient: S, excess: E, capped: c } = branch;
    return { form: "share", S, E, c, value: E > 0 ? Math.min(1, S / E) : 1 };
  }
  return inner === "naive" ? naiveTest(view, branch, decision) : null;
}

/** D(p,q)/max(D(p,q), D(q,p)), both with the uncapped r; D(q,p) = D(p,q) + 1 − r. */
function naiveTest(view, branch, decision) {
  const r = branch.ratio;
  if (r >= 1) return { form: "naive", r, D: null, value: 1 };
  const D = r === branch.capped ? branch.deficient : uncappedDeficient(branch, decision);
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

export { FORMS, arithmetic };

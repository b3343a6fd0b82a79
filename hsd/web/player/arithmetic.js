// The numbers behind a threshold, and the threshold that they give: recorded with every test that was made, and worked
// out from the step along a single draft where none was. Pure. What the forms are is told in hsd/trace/verdict.py.
import { real } from "../kit/format.js";
import { capped, fuzzy, ratio, rho } from "./model.js";

const same = (a, b) => Math.abs(a - b) <= 1e-6 * Math.max(Math.abs(a), Math.abs(b));
const share = (part, whole) => (whole > 0 ? Math.min(1, part / whole) : 1);

/** The threshold that these numbers give. */
function thresholdOf({ form, p, q, before, mass }) {
  const scaled = (factor) => (q > 0 ? Math.min(1, (factor * p) / q) : Number(p > 0));
  return {
    token: () => scaled(1),
    beyond: () => scaled(1),
    capped: () => scaled(before),
    ratio: () => scaled(before),
    share: () => share(mass, mass + 1 - before),
    naive: () => share(mass, Math.max(mass, mass + 1 - before)),
    chosen: () => p,
    near: () => 1,
    far: () => 0,
  }[form]();
}

/**
 * The grounds of a test with their value, and what a formula needs besides: T, and exact, the threshold of the exact
 * test, of the fuzzy rule; in a tree `changed`: which of the numbers are no longer the step's first ones.
 */
function groundsOf(view, { node: id, grounds }) {
  const node = view.nodes.get(id);
  const { form, p, q, divergence } = grounds;
  const numbers = { form, p, q, before: real(grounds.before), mass: real(grounds.mass), D: real(divergence) };
  const T = real(view.options.fuzzy.tolerance);
  const changed = view.isTrie ? changes(view, node, numbers) : null;
  return { ...numbers, T, exact: Math.min(1, rho(node)), changed, value: thresholdOf(numbers) };
}

function changes(view, node, { form, p, q, before, mass }) {
  const path = form === "share" ? node.id : node.parent;
  const branch = view.branches.get(node.id);
  return {
    p: !same(p, node.p),
    q: !same(q, node.q),
    c: !same(before, capped(view, path)),
    S: Boolean(branch) && !same(mass, branch.deficient),
  };
}

const WHOLE = { "blockwise": "capped", "hsd": "capped", "hsd-released": "ratio", "naive-hsd": "ratio" };
const PART = { "blockwise": "share", "hsd": "share", "hsd-released": "share", "naive-hsd": "naive" };

/** The numbers that a test which was not made would have compared; null where the step does not tell. */
function unmade(view, id, { rule, info }) {
  if (view.isTrie) return null; // they depend on all tests before it
  const node = view.nodes.get(id);
  if (rule === "fuzzy") return fuzzyUnmade(fuzzy(view), node);
  if (info.forward) return { ...node, form: rule === "agreement" ? "chosen" : "token" };
  if (!view.children.has(id)) {
    const before = (WHOLE[rule] === "ratio" ? ratio : capped)(view, node.parent);
    return WHOLE[rule] ? { ...node, form: WHOLE[rule], before } : null;
  }
  const branch = view.branches.get(id);
  if (!branch || !PART[rule]) return null;
  if (PART[rule] === "share") return { ...node, form: "share", before: branch.capped, mass: branch.deficient };
  const r = real(branch.ratio);
  return r === branch.capped || r >= 1 ? { ...node, form: "naive", before: r, mass: branch.deficient } : null;
}

function fuzzyUnmade({ mode, D, near }, node) {
  if (D(node.id) === null) return null;
  return { ...node, form: near(node.id) ? "near" : mode === "exact-first" ? "beyond" : "far" };
}

/** The threshold at a node: of the test there that counts, else of the one that was not made; null if not known. */
function thresholdAt(view, id, judged, made) {
  if (made) return made.threshold;
  const grounds = unmade(view, id, judged);
  return quotient(view, id, judged) ?? (grounds && thresholdOf(grounds));
}

/** Deficient over excess mass of a branch, where that is the threshold of the test that would end the draft there. */
function quotient(view, id, judged) {
  const branch = view.branches.get(id);
  const asked = id && branch && !view.isTrie && PART[judged.rule] === "share" && view.children.has(id);
  return asked ? share(branch.deficient, branch.excess) : null;
}

export { groundsOf, quotient, thresholdAt, thresholdOf, unmade };

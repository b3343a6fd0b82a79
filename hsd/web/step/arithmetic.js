// The numbers behind a threshold, and the threshold that they give: recorded with every test that was made, and worked
// out from the step along a single draft where none was. Pure. What the forms are is told in hsd/trace/verdict.py.
import { real } from "../kit/format.js";
import { barOf, capped, comparison, fuzzy, knobOf, ratio, rho } from "./model.js";

const same = (a, b) => Math.abs(a - b) <= 1e-6 * Math.max(Math.abs(a), Math.abs(b));
const share = (part, whole) => (whole > 0 ? Math.min(1, part / whole) : 1);

/** The threshold that these numbers give. */
function thresholdOf({ form, p, q, before, mass, weight }) {
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
    mixed: () => weight + (1 - weight) * scaled(1),
    likely: () => 1,
    unlikely: () => 0,
  }[form]();
}

/**
 * The grounds of a test with their value, and what a formula needs besides: T, and exact, the threshold of the exact
 * test, of the fuzzy rule; H, epsilon and the bar of typical acceptance; in a tree `changed`: which of the numbers are no longer the step's first ones.
 */
function groundsOf(view, { node: id, grounds }) {
  const node = view.nodes.get(id);
  const { form, p, q, divergence, weight } = grounds;
  const numbers = { form, p, q, before: real(grounds.before), mass: real(grounds.mass), D: real(divergence), weight };
  const T = real(view.options.fuzzy.tolerance);
  const typical = { H: real(grounds.entropy), epsilon: knobOf(view, "typical"), bar: barOf(view, grounds.entropy) };
  const changed = view.isTrie ? changes(view, node, numbers) : null;
  return { ...numbers, ...typical, T, exact: Math.min(1, rho(node)), changed, value: thresholdOf(numbers) };
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

// Of every rule along a single draft: the numbers that its test at a node would have compared, null where the step does
// not tell. A rule that is not here cannot judge what is shown.
const UNMADE = {
  "tokenwise": (_, node) => ({ ...node, form: "token" }),
  "blockwise": backward("capped", "share"),
  "hsd": backward("capped", "share"),
  "hsd-released": backward("ratio", "share"),
  "naive-hsd": backward("ratio", "naive"),
  "agreement": (_, node) => ({ ...node, form: "chosen" }),
  "fuzzy": fuzzyUnmade,
  "ensemble": (view, node) => ({ ...node, form: "mixed", weight: knobOf(view, "ensemble") }),
  "typical": typicalUnmade,
};

/** The same for a node; nothing in a tree, where they depend on all tests before it. */
function unmade(view, id, { rule }) {
  if (view.isTrie || !Object.hasOwn(UNMADE, rule)) return null;
  return UNMADE[rule](view, view.nodes.get(id));
}

/** Of a rule that steps back: the form of the whole draft's test, and that of the others. */
function backward(whole, part) {
  return (view, node) => {
    if (!view.children.has(node.id))
      return { ...node, form: whole, before: (whole === "ratio" ? ratio : capped)(view, node.parent) };
    const branch = view.branches.get(node.id);
    if (!branch) return null;
    const r = real(branch.ratio);
    if (part === "naive" && r !== branch.capped && r < 1) return null; // its mass is that of another weight
    return { ...node, form: part, before: part === "naive" ? r : branch.capped, mass: branch.deficient };
  };
}

function fuzzyUnmade(view, node) {
  const settings = fuzzy(view);
  if (!settings || settings.D(node.id) === null) return null;
  const { mode, near } = settings;
  return { ...node, form: near(node.id) ? "near" : mode === "exact-first" ? "beyond" : "far" };
}

function typicalUnmade(view, node) {
  const entropy = view.branches.get(node.parent)?.entropy ?? null; // traces of before this rule have none
  if (entropy === null) return null;
  return { ...node, form: node.p > barOf(view, entropy) ? "likely" : "unlikely", entropy };
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
  const asked = id && branch && view.children.has(id) && unmade(view, id, judged);
  return asked && asked.form === "share" ? share(branch.deficient, branch.excess) : null;
}

/** The two numbers that the test at a node compares, made or not, as `comparison` has them. */
function comparedAt(view, id, judged, made, coin) {
  if (made) return made;
  return comparison(view, { coin, threshold: thresholdAt(view, id, judged, null), grounds: unmade(view, id, judged) });
}

export { comparedAt, groundsOf, quotient, thresholdAt, thresholdOf, unmade };

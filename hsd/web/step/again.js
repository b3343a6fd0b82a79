// A single draft judged in the page: the thresholds of tests that a trace does not have, because no rule made them, and
// the whole draft once more, by another rule or with other coins. The numbers are those that the trace recorded; the
// rules are those of web/rules. In a tree what a test compares depends on all tests before it, so there nothing is
// judged again. Pure.
import { evaluate } from "../rules/expression.js";
import {
  CHAINS,
  comparison,
  factorsAt,
  forms,
  groundsOf,
  letters,
  readGrounds,
  recipeOf,
  stops,
  thresholdAt,
  thresholdOf,
} from "../rules/tests.js";
import { real } from "../kit/format.js";
import { capped, coinOf, judge, ratio, ruleInfo, settingsOf } from "./model.js";

const same = (a, b, slack = 1e-6) => Math.abs(a - b) <= slack * Math.max(Math.abs(a), Math.abs(b));

/** The numbers of the first t tokens as the step recorded them, by names of facts.letters; null for those it lacks. */
function recorded(view, recipe, t) {
  const [node, branch, above] = [view.nodes.get(t), view.branches.get(t), view.branches.get(t - 1)];
  const ratios = Array.from({ length: t + 1 }, (_, id) => ratio(view, id));
  const numbers = {
    ...settingsOf(view.options),
    p: node ? node.p : null,
    q: node ? (recipe.certain ? 1 : node.q) : null,
    ratio: ratios[t],
    above_ratio: t ? ratios[t - 1] : null,
    capped: capped(view, t),
    above_capped: t ? capped(view, t - 1) : null,
    starred: ratios[t] && ratios[t] / Math.max(1, ...ratios.slice(0, t)),
    divergence: real(view.step.divergences?.[t - 1] ?? null), // which a lesson has not
    entropy: real(above?.entropy ?? null), // traces of earlier versions have none
    lead: real(above?.lead ?? null),
  };
  // the branch's masses are those under c; where b is below 1 the test passes for certain, whatever its mass
  const [a, b] = factorsAt(recipe, numbers);
  const known = branch && (b < 1 || same(a, branch.capped));
  return { ...numbers, deficient: known ? branch.deficient : null, excess: known ? branch.excess : null };
}

/** The test of the first t tokens by a rule, {node, threshold, grounds}, each null where the step does not tell it. */
function unmade(view, rule, t) {
  const recipe = view.isTrie ? null : recipeOf(rule, settingsOf(view.options));
  if (!recipe) return { node: t, threshold: null, grounds: null };
  const [numbers, whole] = [recorded(view, recipe, t), t === view.step.nodes.length];
  return { node: t, threshold: thresholdAt(recipe, numbers, whole), grounds: groundsOf(recipe, numbers, whole) };
}

/** The tests of a rule at tokens 1 … γ, made or not. */
function tests(view, rule) {
  const known = [view.own, view.shadow].find((judged) => judged && judged.rule === rule);
  const made = (id) => known && known.decisions.find((decision) => decision.node === id);
  return view.step.nodes.map(({ id }) => made(id) || unmade(view, rule, id));
}

/** The two numbers that the test at a node compares, made or not, as `comparison` has them. */
function comparedAt(view, id, judged, made, coin) {
  return made || comparison({ coin, ...unmade(view, judged.rule, id) }, settingsOf(view.options));
}

/**
 * Where the threshold of the test at a node comes from, before it is cut at 1: {value; and of, two numbers by name whose
 * quotient it is, of which one may be a sum of such, or times, two whose product it is, the second p/q of the token, or name, the one number that it is};
 * null where the step does not tell, and for what is none of these.
 */
function origin(view, judged, id) {
  const recipe = view.isTrie ? null : recipeOf(judged.rule, settingsOf(view.options));
  if (!recipe) return null;
  const step = recorded(view, recipe, id);
  const grounds = groundsOf(recipe, step, id === view.step.nodes.length);
  if (!grounds) return null;
  const { also, threshold } = forms[grounds.form];
  const numbers = { ...step, ...grounds };
  for (const tree of [...also].reverse().concat([threshold])) {
    const whole = tree[0] === "min" && tree[1] === 1 ? tree[2] : tree; // without the cut
    const value = evaluate(whole, numbers);
    if (value === null) continue;
    if (typeof whole === "string") return carried(grounds, id) ?? { value, name: whole };
    const of =
      whole[0] === "/" ? whole.slice(1).map((part) => partOf(part, forms[grounds.form].along, numbers)) : [null];
    if (of.every(Boolean)) return { value, of };
  }
  return null;
}

/** A number of a quotient by its letter, or a sum of such; null for anything else. */
function partOf(tree, along, numbers) {
  if (typeof tree === "string") return { name: letters[tree] ? tree : along[tree], value: numbers[tree] };
  const sum = tree[0] === "+" && tree.slice(1).map((one) => partOf(one, along, numbers));
  return sum && sum.every(Boolean) ? { sum, value: evaluate(tree, numbers) } : null;
}

/** The ratio of a path, which is that before its last token times the token's own; null for a path of one token. */
function carried({ form, before, p, q }, id) {
  if (id === 1 || before === undefined || !q) return null;
  const ratio = p / q;
  return { value: before * ratio, times: [{ name: forms[form].along.before, value: before }, { value: ratio }] };
}

/**
 * The numbers of a test that was made: {form, numbers, value: the threshold that they give, changed: in a tree, which of
 * them are no longer the step's first ones}.
 */
function numbersOf(view, { node: id, grounds }) {
  const read = readGrounds(grounds);
  const numbers = { ...settingsOf(view.options), ...read };
  return {
    form: grounds.form,
    numbers,
    value: thresholdOf(read),
    changed: view.isTrie ? changes(view, id, read) : null,
  };
}

function changes(view, id, { form, p, q, before, mass }) {
  const [node, branch] = [view.nodes.get(id), view.branches.get(id)];
  const along = forms[form]?.along ?? {};
  const path = String(along.before).startsWith("above_") ? node.parent : id;
  return {
    p: "p" in along && !same(p, node.p),
    q: "q" in along && !same(q, node.q),
    before: !same(before, capped(view, path)),
    mass: Boolean(branch) && !same(mass, branch.deficient),
  };
}

// ---- judged again

/** The rules that the page can judge this draft by; of a tree, and of a step without details, none. */
function judges(view) {
  if (view.isTrie || !view.detail) return [];
  const rules = new Set([view.rule, view.shadow && view.shadow.rule, ...CHAINS.keys()]);
  return [...rules].filter((rule) => rule && tests(view, rule).every(({ threshold }) => threshold !== null));
}

/** What a rule keeps of the draft: a verdict as a trace has it, without what was drawn after it. */
function verdict(view, rule, coins) {
  const { forward } = ruleInfo(rule);
  const list = tests(view, rule).map(({ node, threshold, grounds }) => {
    const coin = coins.get(node) ?? coinOf(view, node);
    const whole = !forward && !view.children.has(node);
    const test = forward ? "token" : whole ? "draft" : "prefix";
    return { node, coin, threshold, grounds, test, accepted: coin < threshold };
  });
  if (!forward) list.reverse();
  const end = list.findIndex(({ accepted }) => accepted !== forward);
  const decisions = end < 0 ? list : list.slice(0, end + 1);
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
    const unchanged = by === judged.rule && told.kept === judged.kept;
    return judge(view, unchanged ? { ...told, residual: judged.residual, next: judged.next } : told);
  };
  const own = one(view.own, rule || view.rule);
  const shadow = view.shadow && one(view.shadow, view.shadow.rule);
  const sameRule = Boolean(shadow) && shadow.rule === own.rule;
  const unchanged = own.rule === view.rule && own.kept === view.own.kept;
  return { ...view, own, shadow, sameRule, rule: own.rule, drawn: unchanged ? view.drawn : null, original: view };
}

/** The chances that 0 … γ tokens are kept, over all coins; null where the step does not tell. */
function chances(view, rule) {
  const known = (view.step.kept_law || {})[rule];
  if (known) return known;
  const thresholds = tests(view, rule).map(({ threshold }) => threshold);
  return thresholds.includes(null) ? null : stops(thresholds, ruleInfo(rule).forward);
}

/**
 * The tokens that would likely follow, where a rule kept other tokens than in the run: of the branch's listed tokens
 * those with most of the rule's residual, the largest first: [{piece, origin}]. Empty after the whole draft, and where
 * no trace has what it takes: a mixture, or the whole branch of a coupled rule.
 */
function likely(view, judged) {
  const branch = view.branches.get(judged.last);
  const recipe = recipeOf(judged.rule, settingsOf(view.options));
  if (!branch || !recipe || recipe.coupled || recipe.follow === "mixture" || judged.kept === view.step.drafted)
    return [];
  const [a, b] = factorsAt(recipe, recorded(view, recipe, judged.last));
  const drafted = view.children.get(judged.last).map((id) => view.nodes.get(id).token);
  const left = ({ token, p, q }) => a * p - b * (recipe.certain ? Number(drafted.includes(token)) : q);
  const found = branch.top.filter((top) => left(top) > 0).sort((one, two) => left(two) - left(one));
  return found.map(({ piece }) => ({ piece, origin: "correction" }));
}

export { again, chances, comparedAt, judges, likely, numbersOf, origin };

// A single draft judged in the page: the thresholds of tests that no rule of the run made, and the
// whole draft once more, by another rule or with other coins. The numbers are those that the trace
// recorded, the rules those of web/rules. In a tree what a test compares depends on all tests
// before it, so there nothing is judged again. Pure.
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
import { capped, coinOf, draftedAfter, judge, ratio, ruleInfo, settingsOf } from "./model.js";

/**
 * Whether two numbers are equal up to rounding; null, a number that is not known, equals none.
 * @type {(a: number | null, b: number) => boolean}
 */
function same(a, b) {
  if (a === null) return false;
  const largest = Math.max(Math.abs(a), Math.abs(b));
  return Math.abs(a - b) <= 1e-6 * largest;
}

/**
 * The recipe by which a rule judges a step; none for a tree, nor for a rule that compares clipped
 * rows, which no trace has.
 * @type {(view: StepView, rule: string) => Recipe | undefined}
 */
function recipeAt(view, rule) {
  if (view.isTrie) return undefined;
  const recipe = recipeOf(rule, settingsOf(view.options));
  return recipe?.clipped ? undefined : recipe;
}

/**
 * The numbers of the first t tokens as the step recorded them, by names of facts.letters; null for
 * those it lacks.
 * @type {(view: StepView, recipe: Recipe, t: number) => Numbers}
 */
function recorded(view, recipe, t) {
  const node = view.nodes.get(t);
  const branch = view.branches.get(t);
  const above = view.branches.get(t - 1);
  const ratios = Array.from({ length: t + 1 }, (_, id) => ratio(view, id));
  const largest = Math.max(1, ...ratios.slice(0, t));
  const numbers = {
    ...settingsOf(view.options),
    p: node?.p ?? null,
    q: node && recipe.certain ? 1 : (node?.q ?? null),
    ratio: ratios[t],
    above_ratio: t ? ratios[t - 1] : null,
    capped: capped(view, t),
    above_capped: t ? capped(view, t - 1) : null,
    starred: ratios[t] && ratios[t] / largest,
    divergence: real(view.step.divergences?.[t - 1] ?? null), // which a lesson has not
    entropy: real(above?.entropy ?? null), // traces of earlier versions have none
    lead: real(above?.lead ?? null),
  };
  // the branch's masses are those under c; where b is below 1 the test passes for certain, whatever
  // its mass
  const [a, b] = factorsAt(recipe, numbers);
  const passes = (b ?? 1) < 1;
  const known = branch && (passes || same(a, branch.capped)) ? branch : null;
  return {
    ...numbers,
    deficient: known?.deficient ?? null,
    excess: known?.excess ?? null,
  };
}

/**
 * The test of the first t tokens by a rule.
 * @type {(view: StepView, rule: string, t: number) => PossibleTest}
 */
function unmade(view, rule, t) {
  const recipe = recipeAt(view, rule);
  if (!recipe) return { node: t, threshold: null, grounds: null };
  const numbers = recorded(view, recipe, t);
  const whole = t === view.step.nodes.length;
  return {
    node: t,
    threshold: thresholdAt(recipe, numbers, whole),
    grounds: groundsOf(recipe, numbers, whole),
  };
}

/**
 * The tests of a rule at tokens 1 … γ, made or not.
 * @type {(view: StepView, rule: string) => PossibleTest[]}
 */
function tests(view, rule) {
  const known = [view.own, view.shadow].find((judged) => judged?.rule === rule);
  return view.step.nodes.map(({ id }) => {
    const made = known?.at.get(id)?.[0];
    return made ?? unmade(view, rule, id);
  });
}

/**
 * The two numbers that the test at a node compares, made or not.
 * @type {(view: StepView, id: number, judged: Judged, test: ReadTest | null) => Compared}
 */
function comparedAt(view, id, judged, test) {
  if (test) return test;
  const possible = { coin: coinOf(view, id), ...unmade(view, judged.rule, id) };
  return comparison(/** @type {Test} */ (possible), settingsOf(view.options));
}

/**
 * Where the threshold of the test at a node comes from, before it is cut at 1: a number, a product,
 * or a quotient of numbers or of their sums; null where the step does not tell, and for anything
 * else.
 * @type {(view: StepView, judged: Judged, id: number) => ThresholdOrigin | null}
 */
function origin(view, judged, id) {
  const recipe = recipeAt(view, judged.rule);
  if (!recipe) return null;
  const step = recorded(view, recipe, id);
  const grounds = groundsOf(recipe, step, id === view.step.nodes.length);
  if (!grounds) return null;
  const { also, threshold, along } = forms[grounds.form];
  const own = grounds.q ? grounds.p / grounds.q : null;
  const numbers = { ...step, ...grounds, own };
  const ways = [...also].reverse().concat([threshold]).map(uncut);
  const isKnown = (/** @type {Expression} */ way) => evaluate(way, numbers) !== null;
  let tree = ways.find((way) => isPlain(way, "/") && isKnown(way));
  if (tree === undefined) return null;
  // the ratio of a path is that before its last token times the token's own
  if (typeof tree === "string" && id > 1 && grounds.before !== undefined && grounds.q)
    tree = ["*", "before", "own"];
  const letter = (/** @type {string} */ name) => (letters[name] ? name : String(along[name] ?? ""));
  return {
    tree,
    value: evaluate(tree, numbers) ?? 0,
    numbers,
    letter,
  };
}

/**
 * An expression without a cut at 1: x for min(1, x), any other as it is.
 * @type {(tree: Expression) => Expression}
 */
const uncut = (tree) =>
  Array.isArray(tree) && tree[0] === "min" && tree[1] === 1 ? tree[2] : tree;

/**
 * Whether an expression is a name, or made by `sign` of names and of their sums.
 * @type {(tree: Expression, sign: string) => boolean}
 */
function isPlain(tree, sign) {
  if (typeof tree === "string") return true;
  if (!Array.isArray(tree) || tree[0] !== sign) return false;
  return tree.slice(1).every((part) => isPlain(part, "+"));
}

/** The numbers of a test that was made. @type {(view: StepView, test: ReadTest) => FormNumbers} */
function numbersOf(view, { node: id, grounds }) {
  const read = readGrounds(grounds);
  const node = view.nodes.get(id);
  const branch = view.branches.get(id);
  const along = forms[grounds.form]?.along ?? {};
  const path = String(along.before).startsWith("above_") ? node.parent : id;
  const changed = {
    p: "p" in along && !same(read.p, node.p),
    q: "q" in along && !same(read.q, node.q),
    before: !same(read.before, capped(view, path)),
    mass: branch !== undefined && !same(read.mass, branch.deficient),
  };
  const numbers = {
    ...settingsOf(view.options),
    ...read,
    form: grounds.form,
  };
  return {
    form: grounds.form,
    numbers,
    value: thresholdOf(numbers),
    changed: view.isTrie ? changed : null,
  };
}

// ---- judged again

/**
 * The rules that the page can judge this draft by; of a tree, and of a step without details, none.
 * @type {(view: StepView) => string[]}
 */
function judges(view) {
  if (view.isTrie || !view.detail) return [];
  const ofRun = view.shadow ? [view.rule, view.shadow.rule] : [view.rule];
  const rules = new Set([...ofRun, ...CHAINS.keys()]);
  return [...rules].filter((rule) =>
    tests(view, rule).every(({ threshold }) => threshold !== null),
  );
}

/**
 * What a rule keeps of the draft: a verdict as a trace has it, without what was drawn after it.
 * @type {(view: StepView, rule: string, coins: Map<number, number>) => GivenVerdict}
 */
function verdict(view, rule, coins) {
  const { forward } = ruleInfo(rule);
  const list = tests(view, rule).map((test) => {
    const { node, threshold, grounds } = /** @type {Decision} */ (test);
    const coin = coins.get(node) ?? coinOf(view, node);
    const block = view.children.has(node) ? "prefix" : "draft";
    const kind = forward ? "token" : block;
    return /** @type {Decision} */ ({
      node,
      coin,
      threshold,
      grounds,
      test: kind,
      accepted: coin < threshold,
    });
  });
  if (!forward) list.reverse();
  const end = list.findIndex(({ accepted }) => accepted !== forward);
  const decisions = end < 0 ? list : list.slice(0, end + 1);
  const last = decisions.findLast(({ accepted }) => accepted);
  return {
    rule,
    kept: last ? view.depth.get(last.node) : 0,
    decisions,
    changes: [],
    residual: null,
    next: null,
  };
}

/**
 * The view with both verdicts as they would be by another rule of the run, or with other coins. A
 * verdict that comes out as recorded keeps what was drawn after it.
 * @template {StepView} V
 * @param {V} view
 * @param {Supposed} supposed
 * @returns {V}
 */
function rejudge(view, { rule, coins }) {
  const rejudge = (/** @type {Judged} */ judged, /** @type {string} */ by) => {
    const given = verdict(view, by, coins);
    if (by === judged.rule && given.kept === judged.kept) {
      given.residual = judged.residual;
      given.next = judged.next;
    }
    return judge(view, given);
  };
  const own = rejudge(view.own, rule ?? view.rule);
  const shadow = view.shadow && rejudge(view.shadow, view.shadow.rule);
  const unchanged = own.rule === view.rule && own.kept === view.own.kept;
  const verdicts = {
    own,
    shadow,
    rule: own.rule,
    sameRule: shadow?.rule === own.rule,
  };
  return {
    ...view,
    ...verdicts,
    drawn: unchanged ? view.drawn : null,
    original: view,
  };
}

/**
 * The chances that 0 … γ tokens are kept, over all coins; null where the step does not tell.
 * @type {(view: StepView, rule: string) => number[] | null}
 */
function chances(view, rule) {
  const known = view.step.kept_law?.[rule];
  if (known) return known;
  const thresholds = tests(view, rule).flatMap(({ threshold }) => threshold ?? []);
  return thresholds.length < view.step.nodes.length
    ? null
    : stops(thresholds, ruleInfo(rule).forward);
}

/**
 * The tokens that would likely follow, where a rule kept other tokens than in the run: of the
 * branch's listed ones those with most of the rule's residual, the largest first. Empty after the
 * whole draft, and where no trace has what it takes: a mixture, or the whole branch of a coupled
 * rule.
 * @type {(view: StepView, judged: Judged) => {piece: string, origin: Origin}[]}
 */
function likely(view, judged) {
  const branch = view.branches.get(judged.last);
  const recipe = recipeAt(view, judged.rule);
  if (!branch || !recipe || judged.kept === view.step.drafted) return [];
  if (recipe.coupled || recipe.follow === "mixture") return [];
  const numbers = recorded(view, recipe, judged.last);
  const [a, b] = factorsAt(recipe, numbers).map((x) => x ?? 0);
  const drafted = draftedAfter(view, judged.last);
  const left = (/** @type {Candidate} */ { token, p, q }) => {
    const proposed = recipe.certain ? Number(drafted.includes(token)) : q;
    return a * p - b * proposed;
  };
  const rest = branch.top.filter((top) => left(top) > 0);
  rest.sort((first, second) => left(second) - left(first));
  return rest.map(({ piece }) => ({ piece, origin: "correction" }));
}

export { rejudge, chances, comparedAt, judges, likely, numbersOf, origin };

// The tests of a rule by its record, see hsd/rules/recipe.py and forms.py: from the numbers along a draft to thresholds.
// Whose numbers these are is not known here: rows of probabilities (law.js), or what a trace recorded (step/again.js).
import { facts } from "../kit/facts.js";
import { real } from "../kit/format.js";
import { evaluate, holds } from "./expression.js";

const { forms, letters, usual: USUAL, vanilla: VANILLA } = facts; // USUAL: the rule where nobody says which
const CHAINS = new Map(
  facts.rules.flatMap((rule) => (rule.single && rule.recipe ? [[rule.name, { ...rule, recipe: rule.recipe }]] : [])),
);

/** The rule of this name. @type {(name: string) => Chain} */
function chain(name) {
  const rule = CHAINS.get(name);
  if (!rule) throw new RangeError(`no rule for one draft is called ${name}`);
  return rule;
}

/** What rules may be set to, and the number of every rule that has one by its option. @type {Settings} */
const SETTINGS = {
  divergence: facts.divergences[0].name,
  mode: facts.modes[0].name,
  after_kept: String(facts.options.properties.after_kept.default),
  ...Object.fromEntries([...CHAINS.values()].flatMap(({ knob }) => (knob ? [[knob.option, knob.default]] : []))),
};

/** What a rule is at temperature 0, where it is another one: {recipe, loses}; null for most. @type {(name: string, settings: {temperature?: number}) => RuleFacts["cold"]} */
const coldOf = (name, { temperature }) => (temperature === 0 && CHAINS.get(name)?.cold) || null;

/** The record by which a rule judges; undefined for one that does not judge a single draft. @type {(name: string, settings?: Settings) => Recipe | undefined} */
function recipeOf(name, settings = SETTINGS) {
  const rule = CHAINS.get(name);
  const { mode, after_kept: after } = settings;
  return rule && (coldOf(name, settings)?.recipe ?? rule.modes[mode] ?? rule.modes[after] ?? rule.recipe);
}

/** The same of one that does. @type {(name: string, settings: Settings) => Recipe} */
const chainRecipe = (name, settings) => recipeOf(name, settings) ?? chain(name).recipe;

/**
 * The numbers that the test of the first t tokens compares, {form, and some of p, q, before, mass, …}, as a trace has
 * them; null where they are not known. numbers: an object by names of `letters`; whole: these are all tokens.
 * @type {(recipe: Tests, numbers: Numbers, whole: boolean) => Numbers & {form: string} | null}
 */
function groundsOf(recipe, numbers, whole) {
  const names = whole && recipe.whole ? [recipe.whole] : recipe.each;
  for (const name of names) {
    const form = forms[name];
    const applies = names.length > 1 && form.when ? holds(form.when, numbers) : true;
    if (applies === null) return null;
    if (!applies) continue;
    const found = Object.entries(form.along).map(([key, tree]) => [key, evaluate(tree, numbers)]);
    return found.some(([, value]) => value === null) ? null : { form: name, ...Object.fromEntries(found) };
  }
  return null;
}

/** Grounds as a trace has them, their numbers as numbers. @type {(grounds: Partial<Grounds>) => Numbers} */
const readGrounds = (grounds) =>
  Object.fromEntries(Object.entries(grounds).map(([name, x]) => [name, real(/** @type {Real} */ (x))]));

/** The threshold of a test by its grounds; null for a form that a later version may have written. @param {Numbers & {form: string}} grounds */
function thresholdOf(grounds) {
  const form = forms[grounds.form];
  return form ? evaluate(form.threshold, grounds) : null;
}

/** The threshold of the test of the first t tokens, null where it is not known; arguments as in `groundsOf`. @type {(recipe: Tests, numbers: Numbers, whole: boolean) => number | null} */
function thresholdAt(recipe, numbers, whole) {
  if (recipe.inner && !(whole && recipe.whole)) return evaluate(recipe.inner, numbers);
  const grounds = groundsOf(recipe, numbers, whole);
  return grounds && thresholdOf(grounds);
}

/** The factors a and b of the residual max(a p − b q, 0) after t kept tokens; numbers: of these t. @type {(recipe: Tests, numbers: Numbers) => (number | null)[]} */
const factorsAt = (recipe, numbers) => [evaluate(recipe.a, numbers), evaluate(recipe.b, numbers)];

/**
 * The two numbers that a test compares, the lower first where it passes: {sides, coinless, sign}. They are its coin and
 * its threshold but for a form that throws no coin, whose own number is called `sign`.
 * @type {(test: Test, settings: Settings) => {sides: (number | null)[], coinless: boolean, sign: string}}
 */
function comparison({ coin, threshold, grounds }, settings) {
  const form = grounds && forms[grounds.form];
  if (!form || form.coin || !Array.isArray(form.when)) return { sides: [coin, threshold], coinless: false, sign: "" };
  const [operator, ...sides] = form.when;
  const sign = letters[form.whose === "mixture" ? "mixed" : "p"].sign;
  const [left, right] = sides.map((tree) => evaluate(tree, { ...settings, ...readGrounds(grounds) }));
  return { sides: operator === ">" || operator === "<=" ? [right, left] : [left, right], coinless: true, sign };
}

/** The chances that exactly t = 0 … γ tokens are kept. @type {(threshold: number[], forward: boolean) => number[]} */
function stops(threshold, forward) {
  const gamma = threshold.length;
  const out = new Array(gamma + 1).fill(0);
  let reached = 1;
  for (let i = 0; i < gamma; i += 1) {
    const t = forward ? i : gamma - i;
    const h = threshold[forward ? t : t - 1];
    out[t] = reached * (forward ? 1 - h : h);
    reached *= forward ? h : 1 - h;
  }
  out[forward ? gamma : 0] = reached;
  return out;
}

export { CHAINS, chain, chainRecipe, coldOf, comparison, factorsAt, forms, groundsOf, letters, readGrounds };
export { recipeOf, SETTINGS, stops, thresholdAt, thresholdOf, USUAL, VANILLA };

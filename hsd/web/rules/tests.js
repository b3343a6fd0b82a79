// The tests of a rule by its record, see hsd/rules/recipe.py and forms.py: from the numbers along a
// draft to thresholds. Whose numbers these are is not known here: rows of probabilities (law.js),
// or what a trace recorded (step/rejudge.js).
import { facts } from "../kit/facts.js";
import { real } from "../kit/format.js";
import { evaluate, holds } from "./expression.js";

// USUAL: the name of the default rule
const { forms, letters, usual: USUAL, vanilla: VANILLA } = facts;
/** The rules that judge a single draft, by their names. @type {Map<string, Chain>} */
const CHAINS = new Map();
for (const { recipe, ...rule } of facts.rules) {
  if (rule.single && recipe) CHAINS.set(rule.name, { ...rule, recipe });
}

/** The rule of this name. @type {(name: string) => Chain} */
function chain(name) {
  const rule = CHAINS.get(name);
  if (!rule) throw new RangeError(`no rule for one draft is called ${name}`);
  return rule;
}

/**
 * What rules may be set to, and the number of every rule that has one by its option.
 * @type {Settings}
 */
const SETTINGS = {
  divergence: facts.divergences[0].name,
  mode: facts.modes[0].name,
  after_kept: String(facts.options.properties.after_kept.default),
};
for (const { knob } of CHAINS.values()) {
  if (knob) SETTINGS[knob.option] = knob.default;
}

/**
 * What a rule becomes at temperature 0, {recipe, loses}; null for most rules, and above 0.
 * @param {string} name
 * @param {{temperature?: number}} settings
 * @returns {RuleFacts["cold"]}
 */
function coldOf(name, { temperature }) {
  if (temperature !== 0) return null;
  return CHAINS.get(name)?.cold ?? null;
}

/**
 * The record by which a rule judges; undefined for one that does not judge a single draft.
 * @type {(name: string, settings?: Settings) => Recipe | undefined}
 */
function recipeOf(name, settings = SETTINGS) {
  const rule = CHAINS.get(name);
  if (!rule) return undefined;
  const { mode, after_kept: after } = settings;
  const cold = coldOf(name, settings);
  return cold?.recipe ?? rule.modes[mode] ?? rule.modes[after] ?? rule.recipe;
}

/**
 * The record by which a rule judges; throws for one that does not judge a single draft.
 * @type {(name: string, settings: Settings) => Recipe}
 */
const chainRecipe = (name, settings) => recipeOf(name, settings) ?? chain(name).recipe;

/**
 * Return the form of the test of the first t tokens and the numbers that it compares, such as p, q,
 * before and mass, as a trace has them; null where they are not known.
 * @param {Tests} recipe
 * @param {Numbers} numbers - by names of `letters`
 * @param {boolean} whole - these are all tokens
 * @returns {Numbers & {form: string} | null}
 */
function groundsOf(recipe, numbers, whole) {
  const names = whole && recipe.whole ? [recipe.whole] : recipe.each;
  for (const name of names) {
    const form = forms[name];
    const applies = names.length > 1 && form.when ? holds(form.when, numbers) : true;
    if (applies === null) return null;
    if (!applies) continue;
    /** @type {Numbers & {form: string}} */
    const grounds = { form: name };
    for (const [key, tree] of Object.entries(form.along)) {
      const value = evaluate(tree, numbers);
      if (value === null) return null;
      grounds[key] = value;
    }
    return grounds;
  }
  return null;
}

/**
 * Return the grounds of a trace, infinity as a number.
 * @param {Partial<GroundsRecord>} grounds
 * @returns {Numbers}
 */
function readGrounds(grounds) {
  const entries = Object.entries(grounds);
  return Object.fromEntries(entries.map(([name, x]) => [name, real(/** @type {Real} */ (x))]));
}

/**
 * The threshold of a test by its grounds; null for a form that a later version may have written.
 * @param {Numbers & {form: string}} grounds
 */
function thresholdOf(grounds) {
  const form = forms[grounds.form];
  return form ? evaluate(form.threshold, grounds) : null;
}

/**
 * The threshold of the test of the first t tokens, null where it is not known; arguments as in
 * `groundsOf`.
 * @type {(recipe: Tests, numbers: Numbers, whole: boolean) => number | null}
 */
function thresholdAt(recipe, numbers, whole) {
  if (recipe.inner && !(whole && recipe.whole)) return evaluate(recipe.inner, numbers);
  const grounds = groundsOf(recipe, numbers, whole);
  return grounds && thresholdOf(grounds);
}

/**
 * The factors a and b of the residual max(a p − b q, 0) after t kept tokens; numbers: of these t.
 * @type {(recipe: Tests, numbers: Numbers) => (number | null)[]}
 */
const factorsAt = (recipe, numbers) => [evaluate(recipe.a, numbers), evaluate(recipe.b, numbers)];

/**
 * The two numbers that a test compares, the lower first where it passes: {sides, coinless, sign}.
 * They are its coin and its threshold but for a form that throws no coin, whose own number is
 * called `sign`.
 * @param {Test} test
 * @param {Settings} settings
 * @returns {{sides: (number | null)[], coinless: boolean, sign: string}}
 */
function comparison({ coin, threshold, grounds }, settings) {
  const form = grounds && forms[grounds.form];
  if (!form || form.coin || !Array.isArray(form.when))
    return { sides: [coin, threshold], coinless: false, sign: "" };
  const [operator, ...sides] = form.when;
  const sign = letters[form.whose === "mixture" ? "mixed" : "p"].sign;
  const numbers = { ...settings, ...readGrounds(grounds) };
  const values = sides.map((tree) => evaluate(tree, numbers));
  if (operator === ">" || operator === "<=") values.reverse();
  return { sides: values, coinless: true, sign };
}

/**
 * The chances that exactly t = 0 … γ tokens are kept.
 * @type {(threshold: number[], forward: boolean) => number[]}
 */
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

export {
  CHAINS,
  chain,
  chainRecipe,
  coldOf,
  comparison,
  factorsAt,
  forms,
  groundsOf,
  letters,
  readGrounds,
  recipeOf,
  SETTINGS,
  stops,
  thresholdAt,
  thresholdOf,
  USUAL,
  VANILLA,
};

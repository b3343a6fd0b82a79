// Which of a run's options go together, which of them give way to one that was set, and what the
// lists of levels hold. What fits what is in the facts: a rule's kinds of trees, whether it judges
// a single draft, whether a proposer copies. Pure.
import { facts, rule } from "../kit/facts.js";

/** The levels of a pair of which nothing is known. @type {PairLevels} */
const UNKNOWN = { models: [], layers: 0, exits: [], thresholds: [] };
// options that may change to make others fit, each sooner than the next
const GIVE_WAY = ["shadow", "gamma", "nodes", "proposer", "tree", "drafts", "rule", "system"];
const SEVERAL = 4; // drafts, where a tree or a rule for trees was set
const nameOf = (/** @type {{name: string}} */ { name }) => name;
const COPIERS = facts.proposers.filter(({ copies }) => copies).map(nameOf);
const LEVELLED = facts.systems.filter(({ levels }) => levels).map(nameOf);
const { properties: KNOWN } = facts.options;
const GROWN = KNOWN.nodes.when?.tree ?? [];
const EXITS = ["Drafts after layer", "Checks after layer"];

// ---- what goes together

/**
 * Whether a rule fits the target's place: with levels it judges what they hand up, which is no tree
 * above two models.
 * @type {(name: string, options: Values, count: number) => boolean}
 */
function judges(name, { system, drafts, tree }, count) {
  if (LEVELLED.includes(system) && rule(name).single && !rule(name).levels) return false;
  return drafts > 1 && count < 3 ? rule(name).trees.includes(tree) : rule(name).single;
}

/**
 * The conditions that must hold. values: the options; set: the one that was set last, which must
 * mean something; count: of the stacked models.
 */
const CONDITIONS = /** @type {((values: Values, set: string, count: number) => boolean)[]} */ ([
  ({ system, proposer }) => system === "speculative" || proposer === KNOWN.proposer.default,
  ({ system, drafts }) => drafts === 1 || KNOWN.drafts.when?.system.includes(system),
  ({ drafts, proposer }) => drafts === 1 || !COPIERS.includes(proposer),
  (values, _, count) => values.system === "plain" || judges(values.rule, values, count),
  (values, _, count) =>
    values.system === "plain" || !values.shadow || judges(values.shadow, values, count),
  ({ gamma, system, drafts, rule: name }) => {
    if (gamma !== "auto") return true;
    return system === "speculative" && drafts === 1 && !rule(name).resamples;
  },
  ({ nodes, drafts, tree }) => {
    if (nodes === 0) return true;
    return drafts > 1 && GROWN.includes(tree) && (nodes === 1 || nodes > drafts);
  },
  ({ drafts }, set) => set !== "tree" || drafts > 1,
]);

/** The values that each option may take: the one that it has, the usual one, then all others. */
const CHOICES = /** @type {Record<string, (values: Values) => any[]>} */ ({
  shadow: ({ shadow }) => [shadow, ""],
  gamma: ({ gamma }) => [gamma, KNOWN.gamma.default],
  nodes: ({ nodes }) => [nodes, 0],
  proposer: ({ proposer }) => [proposer, KNOWN.proposer.default],
  tree: ({ tree }) => [tree, ...facts.layouts.map(nameOf)],
  drafts: ({ drafts }) => [drafts, 1, SEVERAL],
  rule: (values) => {
    const lossless = facts.rules.filter((known) => known.lossless);
    return [values.rule, KNOWN.rule.default, ...lossless.map(nameOf)];
  },
  system: ({ system }) => [system, KNOWN.system.default],
});

/**
 * All combinations of the values that the named options may take, those that change least first.
 * @type {(values: Values, names: string[]) => Generator<Values>}
 */
function* combinations(values, names) {
  const [name, ...rest] = names;
  if (!name) return yield {};
  for (const choice of new Set(CHOICES[name](values)))
    for (const others of combinations(values, rest)) yield { ...others, [name]: choice };
}

/**
 * The options that have to change, and their new values, after the visitor has set the option
 * `set`, which itself stays. They are the ones that give way soonest. {} if all fit, or nothing can
 * make them fit.
 * @type {(values: Values, set: string, pair?: PairLevels) => Values}
 */
function fit(values, set, pair = UNKNOWN) {
  const fits = (/** @type {Values} */ whole) => {
    const count = whole.system === "stack" ? stackOf(whole, pair).length : 2;
    return CONDITIONS.every((holds) => holds(whole, set, count));
  };
  if (fits(values)) return {};
  const open = GIVE_WAY.filter((name) => name !== set).reverse();
  let best = /** @type {{cost: number, changed: string[], change: Values} | null} */ (null);
  for (const change of combinations(values, open)) {
    const changed = open.filter((name) => change[name] !== values[name]);
    const costs = changed.map((name) => 2 ** GIVE_WAY.indexOf(name));
    const cost = costs.reduce((sum, own) => sum + own, 0);
    if (best && best.cost <= cost) continue;
    if (fits({ ...values, ...change })) best = { cost, changed, change };
  }
  const { changed = [], change = {} } = best ?? {};
  return Object.fromEntries(changed.map((name) => [name, change[name]]));
}

// ---- levels

/**
 * The places of the models that are stacked, all of them where none are named.
 * @type {(options: Values, pair: PairLevels) => number[]}
 */
const stackOf = ({ stack = [] }, { models }) =>
  stack.length ? stack : models.map((_, place) => place);

/**
 * The name of the model at a place of a pair.
 * @type {(place: number, pair: PairLevels) => string}
 */
const modelName = (place, { models }) => models[place] ?? `model ${place}`;

/**
 * The names of the levels of a run, the lowest first and the target last; null where they are not
 * known.
 * @type {(values: Values, pair: PairLevels) => string[] | null}
 */
function names(values, pair) {
  const stack = stackOf(values, pair);
  if (values.system === "stack")
    return stack.length ? stack.map((place) => modelName(place, pair)) : null;
  const exits = exitsOf(values, pair);
  return exits.length ? [...exits.map((depth) => `Exit after layer ${depth}`), "target"] : null;
}

/**
 * The layers after which a run exits, those of the pair where none are named.
 * @type {(options: Values, pair: PairLevels) => number[]}
 */
const exitsOf = ({ exits = [] }, pair) => (exits.length ? exits : pair.exits);

/**
 * The menu of stacks of a pair's models: all of them, fewer, and the wrong way round; and the one
 * that is set.
 * @type {(values: Values, pair: PairLevels) => [number[], string][]}
 */
function stacks(values, pair) {
  const target = pair.models.length - 1;
  const subsets = /** @type {number[][]} */ ([[]]);
  for (let place = 0; place < target; place += 1)
    subsets.push(...subsets.map((stack) => [...stack, place]));
  const below = subsets.slice(1).sort((a, b) => b.length - a.length);
  const several = below.filter(({ length }) => length > 1);
  const turned = several.map((stack) => stack.toReversed());
  const all = [...below, ...turned].map((stack) => [...stack, target]);
  const own = stackOf(values, pair);
  const known = all.some((stack) => String(stack) === String(own));
  if (own.length && !known) all.push(own);
  return all.map((stack) => {
    const names = stack.map((place) => modelName(place, pair));
    return [stack, names.join(" → ")];
  });
}

/**
 * The choices of a rule by which a level below the target may verify.
 * @param {string} tree - of the drafts that the level is handed, "" for one draft
 */
function below(tree) {
  const fitting = facts.rules.filter((known) => {
    if (!tree) return known.below;
    return known.asked === known.name && known.lossless && known.trees.includes(tree);
  });
  const usual = { const: "", title: "As suits the target's rule" };
  return [usual, ...fitting.map(({ name, title }) => ({ const: name, title }))];
}

/**
 * The entries of each option that is a list of levels; of `stack` the menu.
 * @type {(values: Values, pair: PairLevels) => Record<string, any[] | null>}
 */
function lists(values, pair) {
  const levels = names(values, pair)?.slice(0, -1);
  const hispec = values.system === "hispec";
  const exits = exitsOf(values, pair);
  const usual = (/** @type {number} */ i) =>
    hispec ? (pair.thresholds[i] ?? 1) : KNOWN.gamma.default;
  const tree = (/** @type {number} */ i) =>
    i === 0 && values.drafts > 1 && !hispec ? values.tree : "";
  const threshold = (/** @type {string} */ title, /** @type {number} */ i) => {
    return { title, usual: usual(i) };
  };
  const levelRule = (/** @type {string} */ title, /** @type {number} */ i) => {
    return { title, usual: "", oneOf: below(tree(i)) };
  };
  const exit = (/** @type {number} */ _, /** @type {number} */ i) => ({
    title: EXITS[i] ?? "Exit after layer",
    usual: pair.exits[i] ?? i + 1,
    maximum: pair.layers,
  });
  return {
    stack: stacks(values, pair),
    exits: pair.layers ? exits.map(exit) : null,
    thresholds: levels?.map(threshold) ?? null,
    level_rules: levels?.slice(1).map(levelRule) ?? null,
  };
}

/**
 * The changes to the lists of levels where the stack is none of the pair's models, or exits are out
 * of order or reach.
 * @param {{stack?: number[], exits?: number[]}} values
 * @param {PairLevels} pair
 */
function levelled({ stack = [], exits = [] }, { models, layers, exits: usual }) {
  const changes = /** @type {Values} */ ({});
  const target = models.length - 1;
  const stacked = stack.at(-1) === target && stack.every((place) => place <= target);
  if (models.length && !stacked) changes.stack = models.map((_, place) => place);
  const within = !layers || !exits.some((depth) => depth > layers);
  // an exit that is being typed is empty
  const ordered = exits.every((depth, i) => !(depth < exits[i - 1]) || !depth);
  if (!within) changes.exits = usual;
  else if (!ordered) changes.exits = exits.toSorted((a, b) => a - b);
  return changes;
}

export { fit, levelled, lists, UNKNOWN };

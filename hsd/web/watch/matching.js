// Which of a run's options go together, which of them give way to one that was set, and what the lists of levels hold. What
// fits what is in the facts: a rule's kinds of trees, whether it judges a single draft, whether a proposer copies. Pure.
import { facts, rule } from "../kit/facts.js";

/** Of a pair of which nothing is known. @type {PairLevels} */
const UNKNOWN = { models: [], layers: 0, exits: [], thresholds: [] };
const GIVE_WAY = ["shadow", "gamma", "nodes", "proposer", "tree", "drafts", "rule", "system"]; // each sooner than the next
const SEVERAL = 4; // drafts, where a tree or a rule for trees was set
const COPIERS = facts.proposers.filter(({ copies }) => copies).map(({ name }) => name);
const LEVELLED = facts.systems.filter(({ levels }) => levels).map(({ name }) => name);
const { properties: KNOWN } = facts.options;
const GROWN = KNOWN.nodes.when?.tree ?? [];
const EXITS = ["Drafts after layer", "Checks after layer"];

// ---- what goes together

/** Whether a rule fits the target's place: with levels it judges what they hand up, which is no tree above two models. @type {(name: string, options: Values, count: number) => boolean} */
function judges(name, { system, drafts, tree }, count) {
  if (LEVELLED.includes(system) && rule(name).single && !rule(name).levels) return false;
  return drafts > 1 && count < 3 ? rule(name).trees.includes(tree) : rule(name).single;
}

/** What must hold; `set` is the option that was set last, which must mean something. count: of the stacked models. */
const CONDITIONS = /** @type {((values: Values, set: string, count: number) => boolean)[]} */ ([
  ({ system, proposer }) => system === "speculative" || proposer === KNOWN.proposer.default,
  ({ system, drafts }) => drafts === 1 || KNOWN.drafts.when?.system.includes(system),
  ({ drafts, proposer }) => drafts === 1 || !COPIERS.includes(proposer),
  (values, _, count) => values.system === "plain" || judges(values.rule, values, count),
  (values, _, count) => values.system === "plain" || !values.shadow || judges(values.shadow, values, count),
  ({ gamma, system, drafts, rule: name }) =>
    gamma !== "auto" || (system === "speculative" && drafts === 1 && !rule(name).resamples),
  ({ nodes, drafts, tree }) => nodes === 0 || (drafts > 1 && GROWN.includes(tree) && (nodes === 1 || nodes > drafts)),
  ({ drafts }, set) => set !== "tree" || drafts > 1,
]);

/** What each option may become: what it is, then what is usual, then all there is. */
const CHOICES = /** @type {Record<string, (values: Values) => any[]>} */ ({
  shadow: ({ shadow }) => [shadow, ""],
  gamma: ({ gamma }) => [gamma, KNOWN.gamma.default],
  nodes: ({ nodes }) => [nodes, 0],
  proposer: ({ proposer }) => [proposer, KNOWN.proposer.default],
  tree: ({ tree }) => [tree, ...facts.layouts.map(({ name }) => name)],
  drafts: ({ drafts }) => [drafts, 1, SEVERAL],
  rule: (values) => [values.rule, KNOWN.rule.default, ...facts.rules.flatMap((one) => (one.lossless ? one.name : []))],
  system: ({ system }) => [system, KNOWN.system.default],
});

/** All combinations, those that change least and latest in `GIVE_WAY` first. @type {(values: Values, names: string[]) => Generator<Values>} */
function* combinations(values, names) {
  const [name, ...rest] = names;
  if (!name) return yield {};
  for (const choice of new Set(CHOICES[name](values)))
    for (const others of combinations(values, rest)) yield { ...others, [name]: choice };
}

/**
 * The options that have to change, and to what, after the visitor has set `set`, which itself stays: as few of the others
 * as possible, and as little as possible. {} if all fit, or nothing can make them fit.
 * @type {(values: Values, set: string, pair?: PairLevels) => Values}
 */
function fit(values, set, pair = UNKNOWN) {
  const count = (/** @type {Values} */ whole) => (whole.system === "stack" ? stackOf(whole, pair).length : 2);
  const fits = (/** @type {Values} */ whole) => CONDITIONS.every((holds) => holds(whole, set, count(whole)));
  if (fits(values)) return {};
  const open = GIVE_WAY.filter((name) => name !== set).reverse();
  let best = /** @type {{cost: number, changed: string[], change: Values} | null} */ (null);
  for (const change of combinations(values, open)) {
    const changed = open.filter((name) => change[name] !== values[name]);
    const cost = changed.reduce((sum, name) => sum + 2 ** GIVE_WAY.indexOf(name), 0);
    if (best && best.cost <= cost) continue;
    if (fits({ ...values, ...change })) best = { cost, changed, change };
  }
  const { changed = [], change = {} } = best ?? {};
  return Object.fromEntries(changed.map((name) => [name, change[name]]));
}

// ---- levels

/** The places of the models that are stacked, all of them where none are named. @type {(options: Values, pair: PairLevels) => number[]} */
const stackOf = ({ stack = [] }, { models }) => (stack.length ? stack : models.map((_, place) => place));
/** @type {(place: number, pair: PairLevels) => string} */
const modelName = (place, { models }) => models[place] ?? `model ${place}`;

/** What the levels of a run are called, the lowest first and the target last; null where that is not known. @type {(values: Values, pair: PairLevels) => string[] | null} */
function names(values, pair) {
  const stack = stackOf(values, pair);
  if (values.system === "stack") return stack.length ? stack.map((place) => modelName(place, pair)) : null;
  const exits = values.exits?.length ? values.exits : pair.exits;
  return exits.length ? [...exits.map((/** @type {number} */ depth) => `Exit after layer ${depth}`), "target"] : null;
}

/** Every stack of a pair's models: all of them, fewer, and the wrong way round; with the one that is set. @type {(values: Values, pair: PairLevels) => [number[], string][]} */
function stacks(values, pair) {
  const target = pair.models.length - 1;
  const subsets = /** @type {number[][]} */ ([[]]);
  for (let place = 0; place < target; place += 1) subsets.push(...subsets.map((one) => [...one, place]));
  const below = subsets.filter(({ length }) => length).sort((a, b) => b.length - a.length);
  const turned = below.filter(({ length }) => length > 1).map((one) => one.toReversed());
  const all = [...below, ...turned].map((one) => [...one, target]);
  const own = stackOf(values, pair);
  const known = all.some((one) => String(one) === String(own)) || !own.length ? [] : [own];
  return [...all, ...known].map((one) => [one, one.map((place) => modelName(place, pair)).join(" → ")]);
}

/** The rules that a level below the target may verify by; tree: of the drafts that it is handed, "" for one draft. @param {string} tree */
function below(tree) {
  const fitting = facts.rules.filter((one) =>
    tree ? one.asked === one.name && one.lossless && one.trees.includes(tree) : one.below,
  );
  const usual = { const: "", title: "As suits the target's rule" };
  return [usual, ...fitting.map(({ name, title }) => ({ const: name, title }))];
}

/** For each option that is a list of levels its entries; stack: what there is to choose from. @type {(values: Values, pair: PairLevels) => Record<string, any[] | null>} */
function lists(values, pair) {
  const [levels, hispec] = [names(values, pair), values.system === "hispec"];
  const exits = values.exits?.length ? values.exits : pair.exits;
  const usual = (/** @type {number} */ i) => (hispec ? (pair.thresholds[i] ?? 1) : KNOWN.gamma.default);
  const tree = (/** @type {number} */ i) => (i === 0 && values.drafts > 1 && !hispec ? values.tree : "");
  const exit = (/** @type {number} */ _, /** @type {number} */ i) => ({
    title: EXITS[i] ?? "Exit after layer",
    usual: pair.exits[i] ?? i + 1,
    maximum: pair.layers,
  });
  return {
    stack: stacks(values, pair),
    exits: pair.layers ? exits.map(exit) : null,
    thresholds: levels?.slice(0, -1).map((title, i) => ({ title, usual: usual(i) })) ?? null,
    level_rules: levels?.slice(1, -1).map((title, i) => ({ title, usual: "", oneOf: below(tree(i)) })) ?? null,
  };
}

/** What has to change in the lists of levels: a stack that the pair's models do not make, and exits out of order or reach. @type {(values: Values, pair: PairLevels) => Values} */
function levelled({ stack = [], exits = [] }, { models, layers, exits: usual }) {
  const target = models.length - 1;
  const stacked =
    !stack.length || (stack.at(-1) === target && stack.every((/** @type {number} */ place) => place <= target));
  const within = !layers || !exits.some((/** @type {number} */ depth) => depth > layers);
  const ordered = exits.every(
    (/** @type {number} */ depth, /** @type {number} */ i) => !(depth < exits[i - 1]) || !depth,
  ); // one that is being typed is empty
  const all = models.map((_, place) => place);
  const sorted = within ? exits.toSorted((/** @type {number} */ a, /** @type {number} */ b) => a - b) : usual;
  return {
    ...(models.length && (!stacked || !stack.length) && { stack: all }),
    ...((!ordered || !within) && { exits: sorted }),
  };
}

export { fit, levelled, lists, UNKNOWN };

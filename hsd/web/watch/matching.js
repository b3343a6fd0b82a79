// Which of a run's options go together, and which of them give way to one that was set. What fits what is in the facts:
// a rule's kinds of trees, whether it judges a single draft, whether a proposer copies. Pure.
import { facts, rule } from "../kit/facts.js";

const GIVE_WAY = ["shadow", "proposer", "tree", "drafts", "rule"]; // each sooner than the next, whatever else has to
const SEVERAL = 4; // drafts, where a tree or a rule for trees was set
const COPIERS = facts.proposers.filter(({ copies }) => copies).map(({ name }) => name);

const judges = (name, { drafts, tree }) => (drafts > 1 ? rule(name).trees.includes(tree) : rule(name).single);

/** What must hold; `set` is the option that was set last, which must mean something. */
const CONDITIONS = [
  ({ drafts, proposer }) => drafts === 1 || !COPIERS.includes(proposer),
  (values) => judges(values.rule, values),
  (values) => !values.shadow || judges(values.shadow, values),
  ({ drafts }, set) => set !== "tree" || drafts > 1,
];

/** What each option may become: what it is, then what is usual, then all there is. */
const CHOICES = {
  shadow: ({ shadow }) => [shadow, ""],
  proposer: ({ proposer }) => [proposer, facts.options.properties.proposer.default],
  tree: ({ tree }) => [tree, ...facts.layouts.map(({ name }) => name)],
  drafts: ({ drafts }) => [drafts, 1, SEVERAL],
  rule: (values) => [values.rule, facts.options.properties.rule.default, ...facts.rules.map(({ name }) => name)],
};

/** All combinations, those that change least and latest in `GIVE_WAY` first: [{values, cost}]. */
function* combinations(values, names) {
  const [name, ...rest] = names;
  if (!name) return yield {};
  for (const choice of new Set(CHOICES[name](values)))
    for (const others of combinations(values, rest)) yield { ...others, [name]: choice };
}

/**
 * The options that have to change, and to what, after the visitor has set `set`, which itself stays: as few of the others
 * as possible, and as little as possible. {} if all fit, or nothing can make them fit.
 */
function fit(values, set) {
  const open = GIVE_WAY.filter((name) => name !== set).reverse();
  let best = null;
  for (const change of combinations(values, open)) {
    const changed = open.filter((name) => change[name] !== values[name]);
    const cost = changed.reduce((sum, name) => sum + 2 ** GIVE_WAY.indexOf(name), 0);
    if (best && best.cost <= cost) continue;
    const whole = { ...values, ...change };
    if (CONDITIONS.every((holds) => holds(whole, set))) best = { cost, changed, change };
  }
  return best ? Object.fromEntries(best.changed.map((name) => [name, best.change[name]])) : {};
}

export { fit };

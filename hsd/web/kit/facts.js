// Names, titles, limits and looks, as hsd/facts.py has them; fetched once, when the page starts.
const inside = globalThis.document?.getElementById("hsd-facts"); // where the page is a single file
/** @type {Facts} */
const facts = inside
  ? JSON.parse(inside.textContent)
  : await (await fetch(new URL("../facts.json", import.meta.url))).json();

/** @template {{name: string}} T @param {T[]} list @returns {Map<string, T>} */
const index = (list) => new Map(list.map((entry) => [entry.name, entry]));
const rulesWithDrafts = facts.rules.map((entry) => ({
  ...entry,
  drafts: entry.asked !== entry.name,
}));
const rules = index(rulesWithDrafts);
const layouts = index(facts.layouts);
const divergences = index(facts.divergences);
const systems = index(facts.systems);

/**
 * Return a function that gives the facts of a name. A later version may have written a name that is
 * not known: then the name stands for its title, its short form and its head.
 * @type {<T extends {name: string}>(known: Map<string, T>) => (name: string) => T}
 */
const find = (known) => (name) =>
  known.get(name) ??
  /** @type {any} */ ({
    name,
    title: name,
    short: name,
    head: name,
    capitalised_name: name,
    lossless: true,
  });

/**
 * See facts() in hsd/facts.py; drafts: judges one draft after another by the chain rule `asked`.
 */
const rule = find(rules);
const layout = find(layouts);
const divergence = find(divergences);
const system = find(systems);

export { facts, rule, layout, divergence, system };

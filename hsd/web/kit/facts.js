// Names, titles, limits and looks, as hsd/facts.py has them; fetched once, when the page starts.
const inside = globalThis.document?.getElementById("hsd-facts"); // where the page is a single file
/** @type {Facts} */
const facts = inside
  ? JSON.parse(inside.textContent)
  : await (await fetch(new URL("../facts.json", import.meta.url))).json();

/** @template {{name: string}} T @param {T[]} list @returns {Map<string, T>} */
const index = (list) => new Map(list.map((one) => [one.name, one]));
const rules = index(facts.rules.map((one) => ({ ...one, drafts: one.asked !== one.name })));
const layouts = index(facts.layouts);
const divergences = index(facts.divergences);
const systems = index(facts.systems);

/** The facts of a name; of one that a later version may have written only the name itself, in its place of each. @type {<T extends {name: string}>(known: Map<string, T>) => (name: string) => T} */
const find = (known) => (name) =>
  known.get(name) ?? /** @type {any} */ ({ name, title: name, short: name, head: name, lossless: true });

/** See facts() in hsd/facts.py; drafts: judges one draft after another by the chain rule `asked`. */
const rule = find(rules);
const layout = find(layouts);
const divergence = find(divergences);
const system = find(systems);

export { facts, rule, layout, divergence, system };

// Names, titles, limits and looks, as hsd/facts.py has them; fetched once, when the page starts.
const told = globalThis.document?.getElementById("hsd-facts"); // where the page is a single file
const facts = told
  ? JSON.parse(told.textContent)
  : await (await fetch(new URL("../facts.json", import.meta.url))).json();

const index = (list) => new Map(list.map((one) => [one.name, one]));
const rules = index(facts.rules.map((one) => ({ ...one, drafts: one.asked !== one.name })));
const layouts = index(facts.layouts);
const divergences = index(facts.divergences);
const systems = index(facts.systems);

/** What there is to know of a name that a later version may have written: the name itself. */
function unknown(name) {
  const words = String(name);
  return { name: words, title: words, short: words, head: words, lossless: true };
}
const find = (known) => (name) => known.get(name) || unknown(name);

/** See facts() in hsd/facts.py; drafts: judges one draft after another by the chain rule `asked`. */
const rule = find(rules);
const layout = find(layouts);
const divergence = find(divergences);
const system = find(systems);

export { facts, rule, layout, divergence, system };

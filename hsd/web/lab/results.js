// The second card: every rule's exact numbers, one row each, and what they say.
import { rule as titled } from "../kit/facts.js";
import { card, h, say, unique } from "./parts.js";
import { RULES } from "./rules.js";
import { distance, findings, four, verdict } from "./words.js";

const COLUMNS = [
  ["kept", "Kept, E[τ]"],
  ["distance", "Total variation"],
  ["calls", "Target calls"],
  ["rate", "Tokens per call"],
  ["lossless", "Lossless"],
];
const FINE_PRINT =
  "Kept: drafted tokens that survive one step, on average; the upright mark is the ideal. Total variation: how far the " +
  "output is from the target, as the largest difference in probability that any event can show. Tokens per call: what a " +
  "step writes, over its target calls.";

/** others: names of rules whose numbers come from the server, a little later, and which no other card can show. */
function results(actions, others) {
  const group = unique("rule");
  const lines = [...Object.keys(RULES), ...others].map((name) => line(name, group, actions));
  const ideal = h("td", { "data-label": "Kept, E[τ]" });
  const table = h(
    "table",
    { class: "hl-rules" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "Rule"),
        COLUMNS.map(([, words]) => h("th", { scope: "col" }, words)),
      ),
    ),
    h(
      "tbody",
      {},
      lines.map((one) => one.element),
      h(
        "tr",
        { class: "hl-ideal" },
        h("th", { scope: "row" }, "Ideal, Σ min(p(X), q(X))"),
        ideal,
        h("td", { class: "hl-wide", colspan: 4 }, "no lossless rule keeps more on average"),
      ),
    ),
  );
  const notes = h("ul", { class: "hl-notes" });
  const element = card(
    "results",
    "Which rules are lossless, and what each keeps",
    "Exact: every draft and every outcome is listed, with no sampling. Pick a rule to look at it below.",
    table,
    notes,
    h("p", { class: "hl-fine" }, FINE_PRINT),
  );

  function update({ valid, exact, model, others: told }) {
    const rules = { ...exact.rules, ...told };
    for (const one of lines) one.update(rules, exact.ideal, valid);
    say(ideal, four(exact.ideal));
    const list = findings(exact, model);
    notes.replaceChildren(...list.map(({ title, text }) => h("li", {}, h("b", {}, title), " ", text)));
  }

  return { element, update };
}

function line(name, group, actions) {
  const cells = Object.fromEntries(
    COLUMNS.map(([key, words]) => [key, h("td", { "data-label": words, "class": `hl-${key}` })]),
  );
  const known = Object.hasOwn(RULES, name);
  const pick = { type: "radio", name: group, value: name, disabled: !known, onchange: () => actions.rule(name) };
  const radio = h("input", pick);
  const fill = h("span", { class: "hl-fill" });
  const mark = h("span", { class: "hl-mark" });
  const number = h("span", { class: "hl-figure" });
  const bar = h("span", { "class": "hl-bar", "aria-hidden": "true" }, fill, mark);
  cells.kept.append(number, bar);
  const element = h(
    "tr",
    { "data-rule": name },
    h(
      "th",
      { scope: "row" },
      h("label", {}, radio, h("span", { title: known ? "" : "exact numbers from the server" }, titled(name).title)),
    ),
    Object.values(cells),
  );

  function update(rules, ideal, { rule: selected, gamma }) {
    const found = rules[name];
    if (!found) return;
    const judged = verdict(found);
    radio.checked = name === selected;
    element.classList.toggle("is-selected", name === selected);
    say(number, four(found.kept));
    fill.style.width = `${(100 * found.kept) / gamma}%`;
    mark.style.left = `${(100 * ideal) / gamma}%`;
    say(cells.distance, distance(found.distance));
    cells.distance.title =
      found.exact && found.distance > 0 ? `${found.distance.toExponential(1)}, which is rounding` : "";
    say(cells.calls, found.extra > 1e-12 ? `1 + ${four(found.extra)}` : "1");
    say(cells.rate, four(found.committed / found.calls));
    say(cells.lossless, `${judged.icon} ${judged.word}`);
    cells.lossless.title = judged.title;
    cells.lossless.className = `hl-lossless ${judged.css}`;
  }

  return { element, update };
}

export { results };

// The second card: every rule's exact numbers, one row each, and what they say.
import { h } from "../kit/dom.js";
import { card, say, unique } from "../kit/parts.js";
import { CHAINS } from "../rules/law.js";
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

/** The card. @param {LabActions} actions */
function results(actions) {
  const group = unique("rule");
  const lines = [...CHAINS.values()].map((rule) => line(rule, group, actions));
  const ideal = h("td", { "data-label": "Kept, E[τ]" });
  const row = h("th", { scope: "row" }, "Ideal, Σ min(p(X), q(X))");
  const last = h("tr.hf-ideal", row, ideal, h("td.hf-wide", { colspan: 4 }, "no lossless rule keeps more on average"));
  const heads = ["Rule", ...COLUMNS.map(([, words]) => words)].map((words) => h("th", { scope: "col" }, words));
  const rows = lines.map((one) => one.element);
  const table = h("table.hf-rules", h("thead", h("tr", heads)), h("tbody", rows, last));
  const notes = h("ul.hf-notes");
  const element = card(
    "hf-results",
    "Which rules are lossless, and what each keeps",
    "Exact: every draft and every outcome is listed, with no sampling. Pick a rule to look at it below.",
    table,
    h("details.hp-folded", h("summary", "What stands out"), notes, h("p.hp-hint", FINE_PRINT)),
  );

  function update(/** @type {LabView} */ { valid, exact, model }) {
    for (const one of lines) one.update(exact, valid);
    say(ideal, four(exact.ideal));
    const list = findings(exact, model);
    notes.replaceChildren(...list.map(({ title, text }) => h("li", h("b", title), " ", text)));
  }

  return { element, update };
}

/** One rule's row. @param {Chain} rule @param {string} group @param {LabActions} actions */
function line({ name, title }, group, actions) {
  const cells = Object.fromEntries(COLUMNS.map(([key, words]) => [key, h(`td.hf-${key}`, { "data-label": words })]));
  const radio = h("input", { type: "radio", name: group, value: name, onchange: () => actions.rule(name) });
  const [number, fill, mark] = [h("span.hf-figure"), h("span.hf-fill"), h("span.hf-mark")];
  cells.kept.append(number, h("span.hf-bar", { "aria-hidden": "true" }, fill, mark));
  const head = h("th", { scope: "row" }, h("label", radio, h("span", title)));
  const element = h("tr", { "data-rule": name }, head, Object.values(cells));

  function update(/** @type {LabView["exact"]} */ { rules, ideal }, /** @type {LabState} */ { rule: selected, gamma }) {
    const audit = rules[name];
    const judged = verdict(audit);
    radio.checked = name === selected;
    element.classList.toggle("is-selected", name === selected);
    say(number, four(audit.kept));
    fill.style.width = `${(100 * audit.kept) / gamma}%`;
    mark.style.left = `${(100 * ideal) / gamma}%`;
    say(cells.distance, distance(audit.distance));
    cells.distance.title =
      audit.exact && audit.distance > 0 ? `${audit.distance.toExponential(1)}, which is rounding` : "";
    say(cells.calls, audit.extra > 1e-12 ? `1 + ${four(audit.extra)}` : "1");
    say(cells.rate, four(audit.committed / audit.calls));
    say(cells.lossless, judged.words);
    cells.lossless.title = judged.title;
    cells.lossless.className = `hf-lossless ${judged.css}`;
  }

  return { element, update };
}

export { results };

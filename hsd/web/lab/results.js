// The second card: every rule's exact numbers, one row each, and what they say.
import { h } from "../kit/dom.js";
import { card, say, unique } from "../kit/controls.js";
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
  "Kept: drafted tokens that survive one step, on average; the upright mark is the ideal. Total " +
  "variation: how far the output is from the target, as the largest difference in probability " +
  "that any event can show. Tokens per call: what a step writes, over its target calls.";

/** The card. @param {LabActions} actions */
function results(actions) {
  const group = unique("rule");
  const lines = [...CHAINS.values()].map((rule) => line(rule, group, actions));
  const ideal = h("td", { "data-label": "Kept, E[τ]" });
  const name = h("th", { scope: "row" }, "Ideal, Σ min(p(X), q(X))");
  const most = h("td.hf-wide", { colspan: 4 }, "no lossless rule keeps more on average");
  const heads = COLUMNS.map(([, words]) => h("th", { scope: "col" }, words));
  const head = h("tr", h("th", { scope: "col" }, "Rule"), heads);
  const rows = lines.map((line) => line.element);
  const body = h("tbody", rows, h("tr.hf-ideal", name, ideal, most));
  const table = h("table.hf-rules", h("thead", head), body);
  const notes = h("ul.hf-notes");
  const element = card(
    "hf-results",
    "Which rules are lossless, and what each keeps",
    "Exact: every draft and every outcome is listed, with no sampling. " +
      "Pick a rule to look at it below.",
    table,
    h("details.hp-folded", h("summary", "What stands out"), notes, h("p.hp-hint", FINE_PRINT)),
  );

  function update(/** @type {LabView} */ { valid, exact, model }) {
    for (const line of lines) line.update(exact, valid);
    say(ideal, four(exact.ideal));
    const list = findings(exact, model);
    const items = list.map(({ title, text }) => h("li", h("b", title), " ", text));
    notes.replaceChildren(...items);
  }

  return { element, update };
}

/**
 * The row of one rule.
 * @param {Chain} rule
 * @param {string} group - the name of the radio buttons
 * @param {LabActions} actions
 */
function line({ name, title }, group, actions) {
  const cells = Object.fromEntries(
    COLUMNS.map(([key, words]) => [key, h(`td.hf-${key}`, { "data-label": words })]),
  );
  const onchange = () => actions.rule(name);
  const radio = h("input", {
    type: "radio",
    name: group,
    value: name,
    onchange,
  });
  const number = h("span.hf-figure");
  const fill = h("span.hf-fill");
  const mark = h("span.hf-mark");
  cells.kept.append(number, h("span.hf-bar", { "aria-hidden": "true" }, fill, mark));
  const head = h("th", { scope: "row" }, h("label", radio, h("span", title)));
  const element = h("tr", { "data-rule": name }, head, Object.values(cells));

  /**
   * @param {LabExact} exact
   * @param {LabState} state
   */
  function update({ rules, ideal }, { rule: selected, gamma }) {
    const audit = rules[name];
    const judged = verdict(audit);
    radio.checked = name === selected;
    element.classList.toggle("is-selected", name === selected);
    say(number, four(audit.kept));
    fill.style.width = `${(100 * audit.kept) / gamma}%`;
    mark.style.left = `${(100 * ideal) / gamma}%`;
    say(cells.distance, distance(audit.distance));
    const rounding = audit.exact && audit.distance > 0;
    const digits = audit.distance.toExponential(1);
    cells.distance.title = rounding ? `${digits}, which is rounding` : "";
    say(cells.calls, audit.extra > 1e-12 ? `1 + ${four(audit.extra)}` : "1");
    say(cells.rate, four(audit.committed / audit.calls));
    say(cells.lossless, judged.words);
    cells.lossless.title = judged.title;
    cells.lossless.className = `hf-lossless ${judged.css}`;
  }

  return { element, update };
}

export { results };

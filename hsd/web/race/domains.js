// The recorded races beside each other: every lane on a prompt of each domain, and over all of them.
import { h } from "../kit/dom.js";
import { card } from "../kit/parts.js";
import { fixed, range, verdict } from "./results.js";

const HINT =
  "Speed-up over plain decoding, the median of the rounds and in brackets their range; and tokens per target call.";

/** {element, show(races, all)}: hidden where there are not several races. */
function create() {
  const lead = verdict();
  const table = h("table.rc-table.rc-domains");
  const element = card("", "All domains", HINT, lead.element, h("div.rc-scroll", table));

  /** races: {domain, result} each; all: the report of all together. */
  function show(races, all) {
    element.hidden = !all;
    if (!all) return;
    const columns = [...races.map(({ domain, result }) => [domain, result.rows]), ["All", all.rows]];
    const heads = columns.map(([title]) => h("th", { scope: "col" }, title));
    const lines = all.rows.slice(1).map((row, i) => line(row.case, i + 1, columns)); // plain decoding is the measure
    lead.show(all.lead);
    table.replaceChildren(h("thead", h("tr", h("th", { scope: "col" }, "lane"), heads)), h("tbody", lines));
  }

  show([], null);
  return { element, show };
}

/** A lane in every column: [title, rows]. */
function line(name, i, columns) {
  const cells = columns.map(([title, rows]) => cell(title, rows[i]));
  const kept = name.replaceAll(" = ", "\u00a0=\u00a0"); // "γ = 2" stays on one line
  return h("tr", { "data-case": name }, h("th", { scope: "row" }, kept), cells);
}

function cell(title, row) {
  const speed = h("span.rc-speedup", h("strong", `${fixed(row.speedup)} ×`), range(row));
  const tokens = h("span.rc-tokens", `${fixed(row.tokens_per_call)} per call`);
  return h("td", { "data-label": title }, h("span.rc-both", speed, tokens));
}

export { create };

// The results: who is fastest, the table, where the time went, a sentence on every lane. All numbers are the server's.
import { h } from "../kit/dom.js";
import { number } from "../kit/format.js";

const MISSING = "–";
const PARTS = [
  ["draft", "drafting models"],
  ["target", "target model"],
  ["verify", "verification"],
  ["sampling", "probabilities and draws"],
  ["rest", "rest"],
];
const shown = (x) => x !== null && x !== undefined;
const fixed = (x, digits = 2) => (shown(x) ? x.toFixed(digits) : MISSING);
const rate = (x) => (shown(x) ? (x >= 20 ? Math.round(x).toLocaleString("en") : x.toFixed(1)) : MISSING);
const range = ([low, high], runs) => (runs > 1 && shown(low) ? ` (${fixed(low)}–${fixed(high)})` : "");
const share = (x) => (x >= 0.095 ? `${Math.round(100 * x)} %` : `${(100 * x).toFixed(1)} %`);

// name, heading, what it means, text of a row
const COLUMNS = [
  ["tokens", "tokens", "new tokens of one run", (row) => String(row.tokens)],
  [
    "target_calls",
    "target calls",
    "forward passes of the target after the prompt was read",
    (row) => String(row.target_calls),
  ],
  [
    "tokens_per_call",
    "tokens per call",
    "block efficiency: new tokens per target call",
    (row) => fixed(row.tokens_per_call),
  ],
  ["seconds", "seconds", "median over the timed runs, reading the prompt included", (row) => number(row.seconds)],
  ["tokens_per_second", "tokens/s", "median over the timed runs", (row) => rate(row.tokens_per_second)],
  [
    "speedup",
    "speed-up",
    "tokens per second over plain decoding's, round by round: median (and range)",
    (row, i) => `${fixed(row.speedup)}${i ? range(row.speedups, row.runs) : ""}`,
  ],
  ["limit", "limit S*", "the speed-up if nothing but the models' calls took time", (row) => fixed(row.limit)],
  ["efficiency", "efficiency", "speed-up over limit", (row) => fixed(row.efficiency)],
];

function create() {
  const lead = h("p", { class: "rc-lead", role: "status" });
  const note = h("p", { class: "rc-hint rc-basis" });
  const head = h(
    "tr",
    {},
    h("th", { scope: "col" }, "lane"),
    COLUMNS.map(([, title, meaning]) => h("th", { scope: "col", title: meaning }, title)),
  );
  const body = h("tbody");
  const table = h("table", { class: "rc-table" }, h("thead", {}, head), body);
  const bars = h("ul", { class: "rc-times" });
  const why = h("ol", { class: "rc-why" });
  const legend = h(
    "p",
    { class: "rc-hint rc-legend" },
    PARTS.map(([part, words]) => h("span", {}, h("span", { class: `rc-swatch of-${part}` }), ` ${words}`)),
  );
  const timed = h(
    "section",
    { "class": "rc-card", "aria-label": "Where the time went" },
    h(
      "div",
      { class: "rc-head" },
      h("h3", { class: "rc-title" }, "Where the time went"),
      h("p", { class: "rc-hint" }, "milliseconds per new token; shorter is faster"),
    ),
    bars,
    legend,
  );
  const reasons = h(
    "section",
    { "class": "rc-card", "aria-label": "Faster or slower, and why" },
    h("h3", { class: "rc-title" }, "Faster or slower, and why"),
    why,
    definitions(),
  );
  const files = h("div", { class: "rc-tools rc-files" });
  const results = h(
    "section",
    { "class": "rc-card", "aria-label": "Result" },
    h("h3", { class: "rc-title" }, "Result"),
    lead,
    h("div", { class: "rc-scroll" }, table),
    note,
    files,
  );
  const element = h("div", { class: "rc-results" }, results, timed, reasons);

  /** waiting: what to say while there are no numbers. */
  function show(report, names, waiting) {
    lead.textContent = report ? report.lead : waiting;
    note.textContent = report ? report.basis : "";
    for (const part of [timed, reasons, table, files]) part.hidden = !report;
    if (!report) return;
    const { rows } = report;
    body.replaceChildren(
      ...rows.map((row, i) => line(row, i)),
      ...names.filter((name) => !rows.some((row) => row.case === name)).map(untimed),
    );
    const longest = Math.max(...rows.map((row) => row.ms_per_token));
    bars.replaceChildren(...rows.map((row) => bar(row, longest)));
    why.replaceChildren(...rows.map((row) => h("li", {}, h("strong", {}, row.case), ": ", row.sentence)));
  }

  return { element, show, files };
}

function line(row, i) {
  return h(
    "tr",
    { "data-case": row.case },
    h("th", { scope: "row" }, row.case),
    COLUMNS.map(([name, title, , words]) => h("td", { "data-column": name, "data-label": title }, words(row, i))),
  );
}

function untimed(name) {
  return h(
    "tr",
    { "data-case": name, "class": "is-untimed" },
    h("th", { scope: "row" }, name),
    h("td", { "colspan": COLUMNS.length, "data-column": "none" }, "not timed"),
  );
}

/** A lane's time per token: the bars of all lanes have one scale. */
function bar(row, longest) {
  const parts = PARTS.map(([part, words]) => [part, words, row.shares[part]]);
  const told = parts
    .filter(([, , x]) => x > 0)
    .map(([, words, x]) => `${words} ${share(x)}`)
    .join(", ");
  return h(
    "li",
    { "data-case": row.case },
    h(
      "div",
      { class: "rc-line" },
      h("span", { class: "rc-name" }, row.case),
      h("span", { class: "rc-counts" }, `${number(row.ms_per_token)} ms per token`),
    ),
    h(
      "div",
      {
        "class": "rc-stack",
        "role": "img",
        "aria-label": `${row.case}: ${told}`,
        "style": `width: ${(100 * row.ms_per_token) / longest}%`,
      },
      parts.map(([part, words, x]) =>
        h(
          "span",
          {
            class: `rc-share of-${part}`,
            title: `${words}: ${share(x)}, ${number(row.parts_ms[part])} ms per token`,
            style: `flex-grow: ${Math.max(x, 0.0001)}`,
          },
          x >= 0.12 ? h("span", { class: "rc-figure" }, share(x)) : null,
        ),
      ),
    ),
    h("p", { class: "rc-hint" }, told),
  );
}

function definitions() {
  return h(
    "details",
    { class: "rc-more" },
    h("summary", {}, "What these numbers are"),
    h(
      "p",
      { class: "rc-hint" },
      "Limit: S* = A · T(1) / (γ · d + T(γ+1)), with what this race measured: A tokens per target call, d the " +
        "median time of a draft call, T(w) that of a target call that reads w tokens. With several drafts, and " +
        "with stacked models or exits, the denominator is the mean over steps of the median times of the calls made. " +
        "Efficiency: speed-up over limit.",
    ),
    h(
      "p",
      { class: "rc-hint" },
      "Every lane runs once to warm up, which counts for nothing; then all lanes take turns, with the same seed " +
        "each time. Tracing is off. Reading the prompt counts in seconds and in the speed-up, not in tokens per " +
        "call. Lanes write different texts, and how much a rule keeps of its drafts on one text is partly luck: " +
        "for a comparison of rules measure many prompts.",
    ),
  );
}

export { create, COLUMNS, PARTS };

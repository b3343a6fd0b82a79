// The results: calls saved and who is fastest, the table, where the time went, a sentence on every lane. All numbers
// are the server's.
import { h } from "../kit/dom.js";
import { number } from "../kit/format.js";
import { card } from "../kit/parts.js";

const MISSING = "–";
const PARTS = [
  ["draft", "drafting models"],
  ["target", "target model"],
  ["verify", "verification"],
  ["sampling", "probabilities and draws"],
  ["rest", "rest"],
];
const shown = (x) => x !== null && x !== undefined;
const fixed = (x) => (shown(x) ? x.toFixed(2) : MISSING);
const rate = (x) => (shown(x) ? (x >= 20 ? Math.round(x).toLocaleString("en") : x.toFixed(1)) : MISSING);
const share = (x) => (x >= 0.095 ? `${Math.round(100 * x)} %` : `${(100 * x).toFixed(1)} %`);
const range = ({ speedups: [low, high], runs }) => (runs > 1 && shown(low) ? ` (${fixed(low)}–${fixed(high)})` : "");

// name, heading, what it means, text of its value in a row
const COLUMNS = [
  ["tokens", "tokens", "new tokens of one run", String],
  [
    "target_calls",
    "target calls",
    "forward passes of the target after the prompt was read",
    (x) => String(x ?? MISSING),
  ],
  ["tokens_per_call", "tokens per call", "block efficiency: new tokens per target call", fixed],
  ["seconds", "seconds", "median over the timed runs, reading the prompt included", (x) => number(x)],
  ["tokens_per_second", "tokens/s", "median over the timed runs", rate],
  [
    "speedup",
    "speed-up",
    "tokens per second over plain decoding's, round by round: median (and range)",
    (x, row, i) => fixed(x) + (i && shown(x) ? range(row) : ""),
  ],
  ["limit", "by calls alone", "S*, the speed-up if nothing but the models' calls took time, each its median", fixed],
  ["efficiency", "reached of that", "the speed-up over what the calls alone allow", fixed],
];

const COUNTS = ["tokens", "target_calls", "tokens_per_call", "seconds", "tokens_per_second", "speedup"];
const TIMES = ["ms_per_token", "target_call_ms", "draft_call_ms", "prefill_ms", "outside_ms_per_step"];
const FIELDS = [...COUNTS, "limit", "efficiency", "runs", ...TIMES]; // of a saved table

const LINES = [
  ["calls", "Target calls saved"],
  ["seconds", "Seconds here"],
];
const LIMIT =
  "By calls alone: the speed-up if nothing but the models' calls took time, S* = A · T(1) / (γ · d + T(γ+1)), with what this race measured: A tokens per target call, d the " +
  "median time of a draft call, T(w) that of a target call that reads w tokens. With several drafts, with copies " +
  "of the text, and with stacked models or exits, the denominator is the mean over steps of the median times of the " +
  "calls made. " +
  "More than that is reached where plain decoding spends more of its time outside its calls, or calls happened to be faster " +
  "than their median.";
const STEPS =
  "A step's cost in tokens that plain decoding writes in that time. Where the bar ends is break-even: with ◆ to the " +
  "right of it a step paid, to the left of it it did not.";
const STEP_PARTS = [
  ["draft", "drafting"],
  ["target", "one check of the whole draft"],
  ["rest", "all else"],
];
const RACED =
  "Every lane runs once to warm up, which counts for nothing; then all lanes take turns, with the same seed " +
  "each time. Tracing is off. Reading the prompt counts in seconds and in the speed-up, not in tokens per " +
  "call. Lanes write different texts, and how much a rule keeps of its drafts on one text is partly luck: " +
  "for a comparison of rules measure many prompts.";

const hint = (words) => h("p.hp-hint", words);

/** The verdict in two lines, {element, show(lead, waiting)}: what was counted, and what was timed. */
function verdict() {
  const element = h("div.rc-lead", { role: "status" });
  const line = ([name, title], lead) => h("p", { "data-line": name }, h("strong", `${title}: `), lead[name]);
  const show = (lead, waiting) => {
    element.replaceChildren(...(lead ? LINES.map((one) => line(one, lead)) : [h("p", waiting)]));
  };
  return { element, show };
}

/** files: the buttons that save the numbers. lead: the verdict. */
function create(files) {
  const lead = verdict();
  const note = h("p.hp-hint.rc-basis");
  const heads = COLUMNS.map(([, words, meaning]) => h("th", { scope: "col", title: meaning }, words));
  const body = h("tbody");
  const table = h("table.rc-table", h("thead", h("tr", h("th", { scope: "col" }, "lane"), heads)), body);
  const bars = h("ul.rc-times");
  const why = h("ol.rc-why");
  const steps = h("ul.rc-steps");
  const parts = PARTS.map(([part, words]) => h("span", h(`span.hp-swatch.of-${part}`), ` ${words}`));
  const costs = STEP_PARTS.map(([part, words]) => h("span", h(`span.hp-swatch.of-${part}`), ` ${words}`));
  costs.push(h("span", h("strong", "◆"), " tokens that it brought, on average"));
  const scale = "milliseconds per new token; shorter is faster";
  const times = card("", "Where the time went", scale, bars, h("p.hp-hint.hp-keyline.rc-legend", parts));
  const more = h("details.rc-more", h("summary", "What these numbers are"), hint(LIMIT), hint(RACED));
  const reasons = card(
    "",
    "Faster or slower, and why",
    STEPS,
    steps,
    h("p.hp-hint.hp-keyline.rc-legend", costs),
    why,
    more,
  );
  const result = card("", "Result", "", h("div.rc-scroll", table), note, files);
  const title = result.querySelector(".hp-title");
  const element = h("div.rc-results", result, times, reasons);

  /** lanes: all of them; waiting: what to say while there are no numbers; domain: of a recorded race. */
  function show(report, lanes, waiting, domain) {
    title.textContent = domain ? `Result: ${domain}` : "Result";
    lead.show(report && report.lead, waiting);
    result.hidden = !report;
    note.textContent = report ? report.basis : "";
    for (const part of [times, reasons]) part.hidden = !report;
    if (!report) return;
    const { rows, served } = report;
    const timed = [...rows, ...served];
    const untimed = lanes.filter(({ name }) => !timed.some((row) => row.case === name));
    const longest = Math.max(...rows.map((row) => row.ms_per_token));
    body.replaceChildren(...timed.map(line), ...untimed.map(empty));
    bars.replaceChildren(...rows.map((row) => bar(row, longest)));
    steps.replaceChildren(...paid(rows.filter((row) => row.step)));
    why.replaceChildren(...timed.map((row) => h("li", h("strong", row.case), ": ", row.sentence)));
  }

  return { element, lead: lead.element, show };
}

function line(row, i) {
  const cell = ([name, label, , text]) =>
    h("td", { "data-column": name, "data-label": label }, text(row[name], row, i));
  return h("tr", { "data-case": row.case }, h("th", { scope: "row" }, row.case), COLUMNS.map(cell));
}

function empty({ name }) {
  const cell = h("td", { "colspan": COLUMNS.length, "data-column": "none" }, "not timed");
  return h("tr", { "data-case": name }, h("th", { scope: "row" }, name), cell);
}

/** A lane's time per token: the bars of all lanes have one scale. */
function bar(row, longest) {
  const parts = PARTS.map(([part, words]) => ({ part, words, x: row.shares[part], told: share(row.shares[part]) }));
  const all = parts.flatMap(({ words, x, told }) => (x > 0 ? [`${words} ${told}`] : [])).join(", ");
  const piece = ({ part, words, x, told }) =>
    h(
      `span.rc-share.of-${part}`,
      {
        title: `${words}: ${told}, ${number(row.parts_ms[part])} ms per token`,
        style: `flex-grow: ${Math.max(x, 0.0001)}`,
      },
      x >= 0.12 ? h("span.rc-figure", told) : null,
    );
  const width = `width: ${(100 * row.ms_per_token) / longest}%`;
  const time = `${number(row.ms_per_token)} ms per token`;
  const stack = { "role": "img", "aria-label": `${row.case}: ${all}`, "style": width };
  return h(
    "li",
    { "data-case": row.case },
    h("div.rc-line", h("span.rc-name", row.case), h("span.rc-counts", time)),
    h("div.rc-stack", stack, parts.map(piece)),
    hint(all),
  );
}

/** What a step cost and brought, a lane per line; all have one scale. */
function paid(rows) {
  const cost = ({ draft, target, rest }) => draft + target + rest;
  const longest = 1.04 * Math.max(...rows.map(({ step }) => Math.max(step.tokens, cost(step))));
  const percent = (x) => `${(100 * x) / longest}%`;
  return rows.map(({ "case": name, step, pays, speedup }) => {
    const part = ([key, words]) =>
      h(`span.rc-share.of-${key}`, {
        title: `${words}: ${fixed(step[key])}`,
        style: `flex: 0 0 ${percent(step[key])}`,
      });
    const mark = h(
      "span.rc-brought",
      { style: `left: ${percent(step.tokens)}`, title: `brought ${fixed(step.tokens)} tokens` },
      "◆",
    );
    const bar = h("div.rc-stack", { "role": "img", "aria-label": `${name}: ${pays}` }, STEP_PARTS.map(part), mark);
    return h(
      "li",
      { "data-case": name, "class": speedup > 1 ? "is-faster" : "is-slower" },
      h("span.rc-name", name),
      bar,
      hint(pays),
    );
  });
}

// ---- what a visitor can take along

/** The numbers as lines of cells, one per lane. */
function table({ rows, served }) {
  const parts = PARTS.map(([part]) => part);
  const line = (row) => [
    row.case,
    ...FIELDS.map((name) => row[name] ?? ""),
    ...parts.map((part) => row.shares?.[part] ?? ""),
  ];
  return [["lane", ...FIELDS, ...parts.map((part) => `share_${part}`)], ...[...rows, ...served].map(line)];
}

/** The whole race in the format of the recorded ones, with the numbers beside it. */
const file = ({ domain = "", header, items, result }) =>
  JSON.stringify({ format: "hsd-race-2", races: [{ domain, header, events: items, report: result }] });

export { create, verdict, fixed, range, table, file };

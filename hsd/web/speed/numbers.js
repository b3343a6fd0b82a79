// Where the time of a race went, and the calls that were saved beside the seconds. All numbers are
// the report's.
import { h } from "../kit/dom.js";
import { csv } from "../kit/files.js";
import { number } from "../kit/format.js";
import { scroller } from "../kit/controls.js";
import { table } from "./tables.js";

const MISSING = "–";
const PARTS = [
  ["draft", "drafting models"],
  ["target", "target model"],
  ["verify", "verification"],
  ["sampling", "probabilities and draws"],
  ["rest", "rest"],
];
const fixed = (/** @type {Maybe} */ x) => x?.toFixed(2) ?? MISSING;
const share = (/** @type {number} */ x) =>
  x >= 0.095 ? `${Math.round(100 * x)} %` : `${(100 * x).toFixed(1)} %`;

/** The range of the speed-ups in brackets; "" where there is only one run. @param {RaceRow} row */
const range = ({ speedups, runs, prompts }) =>
  runs * prompts > 1 ? ` (${speedups.map(fixed).join("–")})` : "";

/**
 * The columns: name of the field, heading, what it means, and the text of its value in a row.
 * @type {[string, string, string, (x: any, row: RaceRow) => string][]}
 */
const COLUMNS = [
  ["tokens", "tokens", "new tokens of one run", String],
  [
    "target_calls",
    "target calls",
    "forward passes of the target after the prompt was read",
    String,
  ],
  ["tokens_per_call", "tokens per call", "block efficiency: new tokens per target call", fixed],
  [
    "seconds",
    "seconds",
    "median over the timed runs, reading the prompt included",
    (x) => number(x),
  ],
  [
    "speedup",
    "× plain",
    "tokens per second over plain decoding's, of the medians; in brackets of one prompt the " +
      "slowest and the fastest round, of several the 95 % interval",
    (x, row) => fixed(x) + range(row),
  ],
];
const HEADS = /** @type {Columns} */ ([
  ["lane", ""],
  ...COLUMNS.map(([, words, meaning]) => [words, meaning]),
]);
const COUNTS = [
  "tokens",
  "target_calls",
  "tokens_per_call",
  "seconds",
  "tokens_per_second",
  "speedup",
];
const TIMES = ["ms_per_token", "target_call_ms", "draft_call_ms", "outside_ms_per_step"];
const FIELDS = [...COUNTS, "limit", "efficiency", "runs", ...TIMES]; // of a saved table

const RACED =
  "What the calls alone allow is S* = A · T(1) / (γ · d + T(γ+1)), with what this race " +
  "measured: A tokens per target call, d the median time of a draft call, T(w) that of a target " +
  "call that reads w tokens. With several drafts, copies, stacked models or exits the " +
  "denominator is the mean over steps of the median times of the calls made. Tracing is off. How " +
  "much a rule keeps of its drafts on one text is partly luck: the benchmark below has many " +
  "prompts.";

/** The card of a race's numbers: its element, and `show` for a report, null for none. */
function numbers() {
  const bars = h("ul.hf-times");
  const saved = h("p.hf-words");
  const basis = h("p.hp-hint");
  const lines = scroller("numbers of the race");
  const keys = PARTS.map(([part, words]) => h("span", h(`span.hp-swatch.of-${part}`), ` ${words}`));
  const element = h(
    "details.hp-card.hf-numbers",
    h("summary", "Where the time went, and the calls that were saved"),
    h(
      "p.hp-hint",
      "Milliseconds per new token. The line marks plain decoding: a bar that ends before it is " +
        "faster.",
    ),
    bars,
    h("p.hp-hint.hp-keyline", keys),
    saved,
    lines,
    basis,
    h("details.hf-more", h("summary", "What these numbers are"), h("p.hp-hint", RACED)),
  );

  function show(/** @type {RaceReport | null} */ report) {
    element.hidden = !report;
    if (!report) return;
    const longest = Math.max(...report.rows.map((row) => row.ms_per_token));
    const [plain] = report.rows;
    bars.style.setProperty("--plain", `${(100 * plain.ms_per_token) / longest}%`);
    bars.replaceChildren(...report.rows.map((row) => bar(row, longest)));
    saved.textContent = report.calls;
    const cells = report.rows.map((row) => {
      const texts = COLUMNS.map(([name, , , text]) => text(row[name], row));
      return [row.case, ...texts];
    });
    lines.replaceChildren(table(HEADS, cells));
    basis.textContent = report.basis;
  }

  return { element, show };
}

/**
 * The bar of a lane's time per token, by its parts; the bars of all lanes have one scale.
 * @param {RaceRow} row
 * @param {number} longest - the longest time per token of a lane, in milliseconds
 */
function bar(row, longest) {
  const pieces = PARTS.map(([part, words]) => {
    const x = row.shares[part];
    const title = `${words}: ${share(x)}, ${number(x * row.ms_per_token)} ms per token`;
    const figure = x >= 0.12 ? h("span.hf-figure", share(x)) : null;
    const style = `flex-grow: ${Math.max(x, 0.0001)}`;
    return h(`span.hf-share.of-${part}`, { title, style }, figure);
  });
  const shares = PARTS.map(([part, words]) => `${words} ${share(row.shares[part])}`);
  const names = { "role": "img", "aria-label": `${row.case}: ${shares.join(", ")}` };
  const style = `width: ${(100 * row.ms_per_token) / longest}%`;
  const stack = h("div.hf-stack", { ...names, style }, pieces);
  const name = h("h4.hf-name", row.case);
  return h(
    "li",
    { "data-case": row.case },
    name,
    h("div.hf-track", stack),
    h("p.hp-hint", row.sentence),
  );
}

/** The numbers as CSV, a line per lane. @param {RaceReport} report */
function asCsv({ rows }) {
  const parts = PARTS.map(([part]) => part);
  const line = (/** @type {RaceRow} */ row) => {
    const fields = FIELDS.map((name) => row[name] ?? "");
    return [row.case, ...fields, ...parts.map((part) => row.shares[part])];
  };
  const heads = ["lane", ...FIELDS, ...parts.map((part) => `share_${part}`)];
  return csv([heads, ...rows.map(line)]);
}

export { asCsv, numbers };

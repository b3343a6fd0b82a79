// What a reader can save: the trace as JSON, the steps as CSV, the picture as SVG or PNG, a
// plain-text report.
import { csv as rowsOf } from "../kit/files.js";
import { number, plural } from "../kit/format.js";
import { together } from "../kit/spans.js";
import { film } from "./film.js";
import { setupLine } from "./frame.js";
import { readStep } from "./model.js";
import { png, svgText } from "./picture.js";
import { lines } from "./explain.js";
import { ran } from "./sums.js";

/** @type {Record<string, (step: Step, i: number) => unknown>} the columns of the table of steps */
const COLUMNS = {
  step: (_, i) => i + 1,
  context_length: (step) => step.context_length,
  drafted: (step) => step.drafted,
  kept: (step) => step.kept,
  other_rule: ({ shadow }) => shadow?.rule ?? "",
  other_kept: ({ shadow }) => shadow?.kept ?? "",
  target_calls: (step) => step.target_calls,
  text: ({ committed }) => together(committed),
  origins: ({ committed }) => committed.map(({ origin }) => origin).join(" "),
  draft_tokens: ({ nodes }) => nodes.map(({ piece }) => piece).join("|"),
  draft_parents: ({ nodes }) => nodes.map(({ parent }) => parent).join(" "),
  decisions: ({ verdict }) => (verdict ? testCells(verdict) : ""),
  changes: ({ verdict }) => verdict?.changes.map(changeCell).join("; ") ?? "",
  other_decisions: ({ shadow }) => (shadow ? testCells(shadow) : ""),
  seconds_draft: ({ times }) => times.draft,
  seconds_target: ({ times }) => times.target,
  seconds_verify: ({ times }) => times.verify,
  seconds_rest: ({ times }) => times.rest,
};

/**
 * The steps as comma-separated values, one line each, below a line of heads.
 * @type {(trace: Trace) => string}
 */
function csv({ steps }) {
  const rules = [...new Set(steps.flatMap((step) => Object.keys(step.expected_kept)))];
  const head = [...Object.keys(COLUMNS), ...rules.map((rule) => `expected_kept_${rule}`)];
  const rows = steps.map((step, i) => [
    ...Object.values(COLUMNS).map((value) => value(step, i)),
    ...rules.map((rule) => step.expected_kept[rule] ?? ""),
  ]);
  return rowsOf([head, ...rows]);
}

/**
 * "draft 5: 0.3 < 0.7; …": what was tested, the node, coin and threshold; with several drafts the
 * draft's number.
 * @type {(verdict: Verdict) => string}
 */
function testCells({ decisions }) {
  const several = decisions.some(({ draft }) => draft > 0);
  const tests = decisions.map(({ draft, test, node, coin, accepted, threshold }) => {
    const sign = accepted ? "<" : ">=";
    const number = several ? `[${draft + 1}] ` : "";
    return `${number}${test} ${node}: ${coin} ${sign} ${threshold}`;
  });
  return tests.join("; ");
}

/** What a rejection made of the target, as a formula. @type {(change: ChangeRecord) => string} */
const changeCell = ({ after, node, weight, mass }) =>
  `after ${after} at ${node}: max(${weight} p - q, 0) / ${mass}`;

/** The run in words, for an e-mail or a terminal. @type {(trace: Trace) => string} */
function report(trace) {
  const { setup, steps, result } = trace;
  const { tokens, calls } = ran(steps);
  const models = setup.models.map(({ name }) => name).join(", ");
  const recorded = `recorded ${trace.created} with hsd ${trace.app_version}`;
  const gained = `${plural(tokens, "token")} from ${plural(calls, "target call")}`;
  const rate = calls ? `, ${number(tokens / calls)} per call` : "";
  const head = [
    `Run: ${setupLine(trace, false)}`,
    `Models: ${models}; ${recorded}`,
    `Result: ${gained}${rate}; ended: ${result?.finish ?? "still running"}`,
    "",
    "Prompt:",
    trace.prompt.text,
    "",
    "Text:",
    result?.text ?? together(steps.flatMap(({ committed }) => committed)),
    "",
  ];
  const story = steps.flatMap((_, i) => [...lines(readStep(trace, i)), ""]);
  return [...head, ...story].join("\n");
}

/**
 * The run with its player as one file.
 * @type {(trace: Trace, view: SavedView) => Promise<string>}
 */
async function html(trace, view) {
  const template = await fetch(new URL("../single.html", import.meta.url)).catch(() => null);
  if (!template?.ok)
    throw new Error(
      "the page for the file could not be fetched: the page's server cannot be reached",
    );
  const run = JSON.stringify({
    trace,
    title: "",
    ...view,
  }).replaceAll("<", "\\u003c");
  return (await template.text()).replace(">RUN<", () => `>${run}<`);
}

/**
 * The content of a file, by its kind. Rejects if it cannot be made, with a line for the reader.
 * @type {(kind: string, trace: Trace, view: SavedView, player: Player) => Promise<string | Blob>}
 */
async function make(kind, trace, view, player) {
  const { picture } = player.stage;
  /** @type {Record<string, () => string | Promise<string | Blob>>} */
  const content = {
    json: () => JSON.stringify(trace),
    csv: () => csv(trace),
    txt: () => report(trace),
    html: () => html(trace, view),
    svg: () => svgText(picture, player.around()),
    png: () => png(picture, player.around()),
    gif: () => film(player.beats(() => svgText(picture, player.around()))),
  };
  return content[kind]();
}

export { make };

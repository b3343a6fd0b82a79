// What a reader can save: the trace as JSON, the steps as CSV, the picture as SVG or PNG, a plain-text report.
import { csv as rowsOf } from "../kit/files.js";
import { number, plural } from "../kit/format.js";
import { together } from "../kit/spans.js";
import { divergenceName, draftedBy, draftsWords, knobOf, readStep, ruleInfo, ruleOf } from "./model.js";
import { png, svgText } from "./picture.js";
import { lines } from "./sentences.js";

/** @type {Record<string, (step: object, i: number) => unknown>} the columns of the table of steps */
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
  changes: ({ verdict }) => (verdict ? verdict.changes.map(changeCell).join("; ") : ""),
  other_decisions: ({ shadow }) => (shadow ? testCells(shadow) : ""),
  seconds_draft: ({ times }) => times.draft,
  seconds_target: ({ times }) => times.target,
  seconds_verify: ({ times }) => times.verify,
  seconds_rest: ({ times }) => times.rest,
};

/** One line per step. @param {object} trace @returns {string} comma-separated values with a line of heads */
function csv({ steps }) {
  const rules = [...new Set(steps.flatMap((step) => Object.keys(step.expected_kept)))];
  const head = [...Object.keys(COLUMNS), ...rules.map((rule) => `expected_kept_${rule}`)];
  const rows = steps.map((step, i) => [
    ...Object.values(COLUMNS).map((value) => value(step, i)),
    ...rules.map((rule) => step.expected_kept[rule] ?? ""),
  ]);
  return rowsOf([head, ...rows]);
}

/** "draft 5: 0.3 < 0.7; …": what was tested, the node, coin and threshold; with several drafts the draft's number. */
function testCells({ decisions }) {
  const several = decisions.some((d) => d.draft > 0);
  const test = (d) =>
    `${several ? `[${d.draft + 1}] ` : ""}${d.test} ${d.node}: ${d.coin} ${d.accepted ? "<" : ">="} ${d.threshold}`;
  return decisions.map(test).join("; ");
}

const changeCell = ({ after, node, weight, mass }) => `after ${after} at ${node}: max(${weight} p - q, 0) / ${mass}`;

/** The run in words, for an e-mail or a terminal. */
function report(trace) {
  const { setup, steps, result } = trace;
  const tokens = steps.reduce((n, step) => n + step.committed.length, 0);
  const calls = steps.reduce((n, step) => n + step.target_calls, 0);
  const { options, models, pair, device } = setup;
  const { temperature, top_p, top_k } = options.sampling;
  const [target, draft] = [models[models.length - 1], models.length > 1 ? models[0] : null];
  const named = [`target ${target.name}`, draft ? `draft ${draft.name}` : "no draft"].join(", ");
  const head = [
    `Run: ${ruleInfo(ruleOf(options)).title}; ${draftWords(setup)}; temperature ${temperature}; top-p ${top_p}; top-k ${top_k}; seed ${options.seed}`,
    `Pair: ${pair} (${named}) on ${device}; recorded ${trace.created} with hsd ${trace.app_version}`,
    `Result: ${plural(tokens, "token")} from ${plural(calls, "target call")}${calls ? `, ${number(tokens / calls)} per call` : ""}; ended: ${result ? result.finish : "still running"}`,
    "",
    "Prompt:",
    trace.prompt.text,
    "",
    "Text:",
    result ? result.text : together(steps.flatMap(({ committed }) => committed)),
    "",
  ];
  const told = steps.flatMap((_, i) => [...lines(readStep(trace, i)), ""]);
  return [...head, ...told].join("\n");
}

/** How drafts come about, and by which settings they are judged where a rule has some. */
function draftWords(setup) {
  const { rule, shadow, draft, fuzzy } = setup.options;
  const near = `${divergenceName(fuzzy)} ≤ ${fuzzy.tolerance}, ${fuzzy.mode}, ${fuzzy.on} rows`;
  const settings = [...new Set([rule, shadow])].map((name) => {
    const { knob, by_divergence: byDivergence } = ruleInfo(name);
    return byDivergence ? near : knob ? `${knob.sign} = ${knobOf(setup, name)}` : "";
  });
  return [draftedBy(setup), draftsWords(draft), ...settings].filter(Boolean).join("; ");
}

/** The run with its player as one file. view: {step, from 0; node, supposed; from, the address that it was saved at}. */
async function html(trace, view) {
  const template = await fetch(new URL("../single.html", import.meta.url));
  if (!template.ok) throw new Error("the page for the file could not be fetched");
  const run = JSON.stringify({ trace, title: "", ...view }).replaceAll("<", "\\u003c");
  return (await template.text()).replace(">RUN<", () => `>${run}<`);
}

/** The content of a file: json, csv, txt, html, svg or png. Rejects if it cannot be made. */
async function make(kind, trace, { view, shown, around }) {
  const content = {
    json: () => JSON.stringify(trace),
    csv: () => csv(trace),
    txt: () => report(trace),
    html: () => html(trace, view),
    svg: () => svgText(shown, around),
    png: () => png(shown, around),
  };
  return content[kind]();
}

export { csv, report, make };

// What a reader can save: the trace as JSON, the steps as CSV, the picture as SVG or PNG, a plain-text report.
import { csv as rowsOf } from "../kit/files.js";
import { number, plural } from "../kit/format.js";
import { together } from "../kit/spans.js";
import { DIVERGENCES, draftedBy, draftsWords, knobOf, readStep, ruleInfo, ruleOf } from "./model.js";
import { png, svgText } from "./picture.js";
import { lines } from "./sentences.js";

const STEP_COLUMNS = [
  "step",
  "context_length",
  "drafted",
  "kept",
  "other_rule",
  "other_kept",
  "target_calls",
  "text",
  "origins",
  "draft_tokens",
  "draft_parents",
  "decisions",
  "changes",
  "other_decisions",
  "seconds_draft",
  "seconds_target",
  "seconds_verify",
  "seconds_rest",
];

/** One line per step. */
function csv(trace) {
  const rules = [...new Set(trace.steps.flatMap((step) => Object.keys(step.expected_kept)))];
  const head = [...STEP_COLUMNS, ...rules.map((rule) => `expected_kept_${rule}`)];
  const rows = trace.steps.map((step, i) => [
    ...stepCells(step, i),
    ...rules.map((rule) => step.expected_kept[rule] ?? ""),
  ]);
  return rowsOf([head, ...rows]);
}

function stepCells(step, i) {
  const { verdict, shadow } = step;
  return [
    i + 1,
    step.context_length,
    step.drafted,
    step.kept,
    shadow ? shadow.rule : "",
    shadow ? shadow.kept : "",
    step.target_calls,
    together(step.committed),
    step.committed.map((c) => c.origin).join(" "),
    step.nodes.map((n) => n.piece).join("|"),
    step.nodes.map((n) => n.parent).join(" "),
    verdict ? testCells(verdict) : "",
    verdict ? verdict.changes.map(changeCell).join("; ") : "",
    shadow ? testCells(shadow) : "",
    step.times.draft,
    step.times.target,
    step.times.verify,
    step.times.rest,
  ];
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
  const near = `${DIVERGENCES[fuzzy.divergence]} ≤ ${fuzzy.tolerance}, ${fuzzy.mode}, ${fuzzy.on} rows`;
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

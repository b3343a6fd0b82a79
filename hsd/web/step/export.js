// What a reader can take along: the trace as JSON, the steps as CSV, the tree as SVG or PNG, a plain-text report.
import * as dom from "../kit/dom.js";
import { csv as rowsOf } from "../kit/files.js";
import { number, plural } from "../kit/format.js";
import { DIVERGENCES, draftedBy, draftsWords, knobOf, readStep, ruleInfo, ruleOf } from "./model.js";
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
    step.committed.map((c) => c.piece).join(""),
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
    result ? result.text : steps.flatMap((s) => s.committed.map((c) => c.piece)).join(""),
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
    const { knob } = ruleInfo(name);
    return name === "fuzzy" ? near : knob ? `${knob.sign} = ${knobOf(setup, name)}` : "";
  });
  return [draftedBy(setup), draftsWords(draft), ...settings].filter(Boolean).join("; ");
}

const PAINT = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "opacity",
  "fill-opacity",
  "stroke-opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "visibility",
  "display",
];

const LINE = 20; // height of a line of words above and below an exported tree
const LETTER = 8.5; // width of a letter in them, at most on average

/**
 * The tree as a file of its own: every colour and font is written into the elements. around: lines of words
 * {above: [sentence, text], below: [what made it, address]}; long ones are broken.
 */
function svgText(svg, around = {}) {
  const copy = svg.cloneNode(true);
  const [from, to] = [
    [svg, ...svg.querySelectorAll("*")],
    [copy, ...copy.querySelectorAll("*")],
  ];
  from.forEach((element, i) => paint(element, to[i]));
  const tree = svg.viewBox.baseVal;
  const width = Math.max(tree.width, 640);
  const [above, below] = ["above", "below"].map((side) =>
    (around[side] || []).flatMap((words) => broken(words, width)),
  );
  const top = above.length ? -LINE * above.length - 12 : 0;
  const height = tree.height - top + (below.length ? LINE * below.length + 12 : 0);
  copy.setAttribute("viewBox", `0 ${top} ${width} ${height}`);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const { color, fontFamily } = getComputedStyle(svg);
  const line = (y, first) => (words, i) =>
    dom.s(
      "text",
      {
        "x": 14,
        "y": y + LINE * i,
        "fill": plainColour(color),
        "font-family": fontFamily,
        "font-size": 14,
        "font-weight": i < first ? 600 : 400,
      },
      words,
    );
  const bold = broken((around.above || [""])[0], width).length;
  copy.prepend(
    dom.s("rect", { y: top, width, height, fill: backgroundOf(svg) }),
    ...above.map(line(top + 24, bold)),
    ...below.map(line(tree.height + LINE, 0)),
  );
  return new XMLSerializer().serializeToString(copy);
}

/** Words in lines that fit the width. */
function broken(words, width) {
  const most = Math.floor((width - 28) / LETTER);
  const lines = [];
  for (const word of words.split(" ").filter(Boolean)) {
    const last = lines.length - 1;
    if (last >= 0 && lines[last].length + 1 + word.length <= most) lines[last] += ` ${word}`;
    else lines.push(...(word.match(new RegExp(`.{1,${most}}`, "gu")) || []));
  }
  return lines;
}

function paint(element, copy) {
  if (element.closest("defs") && !element.classList.length) return;
  const style = getComputedStyle(element);
  for (const name of PAINT) {
    const value = style.getPropertyValue(name);
    if (value && !(name === "fill" && element.getAttribute("fill")?.startsWith("url")))
      copy.setAttribute(name, plainColour(value));
  }
  for (const name of ["tabindex", "class", "role", "aria-pressed"]) copy.removeAttribute(name);
}

/** color(srgb r g b / a), which mixed colours compute to, as the rgba() that every program reads. */
function plainColour(value) {
  const found = /^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.e-]+))?\)$/.exec(value);
  if (!found) return value;
  const [red, green, blue] = found.slice(1, 4).map((part) => Math.round(255 * Number(part)));
  return `rgba(${red}, ${green}, ${blue}, ${found[4] ?? 1})`;
}

function backgroundOf(element) {
  for (let at = element; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (colour && !/^(transparent|rgba\(0, 0, 0, 0\))$/.test(colour)) return plainColour(colour);
  }
  return "#fff";
}

/** The tree as a PNG at twice its size. */
function png(svg, around) {
  const source = URL.createObjectURL(new Blob([svgText(svg, around)], { type: "image/svg+xml" }));
  return new Promise((resolve, reject) => {
    const picture = new Image();
    picture.onload = () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [2 * picture.width, 2 * picture.height];
      canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(
        (blob) => (blob ? resolve(blob) : reject(new Error("the picture could not be drawn"))),
        "image/png",
      );
    };
    picture.onerror = () => reject(new Error("the picture could not be drawn"));
    picture.src = source;
  }).finally(() => URL.revokeObjectURL(source));
}

/** The run with its player as one file, opened at this step. step: from 0. */
async function html(trace, step) {
  const template = await fetch(new URL("../alone.html", import.meta.url));
  if (!template.ok) throw new Error("the page for the file could not be fetched");
  const run = JSON.stringify({ trace, step, node: null, title: "" }).replaceAll("<", "\\u003c");
  return (await template.text()).replace(">RUN<", () => `>${run}<`);
}

/** The content of a file: json, csv, txt, html, svg or png; rejects if it cannot be made. */
async function make(kind, trace, { step, tree, around }) {
  const content = {
    json: () => JSON.stringify(trace),
    csv: () => csv(trace),
    txt: () => report(trace),
    html: () => html(trace, step),
    svg: () => svgText(tree, around),
    png: () => png(tree, around),
  };
  return content[kind]();
}

export { csv, report, svgText, make };

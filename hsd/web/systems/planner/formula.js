// The formulas behind an edge of the graph, and behind a way to decode, with their numbers.
import { h } from "../../kit/dom.js";
import { folded } from "../../kit/parts.js";
import { four, modelName, span } from "../parts.js";
import { wayName } from "./bars.js";

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const power = (n) => [...String(n)].map((digit) => SUPERSCRIPTS[digit]).join("");

function formula() {
  const title = h("h4", { class: "sy-subtitle" });
  const list = h("ul", { class: "sy-lines" });
  const element = folded("sy-formula", "The numbers", null, title, list);

  /** edge: one of the graph, or null for the whole way. */
  function update({ way, edge, count }) {
    const lines = edge ? edgeLines(edge, count) : wayLines(way, count);
    title.textContent = edge ? edgeTitle(edge, count) : `${wayName(way, count)}, exactly`;
    list.replaceChildren(...lines.map(([what, ...math]) => h("li", {}, span("sy-what", what), span("sy-math", math))));
  }

  return { element, update };
}

function edgeTitle(edge, count) {
  const from = modelName(edge.from, count);
  if (edge.to === null) return `${from} by itself`;
  return `${from} over ${modelName(edge.to, count)}, T = ${edge.threshold}, blocks of constant length`;
}

/** Pairs of what is computed and how. */
function edgeLines(edge, count) {
  if (edge.to === null) return [["One call, one token", `cost = c = ${four(edge.cost)}, gain = 0`]];
  const [from, to] = [edge.from, edge.to].map((model) => modelName(model, count));
  const { threshold: t } = edge;
  const [a, mu, pass, cost, gain] = [edge.acceptance, edge.yield, edge.pass, edge.cost, edge.gain].map(four);
  const yields = edge.acceptance === 1 ? `T + 1 = ${t + 1}` : `(1 − ${a}${power(t + 1)}) / (1 − ${a}) ≈ ${mu}`;
  const call = edge.widens ? "(c + T · c per further token)" : "c";
  return [
    [`Tokens that one call of ${from} yields`, "μ = (1 − a", h("sup", {}, "T+1"), `) / (1 − a) = ${yields}`],
    ["Cost of its calls, per token", `${call} / μ = ${pass} / ${mu} ≈ ${cost}`],
    [`Gain: tokens of ${to} per token`, `T / μ = ${t} / ${mu} ≈ ${gain}`],
    [
      `A token of ${from} by this edge`,
      `cost + gain · d(${to}) = ${cost} + ${gain} · ${four(edge.price)} ≈ ${four(edge.value)}`,
    ],
  ];
}

/** Level by level: calls, what they cost with all below, what is handed up. */
function wayLines(way, count) {
  const lines = way.levels.map((level, k) => {
    const name = modelName(level.model, count);
    const [pass, below, tokens, passes] = [level.pass, level.below, level.tokens, level.passes].map(four);
    const result = `${four(level.cost)} for ${tokens} tokens`;
    if (k === way.levels.length - 1) {
      const told = `/ ${tokens} ≈ ${four(way.latency)} per token`;
      if (!level.below) return [`${name}, one token per call`, `${pass} ${told}`];
      return [`${name} commits ${tokens} per call`, `(${pass} + ${below}) ${told}`];
    }
    if (k === 0) return [`${name} drafts`, `${way.thresholds[0]} calls · ${pass} ≈ ${result}`];
    const what = `${name} collects at least ${way.thresholds[k]}`;
    return [what, `${passes} calls · (${pass} + ${below}) ≈ ${result}`];
  });
  return [...lines, ["Against no draft", `${four(way.speedup)} times as fast`]];
}

export { formula };

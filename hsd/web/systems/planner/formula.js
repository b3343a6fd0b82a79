// The formulas behind an edge of the graph, and behind a way to decode, with their numbers.
import { h } from "../../kit/dom.js";
import { four, modelName, wayName } from "../parts.js";

/** @returns {PlannerPart} */
function formula() {
  const title = h("h4.hp-subtitle");
  const list = h("ul.hf-lines");

  function update(/** @type {PlannerView} */ { plan: { way }, edge, count }) {
    const lines = edge ? edgeLines(edge, count) : wayLines(way, count);
    title.textContent = edge ? edgeTitle(edge, count) : `${wayName(way, count)}, exactly`;
    list.replaceChildren(...lines.map(([what, ...math]) => h("li", h("span", what), h("span.hf-math", math))));
  }

  return { element: h("div.hf-formula", title, list), update };
}

/** @type {(edge: PlannerEdge, count: number) => string} */
function edgeTitle({ from, to, threshold }, count) {
  if (to === null) return `${modelName(from, count)} by itself`;
  return `${modelName(from, count)} over ${modelName(to, count)}, T = ${threshold}, blocks of constant length`;
}

/** @type {(edge: PlannerEdge, count: number) => PlannerLine[]} */
function edgeLines(edge, count) {
  if (edge.to === null) return [["One call, one token", `cost = c = ${four(edge.cost)}, gain = 0`]];
  const [from, to] = [edge.from, edge.to].map((model) => modelName(model, count));
  const { threshold: t } = edge;
  const [a, mu, pass, cost, gain] = [edge.acceptance, edge.yield, edge.pass, edge.cost, edge.gain].map(four);
  const sum = edge.acceptance === 1 ? [`T + 1 = ${t + 1}`] : [`(1 − ${a}`, h("sup", t + 1), `) / (1 − ${a}) ≈ ${mu}`];
  const call = edge.widens ? "(c + T · c per further token)" : "c";
  const total = `cost + gain · d(${to}) = ${cost} + ${gain} · ${four(edge.price)} ≈ ${four(edge.value)}`;
  return [
    [`Tokens that one call of ${from} yields`, "μ = (1 − a", h("sup", "T+1"), ") / (1 − a) = ", ...sum],
    ["Cost of its calls, per token", `${call} / μ = ${pass} / ${mu} ≈ ${cost}`],
    [`Gain: tokens of ${to} per token`, `T / μ = ${t} / ${mu} ≈ ${gain}`],
    [`A token of ${from} by this edge`, total],
  ];
}

/** Level by level: calls, what they cost with all below, what is handed up. @type {(way: PlannerWay, count: number) => PlannerLine[]} */
function wayLines({ levels, thresholds, latency, speedup }, count) {
  /** @type {PlannerLine[]} */
  const lines = levels.map((level, k) => {
    const name = modelName(level.model, count);
    const [pass, below, tokens, passes] = [level.pass, level.below, level.tokens, level.passes].map(four);
    const result = `${four(level.cost)} for ${tokens} tokens`;
    const each = `/ ${tokens} ≈ ${four(latency)} per token`;
    if (levels.length === 1) return [`${name}, one token per call`, `${pass} ${each}`];
    if (k === levels.length - 1) return [`${name} commits ${tokens} per call`, `(${pass} + ${below}) ${each}`];
    if (k === 0) return [`${name} drafts`, `${thresholds[0]} calls · ${pass} ≈ ${result}`];
    return [`${name} collects at least ${thresholds[k]}`, `${passes} calls · (${pass} + ${below}) ≈ ${result}`];
  });
  return [...lines, ["Against no draft", `${four(speedup)} times as fast`]];
}

export { formula };

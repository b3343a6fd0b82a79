// The formulas behind an edge of the graph, and behind a way to decode, with their numbers.
import { card, four, h, modelName } from "./parts.js";
import { wayName } from "./planner_bars.js";

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const power = (n) => [...String(n)].map((digit) => SUPERSCRIPTS[digit]).join("");

const line = (what, ...formula) =>
  h("li", {}, h("span", { class: "sy-what" }, what), h("span", { class: "sy-math" }, formula));

function formula() {
  const title = h("h4", { class: "sy-subtitle" });
  const list = h("ul", { class: "sy-lines" });
  const element = card("formula", "The numbers", null, title, list);

  /** edge: one of the graph, or null for the whole way. */
  function update({ way, edge, count }) {
    title.textContent = edge ? edgeTitle(edge, count) : `${wayName(way, count)}, exactly`;
    list.replaceChildren(...(edge ? edgeLines(edge, count) : wayLines(way, count)));
  }

  return { element, update };
}

function edgeTitle(edge, count) {
  const from = modelName(edge.from, count);
  if (edge.to === null) return `${from} by itself`;
  return `${from} over ${modelName(edge.to, count)}, T = ${edge.threshold}, blocks of constant length`;
}

function edgeLines(edge, count) {
  const from = modelName(edge.from, count);
  if (edge.to === null) return [line("One call, one token", `cost = c = ${four(edge.cost)}, gain = 0`)];
  const to = modelName(edge.to, count);
  const { acceptance: a, threshold: t, yield: tokens } = edge;
  const fraction = `(1 − ${four(a)}${power(t + 1)}) / (1 − ${four(a)})`;
  const mu = a === 1 ? `T + 1 = ${t + 1}` : `${fraction} = ${four(tokens)}`;
  const call = edge.widens ? "(c + T · c per further token)" : "c";
  const sum = `${four(edge.cost)} + ${four(edge.gain)} · ${four(edge.price)}`;
  return [
    line(`Tokens that one call of ${from} yields`, `μ = (1 − a`, h("sup", {}, "T+1"), `) / (1 − a) = ${mu}`),
    line(`Cost of its calls, per token`, `${call} / μ = ${four(edge.pass)} / ${four(tokens)} = ${four(edge.cost)}`),
    line(`Gain: tokens of ${to} per token`, `T / μ = ${t} / ${four(tokens)} = ${four(edge.gain)}`),
    line(`A token of ${from} by this edge`, `cost + gain · d(${to}) = ${sum} = ${four(edge.value)}`),
  ];
}

/** Level by level: calls, what they cost with all below, what is handed up. */
function wayLines(way, count) {
  const lines = way.levels.map((level, k) => {
    const name = modelName(level.model, count);
    const result = `${four(level.cost)} for ${four(level.tokens)} tokens`;
    if (k === way.levels.length - 1) return top(way, level, name);
    if (k === 0) {
      return line(`${name} drafts`, `${way.thresholds[0]} calls · ${four(level.pass)} = ${result}`);
    }
    return line(
      `${name} collects at least ${way.thresholds[k]}`,
      `${four(level.passes)} calls · (${four(level.pass)} + ${four(level.below)}) = ${result}`,
    );
  });
  return [...lines, line("Against no draft", `${four(way.speedup)} times as fast`)];
}

function top(way, level, name) {
  const spent = level.below ? `(${four(level.pass)} + ${four(level.below)})` : four(level.pass);
  const what = level.below ? `${name} commits ${four(level.tokens)} per call` : `${name}, one token per call`;
  return line(what, `${spent} / ${four(level.tokens)} = ${four(way.latency)} per token`);
}

export { formula };

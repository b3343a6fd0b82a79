// The numbers behind a way to decode, level by level.
import { h } from "../../kit/dom.js";
import { four, modelName, wayName } from "../ways.js";

/** The card with the numbers. @returns {PlannerPart} */
function formula() {
  const title = h("h4.hp-subtitle");
  const list = h("ul.hf-lines");

  function update(/** @type {PlannerView} */ { plan: { way }, count }) {
    title.textContent = `${wayName(way, count)}, exactly`;
    const lines = wayLines(way, count).map(([what, ...math]) =>
      h("li", h("span", what), h("span.hf-math", math)),
    );
    list.replaceChildren(...lines);
  }

  return { element: h("div.hf-formula", title, list), update };
}

/**
 * A line for each level: its calls, their cost with all levels below, and the tokens handed up.
 * Each begins with what is computed; the rest says how.
 * @type {(way: PlannerWay, count: number) => string[][]}
 */
function wayLines({ levels, thresholds, latency, speedup }, count) {
  const lines = levels.map((level, k) => {
    const name = modelName(level.model, count);
    const pass = four(level.pass);
    const tokens = four(level.tokens);
    const both = `(${pass} + ${four(level.below)})`;
    const result = `${four(level.cost)} for ${tokens} tokens`;
    const each = `/ ${tokens} ≈ ${four(latency)} per token`;
    if (levels.length === 1) return [`${name}, one token per call`, `${pass} ${each}`];
    if (k === levels.length - 1) return [`${name} commits ${tokens} per call`, `${both} ${each}`];
    const least = thresholds[k];
    if (k === 0) return [`${name} drafts`, `${least} calls · ${pass} ≈ ${result}`];
    const calls = `${four(level.passes)} calls`;
    return [`${name} collects at least ${least}`, `${calls} · ${both} ≈ ${result}`];
  });
  return [...lines, ["Against no draft", `${four(speedup)} times as fast`]];
}

export { formula };

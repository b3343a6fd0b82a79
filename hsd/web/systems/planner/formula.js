// The numbers behind a way to decode, level by level.
import { h } from "../../kit/dom.js";
import { four, modelName, wayName } from "../parts.js";

/** @returns {PlannerPart} */
function formula() {
  const [title, list] = [h("h4.hp-subtitle"), h("ul.hf-lines")];

  function update(/** @type {PlannerView} */ { plan: { way }, count }) {
    title.textContent = `${wayName(way, count)}, exactly`;
    const lines = wayLines(way, count);
    list.replaceChildren(...lines.map(([what, ...math]) => h("li", h("span", what), h("span.hf-math", math))));
  }

  return { element: h("div.hf-formula", title, list), update };
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

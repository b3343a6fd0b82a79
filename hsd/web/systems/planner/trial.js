// What if T is badly chosen? A slider for every threshold of a way, over the curve of its exact latency.
import { h, s } from "../../kit/dom.js";
import { button, say, setSlider, slider } from "../../kit/parts.js";
import { four, modelName } from "../parts.js";

const HEIGHT = 56;
const HINT =
  "Exact time per token at every value of one T, cut off above four times the best. The dotted line marks the best T.";

/**
 * longest: the highest threshold; choose: thresholds to try, null for the best ones.
 * @type {(longest: number, choose: (thresholds: number[] | null) => void) => PlannerPart}
 */
function trial(longest, choose) {
  const [lead, rows] = [h("p.hf-lead.hf-trial-said", { role: "status" }), h("div.hf-trials")];
  const back = button("Best thresholds", "back to the best thresholds of these models", () => choose(null));
  const element = h("div.hf-trial", h("p.hp-hint", HINT), lead, rows, h("div.hp-row.hf-back", back));
  let now = /** @type {number[]} */ ([]);
  let lines = /** @type {ReturnType<typeof row>[]} */ ([]);

  function update(/** @type {PlannerView} */ { plan: { way, trial: tried, alternatives, chosen }, count }) {
    element.hidden = !tried;
    if (!tried) return;
    const best = alternatives[chosen];
    const names = way.models.slice(0, -1).map((model) => modelName(model, count));
    if (names.join() !== lines.map(({ name }) => name).join()) {
      lines = names.map((name, k) => row(name, k, longest, (value) => choose(now.with(k, value))));
      rows.replaceChildren(...lines.map((line) => line.element));
    }
    now = way.thresholds;
    back.disabled = best.thresholds.join() === now.join();
    say(lead, tried.sentence);
    for (const [k, line] of lines.entries()) line.set(now[k], best.thresholds[k], tried.curves[k], best.latency);
  }

  return { element, update };
}

/** @param {string} name @param {number} k @param {number} longest @param {(value: number) => void} choose */
function row(name, k, longest, choose) {
  const value = h("b.hf-figure");
  const box = { "viewBox": `0 0 ${longest - 1} ${HEIGHT}`, "preserveAspectRatio": "none", "aria-hidden": "true" };
  const curve = s("svg.hf-curve", box);
  const range = { min: 1, max: longest, step: 1, oninput: () => choose(Number(bar.value)) };
  const bar = slider(`T of ${name}`, range);
  const head = h("span", h("b", name), " hands up T = ", value);
  const element = h("div.hf-trial-row", { "data-threshold": k }, head, h("div", curve, bar));

  /**
   * The curve goes from the least latency at the bottom to at most four times as much at the top, where it is cut off.
   * @type {(threshold: number, best: number, latencies: number[], least: number) => void}
   */
  function set(threshold, best, latencies, least) {
    setSlider(bar, threshold, `${threshold} tokens`);
    value.textContent = `${threshold}: ${four(latencies[threshold - 1])} per token`;
    const high = Math.max(1.05 * least, Math.min(Math.max(...latencies), 4 * least));
    const y = (/** @type {number} */ x) => HEIGHT - 4 - ((HEIGHT - 8) * (Math.min(x, high) - least)) / (high - least);
    const points = latencies.map((latency, i) => `${i},${y(latency).toFixed(2)}`).join(" ");
    const marks = Object.entries({ best, now: threshold });
    const lines = marks.map(([name, at]) => s(`line.hf-mark-${name}`, { x1: at - 1, x2: at - 1, y1: 0, y2: HEIGHT }));
    curve.replaceChildren(s("polyline.hf-latency", { points }), ...lines);
  }

  return { name, element, set };
}

export { trial };

// What if T is badly chosen? A slider for every threshold of a way, and the exact time per token at each.
import { h } from "../../kit/dom.js";
import { button, say, setSlider, slider } from "../../kit/parts.js";
import { four, modelName } from "../parts.js";

/** longest: the highest threshold; choose: thresholds to try, null for the best ones. @type {(longest: number, choose: (thresholds: number[] | null) => void) => PlannerPart} */
function trial(longest, choose) {
  const [lead, rows] = [h("p.hf-lead.hf-trial-said", { role: "status" }), h("div.hf-trials")];
  const back = button("Best thresholds", "back to the best thresholds of these models", () => choose(null));
  const element = h("div.hf-trial", lead, rows, h("div.hp-row.hf-back", back));
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
    for (const [k, line] of lines.entries()) line.set(now[k], best.thresholds[k], tried.curves[k]);
  }

  return { element, update };
}

/** @param {string} name @param {number} k @param {number} longest @param {(value: number) => void} choose */
function row(name, k, longest, choose) {
  const value = h("b.hf-figure");
  const range = { min: 1, max: longest, step: 1, oninput: () => choose(Number(bar.value)) };
  const bar = slider(`T of ${name}`, range);
  const element = h("div.hf-trial-row", { "data-threshold": k }, h("b", name), " hands up T = ", value, bar);
  const set = (/** @type {number} */ now, /** @type {number} */ best, /** @type {number[]} */ latencies) => {
    setSlider(bar, now, `${now} tokens`);
    value.textContent = `${now}: ${four(latencies[now - 1])} per token; best: ${best}`;
  };
  return { name, element, set };
}

export { trial };

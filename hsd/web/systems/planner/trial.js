// What if T is badly chosen? A slider for every threshold of a way, and the exact time per token at
// each.
import { h } from "../../kit/dom.js";
import { button, say, setSlider, slider } from "../../kit/controls.js";
import { four, modelName } from "../ways.js";

/**
 * The sliders.
 * @param {number} longest - the highest threshold
 * @param {(thresholds: number[] | null) => void} choose - gets thresholds to try, null for the best
 * @returns {PlannerPart}
 */
function trial(longest, choose) {
  const lead = h("p.hf-lead.hf-trial-said", { role: "status" });
  const rows = h("div.hf-trials");
  const back = button("Best thresholds", "back to the best thresholds of these models", () =>
    choose(null),
  );
  const element = h("div.hf-trial", lead, rows, h("div.hp-row.hf-back", back));
  /** @type {number[]} */
  let now = [];
  /** @type {ReturnType<typeof row>[]} */
  let lines = [];

  function update(/** @type {PlannerView} */ { plan, count }) {
    const { way, trial: tried } = plan;
    element.hidden = !tried;
    if (!tried) return;
    const { thresholds } = plan.alternatives[plan.chosen]; // the best of this way
    const names = way.models.slice(0, -1).map((model) => modelName(model, count));
    if (names.join() !== lines.map(({ name }) => name).join()) {
      lines = names.map((name, k) => {
        const change = (/** @type {number} */ value) => choose(now.with(k, value));
        return row(name, k, longest, change);
      });
      rows.replaceChildren(...lines.map((line) => line.element));
    }
    now = way.thresholds;
    back.disabled = thresholds.join() === now.join();
    say(lead, tried.sentence);
    for (const [k, line] of lines.entries()) line.set(now[k], thresholds[k], tried.curves[k]);
  }

  return { element, update };
}

/**
 * The row of one threshold: the model that hands up, the number, and its slider.
 * @param {string} name
 * @param {number} k
 * @param {number} longest
 * @param {(value: number) => void} choose
 */
function row(name, k, longest, choose) {
  const value = h("b.hf-figure");
  const range = {
    min: 1,
    max: longest,
    step: 1,
    oninput: () => choose(Number(bar.value)),
  };
  const bar = slider(`T of ${name}`, range);
  const words = [h("b", name), " hands up T = ", value];
  const element = h("div.hf-trial-row", { "data-threshold": k }, words, bar);
  /** @type {(now: number, best: number, latencies: number[]) => void} */
  const set = (now, best, latencies) => {
    setSlider(bar, now, `${now} tokens`);
    value.textContent = `${now}: ${four(latencies[now - 1])} per token; best: ${best}`;
  };
  return { name, element, set };
}

export { trial };

// What if T is badly chosen? A slider for every threshold of the chosen way, over the curve of its exact latency.
import { h, s } from "../../kit/dom.js";
import { button, folded, say, setSlider } from "../../kit/parts.js";
import { div, four, modelName, slider, span } from "../parts.js";

const HEIGHT = 56;

/** longest: the highest threshold. choose(k, value): of the k-th model; reset(): back to the best. */
function trial(longest, choose, reset) {
  const said = h("p", { class: "sy-lead sy-trial-said", role: "status" });
  const rows = div("sy-trials");
  const back = button("Best thresholds", "back to the best thresholds of these models", reset, {
    class: "hp-button sy-back",
  });
  const element = folded(
    "sy-trial",
    "What if T is badly chosen?",
    "The exact time per token at every value of one threshold, the others as they are. Lower is better, and " +
      "above four times the best the curve is cut off. The dotted line marks the best choice.",
    said,
    rows,
    div("sy-row", back),
  );
  let drawn = "";
  let lines = [];

  function update({ way, trial: tried, best, count }) {
    element.hidden = !best.thresholds.length;
    const names = way.models.slice(0, -1).map((model) => modelName(model, count));
    if (names.join() !== drawn) {
      lines = names.map((name, k) => row(name, k, longest, choose));
      rows.replaceChildren(...lines.map((one) => one.element));
      drawn = names.join();
    }
    back.disabled = best.thresholds.join() === way.thresholds.join();
    say(said, tried ? tried.sentence : "");
    if (tried) lines.forEach((one, k) => one.set(way.thresholds[k], best.thresholds[k], tried.curves[k], best.latency));
  }

  return { element, update };
}

function row(name, k, longest, choose) {
  const value = h("output", { class: "sy-figure" });
  const now = span("sy-figure is-now");
  const box = { "viewBox": `0 0 ${longest - 1} ${HEIGHT}`, "preserveAspectRatio": "none", "aria-hidden": "true" };
  const curve = s("svg", { class: "sy-curve", ...box });
  const bar = slider(`T of ${name}`, [1, longest, 1], (at) => choose(k, Number(at)));
  const head = span("sy-trial-name", h("b", {}, name), " hands up T = ", value, now);
  const element = h("div", { "class": "sy-trial-row", "data-threshold": k }, head, div("sy-track", curve, bar));

  function set(threshold, best, latencies, least) {
    setSlider(bar, threshold, `${threshold} tokens`);
    value.textContent = String(threshold);
    now.textContent = `: ${four(latencies[threshold - 1])} per token`;
    draw(curve, latencies, threshold, best, least);
  }

  return { element, set };
}

/** From the least latency at the bottom to at most four times as much at the top, where the curve is cut off. */
function draw(svg, latencies, threshold, best, least) {
  const high = Math.max(1.05 * least, Math.min(Math.max(...latencies), 4 * least));
  const y = (latency) => HEIGHT - 4 - ((HEIGHT - 8) * (Math.min(latency, high) - least)) / (high - least);
  const points = latencies.map((latency, i) => `${i},${y(latency).toFixed(2)}`).join(" ");
  const mark = (at, css) => s("line", { x1: at - 1, x2: at - 1, y1: 0, y2: HEIGHT, class: css });
  svg.replaceChildren(
    s("polygon", { points: `0,${HEIGHT} ${points} ${latencies.length - 1},${HEIGHT}`, class: "sy-under" }),
    s("polyline", { points, class: "sy-latency" }),
    mark(best, "sy-mark-best"),
    mark(threshold, "sy-mark-now"),
  );
}

export { trial };

// What if T is badly chosen? A slider for every threshold of the chosen way, over the curve of its exact latency.
import { button, card, four, h, modelName, s, say, setSlider, slider } from "./parts.js";

const HEIGHT = 56;

/** actions: threshold(k, value), best(). */
function trial({ longest }, actions) {
  const said = h("p", { class: "sy-lead sy-trial-said", role: "status" });
  const rows = h("div", { class: "sy-trials" });
  const back = button("Best thresholds", "back to the best thresholds of these models", () => actions.best(), {
    class: "hp-button sy-back",
  });
  const element = card(
    "trial",
    "What if T is badly chosen?",
    "The exact time per token at every value of one threshold, the others as they are. Lower is better, and " +
      "above four times the best the curve is cut off. The dotted line marks the best choice.",
    said,
    rows,
    h("div", { class: "sy-row" }, back),
  );
  let drawn = "";
  let lines = [];

  function update({ way, trial: tried, best, count }) {
    const names = way.models.slice(0, -1).map((model) => modelName(model, count));
    if (names.join() !== drawn) {
      lines = names.map((name, k) => row(name, k, longest, actions));
      rows.replaceChildren(...lines.map((one) => one.element));
      drawn = names.join();
    }
    back.hidden = !names.length;
    back.disabled = best.thresholds.join() === way.thresholds.join();
    say(said, tried ? tried.sentence : "");
    lines.forEach((one, k) => one.set(way.thresholds[k], best.thresholds[k], tried && tried.curves[k], best.latency));
  }

  return { element, update };
}

function row(name, k, longest, actions) {
  const value = h("output", { class: "sy-figure" });
  const now = h("span", { class: "sy-figure is-now" });
  const curve = s("svg", {
    "class": "sy-curve",
    "viewBox": `0 0 ${longest - 1} ${HEIGHT}`,
    "preserveAspectRatio": "none",
    "aria-hidden": "true",
  });
  const range = { min: 1, max: longest, step: 1 };
  const bar = slider(`T of ${name}`, range, () => actions.threshold(k, Number(bar.value)));
  const element = h(
    "div",
    { "class": "sy-trial-row", "data-threshold": k },
    h("span", { class: "sy-trial-name" }, h("b", {}, name), " hands up T = ", value, now),
    h("div", { class: "sy-track" }, curve, bar),
  );

  function set(threshold, best, latencies, least) {
    setSlider(bar, threshold, `${threshold} tokens`);
    value.textContent = String(threshold);
    if (!latencies) return;
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

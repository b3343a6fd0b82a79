// The ways to decode that are compared: one bar each, as long as a token takes, cut into the time of each model.
import { h, s } from "../../kit/dom.js";
import { card, say } from "../../kit/parts.js";
import { four, group, legend, modelName, p, span } from "../parts.js";

/** Which kind of model, for its colour: the one that drafts, the target, or one between them. */
function roleOf(model, way, count) {
  if (model === count - 1) return "target";
  return model === way.models[0] ? "draft" : "between";
}

/** `M₀ (T = 4) → M₂ (T = 6) → target`, and plain decoding by its name. */
function wayName({ models, thresholds }, count) {
  if (models.length === 1) return "no draft";
  const one = (m, k) => modelName(m, count) + (k < thresholds.length ? ` (T = ${thresholds[k]})` : "");
  return models.map(one).join(" → ");
}

const LEGEND = [
  ["draft", "the smallest model used"],
  ["between", "models between"],
  ["target", "the target"],
];

/** choose(index): another way was picked. */
function bars(choose) {
  const list = h("div", { "class": "sy-bars", "role": "radiogroup", "aria-label": "Ways to decode: time per token" });
  const draw = group(list, "way", (item) => choose(Number(item.dataset.way)));
  const lead = h("p", { class: "sy-lead", role: "status" });
  const bound = p("hp-hint sy-bound");
  const swatches = LEGEND.map(([role, words]) => [swatch(role), words]);
  const element = card(
    "sy-result",
    "The plan",
    "Exact time per token of every way, at its best thresholds T of at most 40. Choose one to see it below.",
    lead,
    list,
    legend(swatches, hatching(), "Time spent in "),
    bound,
  );

  function update({ plan, chosen, count }) {
    say(lead, plan.verdict);
    say(bound, plan.bound_sentence);
    const longest = Math.max(...plan.alternatives.map((way) => way.latency));
    const row = (way, i) => {
      const name = wayName(way, count);
      const spoken = `${name}: ${four(way.latency)} per token, ${four(way.speedup)} times as fast as no draft`;
      const best = i === plan.best;
      const attributes = {
        "class": `sy-way${best ? " is-best" : ""}`,
        "role": "radio",
        "aria-checked": String(i === chosen),
        "aria-label": spoken + (best ? ", the best" : ""),
        "data-way": i,
        "onclick": () => choose(i),
      };
      return h(
        "div",
        attributes,
        span("sy-way-name", name, best ? h("b", { class: "sy-best" }, "✓ best") : null),
        bar(way, count, longest),
        span("sy-figure", four(way.latency)),
        span("sy-figure is-speed", `${four(way.speedup)}×`),
      );
    };
    draw(plan.alternatives.map(row), chosen);
  }

  return { element, update };
}

function bar(way, count, longest) {
  let x = 0;
  const parts = way.levels.map(({ model, share }) => {
    const width = (100 * way.latency * share) / longest;
    const title = s("title", {}, `${modelName(model, count)}: ${four(way.latency * share)} per token`);
    const box = { x: `${x}%`, y: 0, width: `${width}%`, height: 16 };
    x += width;
    return s("g", {}, title, filled(roleOf(model, way, count), box));
  });
  return s("svg", { "class": "sy-bar", "height": 16, "aria-hidden": "true" }, parts);
}

/** A model between others is hatched too; the pattern stands before the legend, which is always in the page. */
const filled = (role, box) => [
  s("rect", { ...box, class: `is-${role}` }),
  role === "between" ? s("rect", { ...box, fill: "url(#sy-hatch)" }) : null,
];

function hatching() {
  const size = { width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  const pattern = s("pattern", { id: "sy-hatch", ...size }, s("rect", { class: "sy-hatch-line", width: 2, height: 6 }));
  return s("svg", { "width": 0, "height": 0, "aria-hidden": "true", "class": "sy-defs" }, s("defs", {}, pattern));
}

const swatch = (role) =>
  s(
    "svg",
    { "class": "sy-swatch", "width": 18, "height": 12, "aria-hidden": "true" },
    filled(role, { width: 18, height: 12 }),
  );

export { bars, wayName, roleOf };

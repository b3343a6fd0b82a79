// The ways to decode that are compared: one bar each, as long as a token takes, cut into the time of each model.
import { card, four, h, modelName, roving, s, say } from "./parts.js";

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

/** choose(index): another way was picked. */
function bars(choose) {
  const list = h("div", { "class": "sy-bars", "role": "radiogroup", "aria-label": "Ways to decode: time per token" });
  const lead = h("p", { "class": "sy-lead", "role": "status" });
  const bound = h("p", { class: "sy-hint sy-bound" });
  const stop = roving(
    list,
    () => [...list.children],
    (item) => choose(Number(item.dataset.way)),
  );
  const element = card(
    "result",
    "The plan",
    "Exact time per token of every way, at its best thresholds T of at most 40. Choose one to see it below.",
    lead,
    list,
    legend(),
    bound,
  );

  function update({ plan, chosen, count }) {
    say(lead, plan.verdict);
    say(bound, plan.bound_sentence);
    const longest = Math.max(...plan.alternatives.map((way) => way.latency));
    const held = list.contains(document.activeElement);
    const place = (i) => ({ i, count, longest, best: i === plan.best, on: i === chosen });
    list.replaceChildren(...plan.alternatives.map((way, i) => row(way, place(i), choose)));
    stop(list.children[chosen]);
    if (held) list.children[chosen].focus();
  }

  return { element, update };
}

function row(way, { i, count, longest, best, on }, choose) {
  const name = wayName(way, count);
  const speed = `${four(way.speedup)}×`;
  const spoken = `${name}: ${four(way.latency)} per token, ${four(way.speedup)} times as fast as no draft`;
  return h(
    "div",
    {
      "class": `sy-way${best ? " is-best" : ""}`,
      "role": "radio",
      "aria-checked": String(on),
      "aria-label": spoken + (best ? ", the best" : ""),
      "data-way": i,
      "onclick": () => choose(i),
    },
    h("span", { class: "sy-way-name" }, name, best ? h("b", { class: "sy-best" }, "✓ best") : null),
    bar(way, count, longest),
    h("span", { class: "sy-figure" }, four(way.latency)),
    h("span", { class: "sy-figure is-speed" }, speed),
  );
}

function bar(way, count, longest) {
  let x = 0;
  const parts = way.levels.map((level) => {
    const width = (100 * way.latency * level.share) / longest;
    const role = roleOf(level.model, way, count);
    const title = s("title", {}, `${modelName(level.model, count)}: ${four(way.latency * level.share)} per token`);
    const box = { x: `${x}%`, y: 0, width: `${width}%`, height: 16 };
    x += width;
    return s("g", {}, title, s("rect", { ...box, class: `is-${role}` }), role === "between" ? stripes(box) : null);
  });
  return s("svg", { "class": "sy-bar", "height": 16, "aria-hidden": "true" }, parts);
}

/** The hatch is a pattern of the legend, which is always in the page. */
const stripes = (box) => s("rect", { ...box, fill: "url(#sy-hatch)" });

function legend() {
  const hatch = s(
    "pattern",
    { id: "sy-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    s("rect", { class: "sy-hatch-line", width: 2, height: 6 }),
  );
  const item = (role, words) =>
    h(
      "span",
      {},
      s(
        "svg",
        { "class": "sy-swatch", "width": 18, "height": 12, "aria-hidden": "true" },
        s("rect", { class: `is-${role}`, width: 18, height: 12 }),
        role === "between" ? stripes({ width: 18, height: 12 }) : null,
      ),
      ` ${words}`,
    );
  return h(
    "p",
    { class: "sy-hint sy-legend" },
    s("svg", { "width": 0, "height": 0, "aria-hidden": "true", "class": "sy-defs" }, s("defs", {}, hatch)),
    "Time spent in ",
    item("draft", "the smallest model used"),
    item("between", "models between"),
    item("target", "the target"),
  );
}

export { bars, wayName, roleOf };

// The ways to decode that are compared: a bar each, as long as a token takes, cut into the time of
// each model.
import { h } from "../../kit/dom.js";
import { say } from "../../kit/controls.js";
import { four, group, modelName, roleOf, wayName } from "../ways.js";

const LEGEND = {
  draft: "the smallest model used",
  between: "models between",
  target: "the target",
};
const HINT =
  "Exact time per token of every way, at its best thresholds T of at most 40. " +
  "Choose one to see it below.";

/**
 * The bars. choose: called when another way is picked.
 * @type {(choose: (index: number) => void) => PlannerPart}
 */
function bars(choose) {
  const list = h("div.hf-bars", {
    "role": "radiogroup",
    "aria-label": "Ways to decode: time per token",
  });
  const draw = group(list, "way", (item) => choose(Number(item.dataset.way)));
  const lead = h("p.hf-lead", { role: "status" });
  const bound = h("p.hp-hint");
  const key = Object.entries(LEGEND).map(([role, words]) =>
    h("span", h(`i.hf-part.is-${role}`), ` ${words}`),
  );
  const legend = h("p.hp-hint.hf-legend", "Time spent in ", key);

  function update(/** @type {PlannerView} */ { plan, count }) {
    say(lead, plan.verdict);
    say(bound, plan.bound_sentence);
    const longest = Math.max(...plan.alternatives.map(({ latency }) => latency));
    const rows = plan.alternatives.map((way, i) => {
      const name = wayName(way, count);
      const latency = four(way.latency);
      const speed = `${four(way.speedup)}×`;
      const parts = way.levels.map((level) => part(level, way, count, longest));
      const best = i === plan.best;
      const spoken = `${name}: ${latency} per token, ${speed} as fast as no draft`;
      const attributes = {
        "role": "radio",
        "aria-checked": String(i === plan.chosen),
        "aria-label": best ? `${spoken}, the best` : spoken,
        "data-way": i,
        "onclick": () => choose(i),
      };
      return h(
        `div.hf-way${best ? ".is-best" : ""}`,
        attributes,
        h("span.hf-way-name", name, best && h("b.hf-best", "✓ best")),
        h("span.hf-bar", parts),
        h("span.hf-figure", latency),
        h("span.hf-figure.is-speed", speed),
      );
    });
    draw(rows, plan.chosen);
  }

  return { element: h("div.hf-result", lead, h("p.hp-hint", HINT), list, legend, bound), update };
}

/**
 * The part of a way's bar that is the time of one model.
 * @param {PlannerLevel} level
 * @param {PlannerWay} way
 * @param {number} count - of models
 * @param {number} longest - the time per token that fills a row
 */
function part({ model, share }, way, count, longest) {
  const time = way.latency * share;
  const title = `${modelName(model, count)}: ${four(time)} per token`;
  const style = `width:${(100 * time) / longest}%`;
  return h(`i.hf-part.is-${roleOf(model, way, count)}`, { style, title });
}

export { bars };

// How many tokens of a draft each rule keeps, over all coins: its chances, their mean, and what it
// kept this time.
import { h } from "../kit/dom.js";
import { number, percent, plural } from "../kit/format.js";

const NUMBERED = 8; // columns; of more, only some have their number under them
const HIGH = 24; // pixels of a chance of 1

/**
 * Both rules' chances in a step, side by side; "" where the trace does not tell them.
 * @param {StepView} view
 */
function odds({ step, own, shadow, sameRule, isTrie, deepest }) {
  const both = shadow && !sameRule ? [own, shadow] : [own];
  const known = both.filter(({ rule }) => step.kept_law?.[rule]);
  if (!known.length || !step.drafted) return "";
  const drafts = isTrie ? "these drafts" : "this draft";
  const kept = `Chances of keeping 0 to ${deepest} of ${drafts}`;
  const words = `${kept}, over all coins · ▾ this time`;
  const chart = (/** @type {Judged} */ judged) => {
    const law = step.kept_law[judged.rule];
    return h(
      "div.hp-odds-chart",
      h("p", `${judged.info.short}: mean `, h("b", number(mean(law)))),
      bars(judged, law),
    );
  };
  return h("div.hp-odds", h("p.hp-hint", words), known.map(chart));
}

/** The mean of a law. @param {number[]} chances */
const mean = (chances) => chances.reduce((sum, chance, t) => sum + t * chance, 0);

/**
 * One rule's chances of keeping 0, 1, … tokens, a column each; numbers: with every chance above its
 * column.
 * @type {(judged: Judged, chances: number[], how?: {numbers?: boolean}) => HTMLElement}
 */
function bars({ info, rule, kept }, chances, { numbers = false } = {}) {
  const list = chances.map((chance, t) => `${t}: ${percent(chance)}`).join(", ");
  const average = `${info.short} keeps ${number(mean(chances))} on average`;
  const spoken = `${average}; ${list}; this time ${kept}`;
  const column = (/** @type {number} */ chance, /** @type {number} */ t) => {
    const isNow = t === kept;
    const title = `keeps ${plural(t, "token")}: ${percent(chance)}${isNow ? ", this time" : ""}`;
    const bar = h("i", {
      class: chance > 0 && "is-possible",
      style: `height:${(HIGH * chance).toFixed(1)}px`,
    });
    const isNumbered = chances.length <= NUMBERED || t % 5 === 0 || isNow;
    const under = h("small", isNumbered ? String(t) : "");
    const above = numbers && h("small.hp-odds-number", percent(chance));
    return h("span.hp-odds-column", { class: isNow && "is-now", title }, above, bar, under);
  };
  return h(
    "span.hp-odds-bars",
    { "data-rule": rule, "role": "img", "aria-label": spoken },
    chances.map(column),
  );
}

export { bars, mean, odds };

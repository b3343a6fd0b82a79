// How many tokens of a draft each rule keeps, over all coins: its chances, their mean, and what it kept this time.
import { h } from "../kit/dom.js";
import { number, percent, plural } from "../kit/format.js";

const NUMBERED = 8; // columns; of more, only some have their number under them
const HIGH = 24; // pixels of a chance of 1

/** Both rules' chances in a step, side by side; "" where the trace does not tell them. */
function odds(view) {
  const known = view.step.kept_law || {}; // traces of older versions have none
  const judged = [view.own, ...(view.shadow && !view.sameRule ? [view.shadow] : [])].filter(({ rule }) => known[rule]);
  if (!judged.length || !view.step.drafted) return "";
  const what = view.isTrie ? "these drafts" : "this draft";
  const words = `Chances of keeping 0 to ${view.deepest} of ${what}, over all coins · ▾ this time`;
  return h(
    "div.hp-odds",
    h("p.hp-hint", words),
    judged.map((one) =>
      h(
        "div.hp-odds-chart",
        h("p", `${one.info.short}: mean `, h("b", number(mean(known[one.rule])))),
        bars(one, known[one.rule]),
      ),
    ),
  );
}

const mean = (chances) => chances.reduce((sum, chance, t) => sum + t * chance, 0);

/** One rule's chances of keeping 0, 1, … tokens, a column each; numbers: with every chance above its column. */
function bars({ info, rule, kept }, chances, { numbers = false } = {}) {
  const said = chances.map((chance, t) => `${t}: ${percent(chance)}`).join(", ");
  const spoken = `${info.short} keeps ${number(mean(chances))} on average; ${said}; this time ${kept}`;
  const columns = chances.map((chance, t) => column(chance, t, { now: t === kept, many: chances.length, numbers }));
  return h("span.hp-odds-bars", { "data-rule": rule, "role": "img", "aria-label": spoken }, columns);
}

function column(chance, t, { now, many, numbers }) {
  const said = many <= NUMBERED || t % 5 === 0 || now;
  return h(
    "span.hp-odds-column",
    {
      class: now ? "is-now" : null,
      title: `keeps ${plural(t, "token")}: ${percent(chance)}${now ? ", this time" : ""}`,
    },
    numbers ? h("small.hp-odds-number", percent(chance)) : null,
    h("i", { class: chance > 0 ? "is-possible" : null, style: `height:${(HIGH * chance).toFixed(1)}px` }),
    h("small", said ? String(t) : ""),
  );
}

export { bars, mean, odds };

// What a HiSpec run costs in layer-equivalents beside plain decoding, heads included, and how far its depths agree.
import { count, number, percent, plural } from "../kit/format.js";
import { totals } from "./levels_model.js";
import { capital, names } from "./levels_words.js";
import { card, h, say } from "./parts.js";

const KINDS = ["is-bottom", "is-between", "is-target"];

/**
 * Up to and with a target call: tokens committed; for each of "work" (tokens × layers) and "passes" (layer passes)
 * the parts [{level, layers, heads}] in layers, their sum, and plain decoding's cost for the same number of tokens.
 */
function costs(trace, step, { layers, head }) {
  const rows = totals(trace, { step, event: null });
  const tokens = rows[rows.length - 1].kept;
  const plain = tokens * (layers + head);
  const sum = (parts) => parts.reduce((all, part) => all + part.layers + part.heads, 0);
  const work = rows.map((row, level) => ({ level, layers: row.computed, heads: row.heads * head }));
  const passes = rows.map((row, level) => ({ level, layers: row.layers, heads: row.calls * head }));
  return { tokens, plain, work: { parts: work, sum: sum(work) }, passes: { parts: passes, sum: sum(passes) } };
}

/** facts(): {layers, head} of the model. */
function costCard(facts) {
  const said = h("p", { class: "hs-cost-said" });
  const bars = h("div", { class: "hs-bars" });
  const headed = h("p", { class: "sy-hint hs-head-said" });
  const colours = h("p", { class: "sy-hint lv-legend" });
  const element = card(
    "hs-cost",
    "What it costs here",
    "In layers: one layer on one token is 1. The head is part of it, drawn paler. The prompt is not counted.",
    bars,
    colours,
    said,
    headed,
  );

  function update(trace, { step }) {
    const known = facts();
    const cost = costs(trace, step, known);
    const longest = Math.max(cost.plain, cost.work.sum, cost.passes.sum);
    bars.replaceChildren(
      bar("work", `work up to target call ${step + 1}`, cost.work, longest, trace),
      bar("passes", "the same, in passes", cost.passes, longest, trace),
      bar("plain", `plain decoding, ${plural(cost.tokens, "token")}`, plainOf(cost, known), longest, trace),
    );
    if (!colours.childNodes.length) colours.append(...legend(trace));
    say(said, sentence(costs(trace, trace.steps.length - 1, known)));
    say(headed, headSentence(known));
  }

  return { element, update };
}

const legend = ({ setup }) =>
  names(setup).map((who, level) => {
    const swatch = (css) => h("i", { class: `hs-swatch hs-part ${css} ${KINDS[level]}` });
    return h("span", {}, swatch(""), swatch("is-head"), ` ${who} and its head`);
  });

const plainOf = ({ tokens, plain }, { layers, head }) => ({
  parts: [{ level: 2, layers: tokens * layers, heads: tokens * head }],
  sum: plain,
});

function bar(name, label, { parts, sum }, longest, trace) {
  const called = names(trace.setup);
  const width = (x) => `width:${(100 * x) / longest}%`;
  return h(
    "div",
    { "class": "hs-bar", "data-cost": name },
    h("span", { class: "hs-bar-name" }, label),
    h(
      "span",
      { class: "hs-track" },
      parts.map(({ level, layers, heads }) => [
        h("i", {
          class: `hs-part ${KINDS[level]}`,
          style: width(layers),
          title: `${capital(called[level])}: layers ${number(layers)}`,
        }),
        h("i", {
          class: `hs-part is-head ${KINDS[level]}`,
          style: width(heads),
          title: `${capital(called[level])}: head ${number(heads)}`,
        }),
      ]),
    ),
    h("span", { class: "hs-bar-sum" }, number(sum, 4)),
  );
}

/** "2.19 times as much as". */
function times(x) {
  if (Math.abs(x - 1) < 0.005) return "as much as";
  return x > 1 ? `${number(x)} times as much as` : `${number(x)} of`;
}

/** About the whole run. */
function sentence({ plain, work, passes }) {
  const ratio = passes.sum / plain;
  const verdict = ratio < 1 ? "there this run would be faster" : "even there this run would not be faster";
  return (
    `The whole run computed ${times(work.sum / plain)} plain decoding: rejected tokens, and the heads of the ` +
    `exits, come on top. In passes it took ${times(ratio)} plain decoding, which is what counts where a pass over ` +
    `a few tokens takes as long as over one, as on a GPU with a large model: ${verdict}.`
  );
}

function headSentence({ head, layers }) {
  const like = head > 1.05 ? "more than a layer" : head >= 0.5 ? "about as much as a layer" : "less than a layer";
  return (
    `One row of the output head costs ${number(head)} layers on this model of ${layers} layers: ${like}. ` +
    (head >= 0.5 ? "Every exit pays for it, which makes shallow exits of a small model dear." : "")
  );
}

// ---- agreement by depth

function agreementCard() {
  const body = h("div", { class: "hs-bars" });
  const hint = "The whole run: how much of what a depth hands up the next one keeps.";
  const element = card("hs-agreement", "Agreement by depth", hint, body);

  function update(trace) {
    const rows = totals(trace, { step: trace.steps.length - 1, event: null }).slice(0, -1);
    const called = names(trace.setup);
    body.replaceChildren(...rows.map((row, level) => agreement(row, level, called)));
  }

  return { element, update };
}

function agreement({ handed, kept }, level, called) {
  const share = handed ? kept / handed : 0;
  return h(
    "div",
    { "class": "hs-bar", "data-agreement": level },
    h("span", { class: "hs-bar-name" }, `${capital(called[level])} → ${called[level + 1]}`),
    h("span", { class: "hs-track" }, h("i", { class: "hs-part is-kept", style: `width:${100 * share}%` })),
    h("span", { class: "hs-bar-sum" }, handed ? `${count(kept)} of ${count(handed)}, ${percent(share)}` : "–"),
  );
}

export { costs, costCard, agreementCard };

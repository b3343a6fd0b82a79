// What a HiSpec run costs in layer-equivalents beside plain decoding, heads included, and how far its depths agree.
import { h } from "../../kit/dom.js";
import { count, exact, number, percent, plural } from "../../kit/format.js";
import { folded, say } from "../../kit/parts.js";
import { kind, totals } from "../../step/lanes.js";
import { names } from "../levels/words.js";
import { capital, div, four, legend, p, span } from "../parts.js";

const whole = (trace) => ({ step: trace.steps.length - 1, event: null });

/**
 * Up to and with a target call: tokens committed; for each of "work" (tokens × layers) and "passes" (layer passes)
 * the parts [{level, layers, heads}] in layers, their sum; and the same of plain decoding for as many tokens.
 */
function costs(trace, moment, { layers, head }) {
  const rows = totals(trace, { ...moment, event: null });
  const top = rows.length - 1;
  const tokens = rows[top].kept;
  const summed = (parts) => ({ parts, sum: parts.reduce((all, part) => all + part.layers + part.heads, 0) });
  return {
    tokens,
    plain: summed([{ level: top, layers: tokens * layers, heads: tokens * head }]),
    work: summed(rows.map((row, level) => ({ level, layers: row.computed, heads: row.heads * head }))),
    passes: summed(rows.map((row, level) => ({ level, layers: row.layers, heads: row.calls * head }))),
  };
}

/** facts(): {layers, head} of the model. */
function costCard(facts) {
  const [said, bars, headed, colours] = [p("hs-cost-said"), div("hs-bars"), p("hp-hint hs-head-said"), div("")];
  const hint =
    "In layers: one layer on one token is 1. The head is part of it, drawn paler. The prompt is not counted.";
  const element = folded("sy-hs-cost", "What it costs here", hint, bars, colours, said, headed);

  function update(trace, moment) {
    const { tokens, plain, work, passes } = costs(trace, moment, facts());
    const longest = Math.max(plain.sum, work.sum, passes.sum);
    bars.replaceChildren(
      costBar("work", `work up to target call ${moment.step + 1}`, work, longest, trace.setup),
      costBar("passes", "the same, in passes", passes, longest, trace.setup),
      costBar("plain", `plain decoding, ${plural(tokens, "token")}`, plain, longest, trace.setup),
    );
    if (!colours.hasChildNodes()) colours.append(legend(swatches(trace.setup)));
    say(said, sentence(costs(trace, whole(trace), facts())));
    say(headed, headSentence(facts()));
  }

  return { element, update };
}

const swatches = (setup) =>
  names(setup).map((who, level) => {
    const swatch = (css) => h("i", { class: `hs-swatch hs-part ${css} ${kind(level, setup)}` });
    return [[swatch(""), swatch("is-head")], `${who} and its head`];
  });

/** A named bar with a figure; parts: {css, width: share of the track, title}. */
const bar = (attributes, name, parts, figure) =>
  h(
    "div",
    { class: "hs-bar", ...attributes },
    span("hs-bar-name", name),
    span(
      "hs-track",
      parts.map(({ css, width, title }) => h("i", { class: `hs-part ${css}`, style: `width:${100 * width}%`, title })),
    ),
    span("hs-bar-sum", figure),
  );

function costBar(name, label, { parts, sum }, longest, setup) {
  const called = names(setup);
  const drawn = parts.flatMap(({ level, layers, heads }) => {
    const [css, who] = [kind(level, setup), capital(called[level])];
    return [
      { css, width: layers / longest, title: `${who}: layers ${number(layers)}` },
      { css: `is-head ${css}`, width: heads / longest, title: `${who}: head ${number(heads)}` },
    ];
  });
  return bar({ "data-cost": name }, label, drawn, four(sum));
}

/** "2.19 times as much as". */
function times(x) {
  if (x === 1) return "as much as";
  return x > 1 ? `${exact(x)} times as much as` : `${exact(x)} of`;
}

/** About the whole run. */
function sentence({ plain, work, passes }) {
  const ratio = passes.sum / plain.sum;
  const verdict = ratio < 1 ? "there this run would be faster" : "even there this run would not be faster";
  return (
    `The whole run computed ${times(work.sum / plain.sum)} plain decoding: rejected tokens, and the heads of the ` +
    `exits, come on top. In passes it took ${times(ratio)} plain decoding, which is what counts where a pass over ` +
    `a few tokens takes as long as over one, as on a GPU with a large model: ${verdict}.`
  );
}

function headSentence({ head, layers }) {
  const like = head > 1.05 ? "more than a layer" : head >= 0.5 ? "about as much as a layer" : "less than a layer";
  return (
    `One row of the output head costs ${number(head)} layers on this model of ${layers} layers: ${like}. ` +
    (head >= 0.5 ? "Every exit pays for it, which makes shallow exits of a small model expensive." : "")
  );
}

function agreementCard() {
  const body = div("hs-bars");
  const hint = "Over the whole run: how many of the tokens that a depth hands up are kept by the next one.";

  function update(trace) {
    const called = names(trace.setup);
    const rows = totals(trace, whole(trace)).slice(0, -1);
    const bars = rows.map(({ handed, kept }, level) => {
      const share = handed ? kept / handed : 0;
      const figure = handed ? `${count(kept)} of ${count(handed)}, ${percent(share)}` : "–";
      const name = `${capital(called[level])} → ${called[level + 1]}`;
      return bar({ "data-agreement": level }, name, [{ css: "is-kept", width: share }], figure);
    });
    body.replaceChildren(...bars);
  }

  return { element: folded("sy-hs-agreement", "Agreement by depth", hint, body), update };
}

export { costCard, agreementCard };

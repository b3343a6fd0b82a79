// The layers under each exit, a cell for every layer and token: what has been computed and is kept, what this moment
// computes, and what it computes in vain. Above them the head of that exit.
import { h } from "../../kit/dom.js";
import { plural, subscript } from "../../kit/format.js";
import { kind } from "../../step/lanes.js";
import { div, legend as signs, span } from "../parts.js";
import { groupsOf, workAt } from "./work.js";

/** facts(): {layers} of the model. What stands under a lane; see lanes.js. */
const under = (facts) => (level, view) => group(level, view, facts().layers);

function group(level, { trace, moment, from, to }, layers) {
  const { read, after, heads, level: now } = workAt(trace, moment);
  const [first, last] = groupsOf(trace.setup.options.levels.exits, layers)[level];
  const depth = Math.max(0, last - first + 1);
  const [lit, length] = [read[level], after[level]];
  const computed = depth * (lit[1] - lit[0]);
  const within = ([low, high], place) => place >= low && place < high;
  const cell = (place) => {
    const kept = place < length;
    if (within(lit, place)) return kept ? "hs-cell is-lit" : "hs-cell is-lit is-lost";
    return kept ? "hs-cell is-cached" : "hs-cell";
  };
  const head = (place) => (now === level && within(heads, place) ? "hs-head is-lit" : "hs-head");
  const cells = (css) => Array.from({ length: to - from }, (_, i) => h("i", { class: css(from + i) }));
  const rows = Array.from({ length: depth }, (_, i) =>
    h("div", { "class": "hs-row", "data-layer": last - i }, cells(cell)),
  );
  const side = [
    span("hs-names", layerNames(first, last)),
    span("hs-cached", `n${subscript(level)} = ${plural(length, "token")} cached`),
    span("hs-done", computed ? `now ${depth} × ${lit[1] - lit[0]}` : ""),
  ];
  // the head stands over the token after which it gives a distribution
  const top = h("div", { class: "hs-row hs-heads", title: "output head of this exit" }, cells(head));
  return h(
    "div",
    { "class": `hs-group ${kind(level, trace.setup)}${computed ? " is-now" : ""}`, "data-group": level },
    div("hs-head-side", side),
    h("div", { "class": "hs-rows", "aria-hidden": "true" }, top, rows),
  );
}

function layerNames(first, last) {
  if (last < first) return "no layers";
  return last > first ? `layers ${first}–${last}` : `layer ${first}`;
}

const legend = () =>
  signs(
    [
      ["hs-cell is-cached", "computed before, kept in the cache"],
      ["hs-cell is-lit", "computed now"],
      ["hs-cell is-lit is-lost", "computed now and forgotten: its token was rejected"],
      ["hs-head is-lit", "head row computed now"],
    ].map(([css, words]) => [h("i", { class: `${css} hs-swatch` }), words]),
  );

export { under, legend };

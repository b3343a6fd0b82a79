// The layers under each exit, a cell for every layer and token: what has been computed and is kept, what this moment
// computes, and what it computes in vain. Above them the head of that exit.
import { plural, subscript } from "../kit/format.js";
import { groupsOf, workAt } from "./hispec_work.js";
import { h } from "./parts.js";

const KINDS = ["is-bottom", "is-between", "is-target"];

/** facts(): {layers} of the model. What stands under a lane; see levels_lanes.js. */
const under = (facts) => (level, view) => group(level, view, facts().layers);

function group(level, view, layers) {
  const { trace, moment, from } = view;
  const work = workAt(trace, moment);
  const [first, last] = groupsOf(trace.setup.exits, layers)[level];
  const depth = Math.max(0, last - first + 1);
  const lit = work.read[level];
  const computed = depth * (lit[1] - lit[0]);
  const columns = Array.from({ length: view.to - from }, (_, i) => from + i);
  const rows = Array.from({ length: depth }, (_, i) => layer(last - i, columns, lit, work.after[level]));
  return h(
    "div",
    { "class": `hs-group ${KINDS[level]}${computed ? " is-now" : ""}`, "data-group": level },
    h(
      "div",
      { class: "hs-head-side" },
      h("span", { class: "hs-names" }, layerNames(first, last)),
      h("span", { class: "hs-cached" }, `n${subscript(level)} = ${plural(work.after[level], "token")} cached`),
      h("span", { class: "hs-done" }, computed ? `now ${depth} × ${lit[1] - lit[0]}` : ""),
    ),
    h("div", { "class": "hs-rows", "aria-hidden": "true" }, heads(columns, work, level), rows),
  );
}

function layerNames(first, last) {
  if (last < first) return "no layers";
  return last > first ? `layers ${first}–${last}` : `layer ${first}`;
}

/** Over the token after which the head of this exit gives a distribution. */
function heads(columns, { heads: [from, to], level: now }, level) {
  const used = (place) => now === level && place >= from && place < to;
  return h(
    "div",
    { class: "hs-row hs-heads", title: "output head of this exit" },
    columns.map((place) => h("i", { class: used(place) ? "hs-head is-lit" : "hs-head" })),
  );
}

function layer(number, columns, [from, to], length) {
  const state = (place) => {
    if (place >= from && place < to) return place < length ? "hs-cell is-lit" : "hs-cell is-lit is-lost";
    return place < length ? "hs-cell is-cached" : "hs-cell";
  };
  return h(
    "div",
    { "class": "hs-row", "data-layer": number },
    columns.map((place) => h("i", { class: state(place) })),
  );
}

function legend() {
  const item = (css, words) => h("span", {}, h("i", { class: `${css} hs-swatch` }), ` ${words}`);
  return h(
    "p",
    { class: "sy-hint lv-legend" },
    item("hs-cell is-cached", "computed before, kept in the cache"),
    item("hs-cell is-lit", "computed now"),
    item("hs-cell is-lit is-lost", "computed now and forgotten: its token was rejected"),
    item("hs-head is-lit", "head row computed now"),
  );
}

export { under, legend };

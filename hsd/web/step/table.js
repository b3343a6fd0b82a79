// The numbers of a step, token by token: a row per drafted token with what both models say of it, and of what may follow it.
import { h, token } from "../kit/dom.js";
import { number } from "../kit/format.js";
import { card, scroller } from "../kit/parts.js";
import { capped, fuzzy, ratio, rho } from "./model.js";

const MOST = 60; // rows that are made at once

/** [heading, meaning, value(node, branch)] of each column after the token's. */
function columns(view) {
  const settings = view.step.divergences.length ? fuzzy(view) : null;
  return [
    ["p", "what the target gives this token", ({ p }) => p],
    ["q", "what the draft gives this token", ({ q }) => q],
    ["ρ", "p/q of this token", rho],
    ["r", "joint ratio: product of ρ up to here", ({ id }) => ratio(view, id)],
    ["c", "capped ratio: the same product, never above 1", ({ id }) => capped(view, id)],
    settings ? ["D", divergenceWords(settings), ({ id }) => settings.D(id)] : null,
    ["deficient", "Σ max(c·p − q, 0) over what may follow it", (_, branch) => branch?.deficient ?? null],
    ["excess", "Σ max(q − c·p, 0) over what may follow it", (_, branch) => branch?.excess ?? null],
  ].filter(Boolean);
}

function divergenceWords({ name, unit, on, T }) {
  const rows = on === "raw" ? "of the raw rows, temperature 1 and nothing cut off" : "of the two rows";
  return `divergence ${name} ${rows} in which the token was drafted${unit ? ", in nats" : ""}; it passes up to ${number(T)}`;
}

/** Drafted nodes: along the main path first, then branch by branch as they were drawn. */
function ordered(view) {
  const onSpine = new Set(view.spine);
  const list = [];
  const walk = (id) => {
    if (id) list.push(view.nodes.get(id));
    [...(view.children.get(id) || [])].sort((a, b) => onSpine.has(b) - onSpine.has(a) || a - b).forEach(walk);
  };
  walk(0);
  return list;
}

function table(view, { select, node: selected }) {
  const shown = columns(view);
  const cell = (name, value) => h("td", { "title": value, "data-column": name }, number(value));
  const row = (node) =>
    h(
      "tr",
      { "class": node.id === selected ? "is-active" : null, "data-node": node.id, "onclick": () => select(node.id) },
      h("td.hp-sticky", view.depth.get(node.id)),
      h("th.hp-sticky.is-second", { scope: "row" }, token(node.piece, { cells: 14 })),
      shown.map(([name, , value]) => cell(name, value(node, view.branches.get(node.id)))),
    );
  const heads = [["#", "position in the draft"], ["token", "the drafted token"], ...shown];
  const head = ([name, meaning], i) =>
    h(`th${i < 2 ? `.hp-sticky${i ? ".is-second" : ""}` : ""}`, { scope: "col", title: meaning }, name);
  return card(
    "hp-table",
    "The numbers, token by token",
    "All are those before any rejection.",
    scroller(
      "numbers, token by token",
      h("table.hp-numbers-table", h("thead", h("tr", heads.map(head))), h("tbody", someRows(view, selected, row))),
    ),
    h(
      "dl.hp-meanings",
      shown.map(([name, meaning]) => h("div", h("dt", name), h("dd", meaning))),
    ),
  );
}

/** The first rows, the selected one among them, and a button for the others. */
function someRows(view, selected, row) {
  const all = ordered(view);
  const rest = all.slice(MOST).filter(({ id }) => id !== selected);
  if (!rest.length) return all.map(row);
  const show = (event) => {
    event.stopPropagation();
    more.replaceWith(...rest.map(row));
  };
  const button = h("button.hp-more", { type: "button", onclick: show }, `show ${rest.length} more rows`);
  const more = h("tr", h("td.hp-sticky", { colspan: columns(view).length + 2 }, button));
  return [...all.filter((node) => !rest.includes(node)).map(row), more];
}

export { table };

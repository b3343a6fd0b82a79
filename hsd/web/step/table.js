// The numbers of a step, token by token: a row per drafted token with what both models say of it,
// and of what may follow it.
import { h, token } from "../kit/dom.js";
import { number } from "../kit/format.js";
import { card, scroller } from "../kit/controls.js";
import { capped, fuzzy, ratio, rho } from "./model.js";

const MOST = 60; // rows that are made at once

/** The columns after the token's. @param {StepView} view */
function columns(view) {
  const rule = view.step.divergences.length ? fuzzy(view) : null;
  const raw = "of the raw rows, temperature 1 and nothing cut off";
  const rows = rule?.on === "raw" ? raw : "of the two rows";
  const unit = rule?.unit ? ", in nats" : "";
  const divergence = `divergence ${rule?.name} ${rows} in which the token was drafted${unit}`;
  /** @type {NumberColumn[]} */
  const all = [
    ["p", "what the target gives this token", ({ p }) => p],
    ["q", "what the draft gives this token", ({ q }) => q],
    ["ρ", "p/q of this token", rho, "p q"],
    ["r", "joint ratio: product of ρ up to here", ({ id }) => ratio(view, id), "ratio"],
    ["c", "capped ratio: the same product, never above 1", ({ id }) => capped(view, id), "ratio"],
    ["D", `${divergence}; it passes up to ${number(rule?.T)}`, ({ id }) => rule?.D(id)],
    ["deficient", "Σ max(c·p − q, 0) over what may follow it", (_, branch) => branch?.deficient],
    ["excess", "Σ max(q − c·p, 0) over what may follow it", (_, branch) => branch?.excess],
  ];
  return all.filter(([name]) => name !== "D" || rule);
}

/**
 * Drafted nodes: along the main path first, then branch by branch as they were drawn.
 * @type {(view: StepView, from?: number) => TreeNode[]}
 */
function ordered(view, from = 0) {
  const kids = [...(view.children.get(from) ?? [])];
  const isMain = (/** @type {number} */ id) => Number(view.spine.includes(id));
  kids.sort((a, b) => isMain(b) - isMain(a) || a - b);
  return kids.flatMap((id) => [view.nodes.get(id), ...ordered(view, id)]);
}

/**
 * The card of the numbers; the first rows, the selected one among them, and a button for the
 * others.
 * @type {(view: StepView, state: {select: (node: number) => void, node: number}) => HTMLElement}
 */
function table(view, { select, node: selected }) {
  const shown = columns(view);
  const row = (/** @type {TreeNode} */ node) => {
    const { id, piece } = node;
    const name = h("th.hp-sticky.is-second", { scope: "row" }, token(piece, { cells: 14 }));
    const cells = shown.map(([name, , measure, from = null]) => {
      const value = measure(node, view.branches.get(id));
      const sources = view.isTrie ? null : from;
      const attributes = { "title": value, "data-column": name, "data-from": sources };
      return h("td", attributes, number(value));
    });
    const attributes = {
      "class": id === selected && "is-active",
      "data-node": id,
      "onclick": () => select(id),
    };
    return h("tr", attributes, h("td.hp-sticky", view.depth.get(id)), name, cells);
  };
  const all = ordered(view);
  const rest = all.slice(MOST).filter(({ id }) => id !== selected);
  const show = (/** @type {Event} */ event) => {
    event.stopPropagation();
    more.replaceWith(...rest.map(row));
  };
  const button = h(
    "button.hp-more",
    { type: "button", onclick: show },
    `show ${rest.length} more rows`,
  );
  const more = h("tr", h("td.hp-sticky", { colspan: shown.length + 2 }, button));
  const heads = [
    h("th.hp-sticky", { scope: "col", title: "position in the draft" }, "#"),
    h("th.hp-sticky.is-second", { scope: "col", title: "the drafted token" }, "token"),
    shown.map(([name, title]) => h("th", { scope: "col", title }, name)),
  ];
  const first = all.filter((node) => !rest.includes(node));
  const body = h("tbody", first.map(row), rest.length > 0 && more);
  const numbers = h("table.hp-numbers-table", h("thead", h("tr", heads)), body);
  const meanings = shown.map(([name, meaning]) => h("div", h("dt", name), h("dd", meaning)));
  const hint = "All are those before any rejection.";
  const scrolled = scroller("numbers, token by token", numbers);
  return card(
    "hp-table",
    "The numbers, token by token",
    hint,
    scrolled,
    h("dl.hp-meanings", meanings),
  );
}

export { table };

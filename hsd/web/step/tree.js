// The draft tree as SVG: pills, edges, the tests of both rules under each drafted token, mass bars.
// Drawn anew for every step; takes a few milliseconds.
import { label, s } from "../kit/dom.js";
import { count, number, percent, short, shorten, visible } from "../kit/format.js";
import * as L from "./layout.js";
import { masses, patterns } from "./mass.js";
import { VERDICTS } from "./model.js";
import { compare, key, under } from "./tests.js";

const CELL = 7.9; // width of a character of the token's font

let instances = 0;

/** handlers: select(item), hover(item or null). */
function create(handlers) {
  instances += 1;
  const names = { excess: `hp${instances}-excess`, deficient: `hp${instances}-deficient` };
  const svg = s("svg", {
    "class": "hp-tree",
    "role": "group",
    "aria-label": "draft tree",
    "xmlns": "http://www.w3.org/2000/svg",
  });
  let items = [];

  function draw(view, { width, selected, item, mass }) {
    const plan = L.layout(view, { width, selected });
    items = plan.items;
    const active = activeKey(plan, selected, item);
    svg.setAttribute("viewBox", `0 0 ${plan.width} ${plan.height}`);
    svg.setAttribute("width", plan.width);
    svg.setAttribute("height", plan.height);
    const group = (items, make) => s("g", {}, items.map(make));
    const parts = [
      patterns(names),
      band(view, plan, selected),
      headers(view, plan),
      rowLabels(view, plan),
      edges(view, plan),
      group(plan.items, (it) => pill(view, it, it.key === active, handlers)),
      group(
        plan.items.filter((it) => it.kind === "draft"),
        (it) => under(view, it),
      ),
      group(plan.rests, restLabel),
      masses(view, plan, { mass, names, handlers, selected }),
    ];
    svg.replaceChildren(...parts.filter(Boolean));
    return { plan, active };
  }

  return { element: svg, draw, items: () => items };
}

function activeKey(plan, selected, item) {
  if (item && plan.items.some((it) => it.key === item)) return item;
  return selected ? `n${selected}` : "root";
}

/** The column that the selected branch fills. */
function band(view, plan, selected) {
  const column = view.depth.get(selected) + 1;
  if (column > plan.columns) return null;
  return s("rect", {
    class: "hp-band",
    x: plan.left(column) - 8,
    y: 4,
    width: plan.pill + 16,
    height: plan.height - 8,
    rx: 10,
  });
}

function headers(view, plan) {
  const texts = [label(L.PAD, 19, "so far", "hp-header")];
  const deepest = Math.max(...view.depth.values());
  for (let column = 1; column <= plan.columns; column += 1) {
    const name = column > deepest ? (view.step.drafted ? "bonus" : "next token") : `token ${column}`;
    texts.push(label(plan.left(column), 19, name, "hp-header"));
  }
  return s("g", {}, texts);
}

function rowLabels(view, plan) {
  if (!view.own.decisions.length) return null;
  const names = plan.labels.map(({ x, y, words }) => label(x + 1, y, words, "hp-rowlabel"));
  return s("g", {}, names, key(view));
}

function edges(view, plan) {
  const byKey = new Map(plan.items.map((item) => [item.key, item]));
  const parentOf = (item) => byKey.get(item.parent ? `n${item.parent}` : "root");
  const lines = plan.items.filter((item) => item.kind !== "root").map((item) => edge(parentOf(item), item));
  return s("g", { "aria-hidden": "true" }, lines);
}

function edge(from, to) {
  const [x1, y1, x2, y2] = [from.x + from.w, from.y + middle(from), to.x, to.y + middle(to)];
  const bend = Math.max(14, (x2 - x1) / 2);
  const drawn = to.kind !== "candidate";
  const width = (drawn ? 1.5 : 0.75) + (drawn ? 6 : 4) * (to.p ?? 0);
  return s("path", {
    "class": `hp-edge is-${to.verdict}`,
    "stroke-width": width.toFixed(2),
    "d": `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`,
  });
}

const middle = (item) => (item.kind === "candidate" ? item.h / 2 : 17);

function pill(view, item, active, { select, hover }) {
  const cells = Math.floor((item.w - (item.kind === "candidate" ? 16 : 34)) / CELL);
  const group = s(
    "g",
    {
      "class": `hp-node is-${item.kind} is-${item.verdict}${active ? " is-active" : ""}`,
      "role": "button",
      "data-key": item.key,
      "data-node": item.id ?? null,
      "tabindex": active ? 0 : -1,
      "aria-pressed": String(active),
      "transform": `translate(${item.x} ${item.y})`,
      "onclick": () => select(item),
      "onpointerenter": () => hover(item),
      "onpointerleave": () => hover(null),
      "onfocus": () => hover(item),
    },
    s("title", {}, describe(view, item).join("\n")),
    s("rect", { class: "hp-ring", x: -4, y: -4, width: item.w + 8, height: item.h + 8, rx: 13 }),
    s("rect", { class: "hp-pill", width: item.w, height: item.h, rx: 9 }),
    label(9, 20, shorten(item.piece, cells), "hp-piece", { direction: "ltr" }),
  );
  group.append(
    ...(item.kind === "root"
      ? [label(9, 40, "last token", "hp-small"), label(9, 54, "of the text", "hp-small")]
      : contents(item).filter(Boolean)),
  );
  return group;
}

function contents(item) {
  const candidate = item.kind === "candidate";
  const top = candidate ? 28 : 26;
  const below = item.q === null ? top : top + (candidate ? 12 : 10);
  const bars = [...(item.q === null ? [] : bar(item, "q", top)), ...(item.p === null ? [] : bar(item, "p", below))];
  const { icon } = VERDICTS[item.words ?? item.verdict];
  const sign = s("text", { "class": "hp-icon", "x": item.w - 10, "y": 20, "text-anchor": "end" }, icon);
  return candidate ? bars : [...bars, sign];
}

/** A bar for q or p on a 0–1 track, and its number. */
function bar(item, of, y) {
  const room = item.w - 9 - 14 - 34;
  return [
    label(9, y + 6, of, "hp-small"),
    s("rect", { class: "hp-track", x: 20, y, width: room, height: 6, rx: 2 }),
    s("rect", {
      class: `hp-bar-${of}`,
      x: 20,
      y,
      width: Math.max(item[of] > 0 ? 1 : 0, room * item[of]).toFixed(1),
      height: 6,
      rx: 2,
    }),
    s("text", { "class": "hp-small hp-value", "x": item.w - 8, "y": y + 6, "text-anchor": "end" }, short(item[of])),
  ];
}

/** What a pill says in words: the accessible name and the line under the picture. */
function describe(view, item) {
  if (item.kind === "root") return [`“${visible(item.piece)}”`, "the last token of the text so far"];
  const lines = [`“${visible(item.piece)}”`, `token id ${item.token}`];
  if (item.q !== null) lines.push(`draft q ${number(item.q)}`);
  if (item.p !== null) lines.push(`target p ${number(item.p)}`);
  if (item.q > 0 && item.p !== null) lines.push(`p/q ${number(item.p / item.q)}`);
  if (item.kind !== "draft") return [...lines, VERDICTS[item.words ?? item.verdict].word];
  lines.push(VERDICTS[item.verdict].word);
  lines.push(...testWords(view, view.own, item.id));
  if (view.shadow && !view.sameRule) {
    lines.push(`${view.shadow.info.short}: ${VERDICTS[view.shadow.verdict(item.id)].word}`);
    lines.push(...testWords(view, view.shadow, item.id));
  }
  return lines;
}

const testWords = (view, judged, id) =>
  (judged.at.get(id) || []).map((test) => `test ${test.order}: coin ${compare(test)}`);

function restLabel(rest) {
  if (rest.hidden <= 0) return null;
  const parts = [rest.q === null ? null : `q ${percent(rest.q)}`, `p ${percent(rest.p)}`].filter(Boolean).join(" · ");
  return s(
    "g",
    {},
    label(rest.x + 2, rest.y, `+ ${count(rest.hidden)} more`, "hp-small"),
    label(rest.x + 2, rest.y + 13, parts, "hp-small"),
  );
}

export { create, describe };

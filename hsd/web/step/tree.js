// The draft tree as SVG: pills, edges, the tests of both rules under each drafted token, mass bars; of a grown tree also
// candidates that were dropped. Drawn whole for a step and a selection: what appears at a beat carries its number
// (data-at), and what became of a token the beat from which on it shows (data-turn), so that a beat only changes classes.
import { label, s } from "../kit/dom.js";
import { count, number, percent, short, shorten, visible } from "../kit/format.js";
import { follow } from "./cells.js";
import { beatIn } from "./growth.js";
import * as L from "./layout.js";
import { masses, patterns } from "./mass.js";
import { decisive, VERDICTS } from "./model.js";
import { beatOf } from "./phases.js";
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
  let [appearing, turning] = [[], []];

  /** phases: the plan of phases.js */
  function draw(view, { width, selected, item, mass, phases }) {
    const plan = L.layout(view, { width, selected });
    const times = timesOf(view, phases);
    items = plan.items;
    const active = activeKey(plan, selected, item);
    svg.setAttribute("viewBox", `0 0 ${plan.width} ${plan.height}`);
    svg.setAttribute("width", plan.width);
    svg.setAttribute("height", plan.height);
    const group = (items, make) => s("g", items.map(make));
    const parts = [
      patterns(names),
      band(view, plan, selected),
      headers(view, plan),
      rowLabels(view, plan, times),
      edges(plan, times),
      group(plan.items, (it) => pill(view, it, { active: it.key === active, times, ...handlers })),
      group(
        plan.items.filter((it) => it.kind === "draft"),
        (it) => under(view, it, times),
      ),
      group(plan.rests, (rest) => restLabel(rest, times)),
      s("g", { "data-at": times.masses }, masses(view, plan, { mass, names, handlers, selected })),
    ];
    svg.replaceChildren(...parts.filter(Boolean));
    appearing = [...svg.querySelectorAll("[data-at]")];
    turning = [...svg.querySelectorAll("[data-turn]")];
    return { plan, active };
  }

  /** last: whether nothing comes after it. */
  function beat(now, last) {
    for (const one of appearing) one.classList.toggle("is-later", Number(one.dataset.at) > now);
    for (const one of turning) one.classList.toggle(`is-${one.dataset.verdict}`, Number(one.dataset.turn) <= now);
    const fresh = appearing.find((one) => Number(one.dataset.at) === now && one.matches(".hp-node, .hp-badge"));
    if (fresh && !last && svg.parentElement) follow(svg.parentElement, fresh);
  }

  return { element: svg, draw, beat, items: () => items };
}

/**
 * The beats of a step at which what the tree shows appears: at(item) a box, turn(item) what became of it, expanded(item)
 * that the next level grows from it, tested(judged, test) a test, where none is given the rule's last; read p, and masses
 * those of the branches.
 */
function timesOf(view, phases) {
  const has = (name) => phases.phases.some((phase) => phase.name === name);
  const when = (name) => beatOf(phases, has(name) ? name : "target");
  const grown = (kind, level) => beatOf(phases, "grow", beatIn(view, kind, level));
  const tested = (judged, test) =>
    beatOf(phases, judged === view.own ? "own" : "shadow", test ? test.order - 1 : Infinity);
  const [read, end] = [when("ratio"), phases.total - 1];
  const at = { root: () => 0, drawn: () => end, candidate: () => read };
  const turn = {
    draft: ({ id, verdict }) => (verdict === "unreached" ? end : tested(view.own, decisive(view.own, id))),
    dropped: () => when("rerank"),
  };
  return {
    read,
    masses: when("masses"),
    at: (item) => at[item.kind]?.() ?? grown("propose", item.column),
    turn: (item) => turn[item.kind]?.(item) ?? null,
    expanded: ({ level }) => grown("expand", level),
    tested,
  };
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
  const deepest = Math.max(view.deepest, plan.cut?.levels ?? 0);
  for (let column = 1; column <= plan.columns; column += 1) {
    const name = column > deepest ? (view.step.drafted ? "bonus" : "next token") : `token ${column}`;
    texts.push(label(plan.left(column), 19, name, "hp-header"));
  }
  return s("g", texts);
}

function rowLabels(view, plan, times) {
  if (!view.own.decisions.length) return null;
  const at = ({ node }) => times.at({ kind: "draft", column: view.depth.get(node) });
  const names = plan.labels.map((row) => label(row.x + 1, row.y, row.words, "hp-rowlabel", { "data-at": at(row) }));
  return s("g", names, key(view));
}

function edges(plan, times) {
  const byKey = new Map(plan.items.map((item) => [item.key, item]));
  const parentOf = (item) => byKey.get(item.from ?? (item.parent ? `n${item.parent}` : "root"));
  const lines = plan.items.filter((item) => item.kind !== "root").map((item) => edge(parentOf(item), item, times));
  return s("g", { "aria-hidden": "true" }, lines);
}

/** When a box or its edge appears, and what it turns into: a drafted token once it is judged, a candidate when it is cut. */
function change(item, times) {
  const turn = times.turn(item);
  const css = turn === null ? `is-${item.kind} is-${item.verdict}` : `is-${item.kind}`;
  return { "data-at": times.at(item), "data-turn": turn, "data-verdict": item.verdict, "class": css };
}

function edge(from, to, times) {
  const [x1, y1, x2, y2] = [from.x + from.w, from.y + middle(from), to.x, to.y + middle(to)];
  const bend = Math.max(14, (x2 - x1) / 2);
  const drawn = !BESIDE.has(to.kind);
  const { "class": css, ...attributes } = change(to, times);
  const width = (drawn ? 1.5 : 0.75) + (drawn ? 6 : 4) * (to.p ?? 0);
  return s("path", {
    "class": `hp-edge ${css}`,
    ...attributes,
    "stroke-width": width.toFixed(2),
    "d": `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`,
  });
}

const BESIDE = new Set(["candidate", "dropped"]); // what was not drafted
const middle = (item) => (BESIDE.has(item.kind) ? item.h / 2 : 17);

function pill(view, item, { active, times, select, hover }) {
  const cells = Math.floor((item.w - ({ candidate: 16, dropped: 52 }[item.kind] ?? 34)) / CELL);
  const { "class": css, ...attributes } = change(item, times);
  const group = s(
    "g",
    {
      "class": `hp-node ${css}${active ? " is-active" : ""}`,
      ...attributes,
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
    s("title", describe(view, item).join("\n")),
    s("rect", { class: "hp-ring", x: -4, y: -4, width: item.w + 8, height: item.h + 8, rx: 13 }),
    s("rect", { class: "hp-pill", width: item.w, height: item.h, rx: 9 }),
    label(9, 20, shorten(item.piece, cells), "hp-piece", { direction: "ltr" }),
  );
  group.append(
    ...(item.kind === "root"
      ? [label(9, 40, "last token", "hp-small"), label(9, 54, "of the text", "hp-small")]
      : contents(item, times).filter(Boolean)),
  );
  if (item.read)
    group.append(s("text", { "class": "hp-expanded", "x": item.w + 3, "y": 21, "data-at": times.expanded(item) }, "▸"));
  return group;
}

function contents(item, times) {
  if (item.kind === "dropped") return [label(item.w - 8, 19, short(item.joint), "hp-small hp-value", END)];
  const candidate = item.kind === "candidate";
  const top = candidate ? 28 : 26;
  const below = item.q === null ? top : top + (candidate ? 12 : 10);
  const p = item.p === null ? null : s("g", { "data-at": times.read }, bar(item, "p", below));
  const bars = [...(item.q === null ? [] : bar(item, "q", top)), p];
  const { icon } = VERDICTS[item.words ?? item.verdict];
  const sign = label(item.w - 10, 20, icon, "hp-icon", { ...END, "data-at": times.turn(item) });
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
    label(item.w - 8, y + 6, short(item[of]), "hp-small hp-value", END),
  ];
}

const END = { "text-anchor": "end" };

/** What a pill says in words: the accessible name and the line under the picture. */
function describe(view, item) {
  if (item.kind === "root") return [`“${visible(item.piece)}”`, "the last token of the text so far"];
  const lines = [`“${visible(item.piece)}”`, `token id ${item.token}`];
  if (item.q !== null) lines.push(`draft q ${number(item.q)}`);
  if (item.p !== null) lines.push(`target p ${number(item.p)}`);
  if (item.q > 0 && item.p !== null) lines.push(`p/q ${number(item.p / item.q)}`);
  if (item.joint !== undefined) lines.push(`confidence ${number(item.joint)}`);
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

function restLabel(rest, times) {
  if (rest.hidden <= 0) return null;
  const parts = [rest.q === null ? null : `q ${percent(rest.q)}`, `p ${percent(rest.p)}`].filter(Boolean).join(" · ");
  return s(
    "g",
    { "data-at": times.read },
    label(rest.x + 2, rest.y, `+ ${count(rest.hidden)} more`, "hp-small"),
    label(rest.x + 2, rest.y + 13, parts, "hp-small"),
  );
}

export { create, describe };

// The mass bars under the tree: how much the draft gives too much (excess) and too little (deficient) in each branch.
import { label, s } from "../kit/dom.js";
import { number, short, shorten } from "../kit/format.js";
import * as L from "./layout.js";

const HATCHES = { excess: ["--hp-q", 45], deficient: ["--hp-p", -45] };

/**
 * Excess and deficient mass keep their own hatch everywhere, so that colour is never needed.
 * @param {{excess: string, deficient: string}} names ids of the patterns
 * @param {(variable: string) => string} colour what a variable of the styles stands for
 */
function patterns(names, colour = (variable) => `var(${variable})`) {
  const hatch = ([kind, [variable, turn]]) => {
    const look = { class: "hp-hatch", fill: colour(variable), height: 6 };
    return s(
      "pattern",
      { id: names[kind], width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${turn})` },
      s("rect", { ...look, width: 6, opacity: 0.28 }),
      s("rect", { ...look, width: 3 }),
    );
  };
  return s("defs", Object.entries(HATCHES).map(hatch));
}

/** Excess and deficient mass of each column's branch: linear bars on one scale. */
function masses(view, plan, { mass, names, handlers, selected }) {
  if (!plan.masses.length) return null;
  const scaled = plan.masses.map((m) => ({ ...m, factor: mass === "joint" ? m.branch.joint_q : 1 }));
  const largest = Math.max(...scaled.flatMap((m) => [m.branch.excess * m.factor, m.branch.deficient * m.factor]));
  const top = ceiling(largest);
  const base = plan.massTop + L.MASS;
  const height = L.MASS - 34;
  const right = plan.width - L.PAD;
  return s(
    "g.hp-masses",
    s("line", { class: "hp-base", x1: L.PAD, x2: right, y1: base, y2: base }),
    s("line", { class: "hp-grid", x1: L.PAD + L.ROOT + 22, x2: right, y1: base - height, y2: base - height }),
    massLegend(plan, names, mass, top, base - height),
    scaled.map((m) => massPair(view, m, { top, base, height, names, handlers, active: m.node === selected })),
  );
}

/** The smallest of 1, .5, .2, .1 … (and so on down) that is not below x. */
function ceiling(x) {
  let top = 1;
  for (const factor of [0.5, 0.4, 0.5, 0.5, 0.4, 0.5, 0.5, 0.4, 0.5]) {
    if (x > top * factor) return top;
    top *= factor;
  }
  return top;
}

/** A hatched box of a mass. */
const box = (kind, names, place) => s("rect", { class: `hp-mass is-${kind}`, fill: `url(#${names[kind]})`, ...place });

const MIDDLE = { "text-anchor": "middle" };

function massLegend(plan, names, mass, top, y) {
  const line = (kind, i) => [
    box(kind, names, { x: L.PAD, y: plan.massTop + 22 + i * 17, width: 12, height: 12 }),
    label(L.PAD + 18, plan.massTop + 32 + i * 17, kind, "hp-small"),
  ];
  return s(
    "g",
    label(L.PAD, plan.massTop + 12, mass === "joint" ? "mass, joint" : "branch mass", "hp-rowlabel"),
    Object.keys(HATCHES).map(line),
    label(L.PAD + L.ROOT + 4, y + 4, number(top), "hp-small"),
  );
}

function massPair(view, m, { top, base, height, names, handlers, active }) {
  const width = Math.min(40, m.w / 2 - 10);
  const middle = m.x + m.w / 2;
  const select = () => handlers.select({ kind: "mass", branch: m.node, key: null });
  const one = (kind, x) => {
    const value = m.branch[kind] * m.factor;
    const tall = Math.max(value > 0 ? 1 : 0, (height * value) / top);
    return [
      box(kind, names, { x, y: (base - tall).toFixed(1), width, height: tall.toFixed(1) }),
      label(x + width / 2, base - tall - 5, short(value), "hp-small hp-value", MIDDLE),
    ];
  };
  const [excess, deficient] = Object.keys(HATCHES).map((kind) => number(m.branch[kind] * m.factor));
  return s(
    "g",
    { "class": `hp-masspair${active ? " is-active" : ""}`, "onclick": select, "data-branch": m.node },
    s("title", `excess ${excess}, deficient ${deficient}, capped ratio c ${number(m.branch.capped)}`),
    s("rect", { class: "hp-hit", x: m.x, y: base - height - 16, width: m.w, height: height + 34 }),
    one("excess", middle - width - 4),
    one("deficient", middle + 4),
    label(middle, base + 14, `c ${short(m.branch.capped)}`, "hp-small", MIDDLE),
    branchName(view, m, base + 30),
  );
}

/** In a tree: which branch of the column the bars belong to. */
function branchName(view, m, y) {
  const piece = m.node ? view.nodes.get(m.node).piece : view.rootPiece;
  const words = `after ${shorten(piece, Math.floor(m.w / 7) - 6)}`;
  return label(m.x + m.w / 2, y, words, "hp-small", { ...MIDDLE, direction: "ltr" });
}

export { patterns, masses };

// The mass bars under the tree: how much the draft gives too much (excess) and too little (deficient) in each branch.
import { label, s } from "../kit/dom.js";
import { number, short, shorten } from "../kit/format.js";
import * as L from "./layout.js";

/** Excess and deficient mass keep their own hatch everywhere, so that colour is never needed. */
function patterns(names) {
  const hatch = (id, rotation, kind) =>
    s(
      "pattern",
      { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${rotation})` },
      s("rect", { width: 6, height: 6, class: `hp-hatch-back is-${kind}` }),
      s("rect", { width: 3, height: 6, class: `hp-hatch is-${kind}` }),
    );
  return s("defs", {}, hatch(names.excess, 45, "excess"), hatch(names.deficient, -45, "deficient"));
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
    "g",
    { class: "hp-masses" },
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

function massLegend(plan, names, mass, top, y) {
  const line = (i, kind, words) => [
    s("rect", {
      x: L.PAD,
      y: plan.massTop + 22 + i * 17,
      width: 12,
      height: 12,
      fill: `url(#${names[kind]})`,
      class: `hp-mass is-${kind}`,
    }),
    label(L.PAD + 18, plan.massTop + 32 + i * 17, words, "hp-small"),
  ];
  return s(
    "g",
    {},
    label(L.PAD, plan.massTop + 12, mass === "joint" ? "mass, joint" : "branch mass", "hp-rowlabel"),
    line(0, "excess", "excess"),
    line(1, "deficient", "deficient"),
    label(L.PAD + L.ROOT + 4, y + 4, number(top), "hp-small", { "text-anchor": "start" }),
  );
}

function massPair(view, m, { top, base, height, names, handlers, active }) {
  const width = Math.min(40, m.w / 2 - 10);
  const left = m.x + m.w / 2 - width - 4;
  const item = { kind: "mass", branch: m.node, key: null };
  const one = (kind, x) => {
    const value = m.branch[kind] * m.factor;
    const tall = Math.max(value > 0 ? 1 : 0, (height * value) / top);
    return [
      s("rect", {
        class: `hp-mass is-${kind}`,
        x,
        y: (base - tall).toFixed(1),
        width,
        height: tall.toFixed(1),
        fill: `url(#${names[kind]})`,
      }),
      s(
        "text",
        { "class": "hp-small hp-value", "x": x + width / 2, "y": base - tall - 5, "text-anchor": "middle" },
        short(value),
      ),
    ];
  };
  return s(
    "g",
    {
      "class": `hp-masspair${active ? " is-active" : ""}`,
      "onclick": () => handlers.select(item),
      "data-branch": m.node,
    },
    s(
      "title",
      {},
      `excess ${number(m.branch.excess * m.factor)}, deficient ${number(m.branch.deficient * m.factor)}, capped ratio c ${number(m.branch.capped)}`,
    ),
    s("rect", { class: "hp-hit", x: m.x, y: base - height - 16, width: m.w, height: height + 34 }),
    one("excess", left),
    one("deficient", left + width + 8),
    s(
      "text",
      { "class": "hp-small", "x": m.x + m.w / 2, "y": base + 14, "text-anchor": "middle" },
      `c ${short(m.branch.capped)}`,
    ),
    branchName(view, m, base + 30),
  );
}

/** In a tree: which branch of the column the bars belong to. */
function branchName(view, m, y) {
  const piece = m.node ? view.nodes.get(m.node).piece : view.rootPiece;
  const words = `after ${shorten(piece, Math.floor(m.w / 7) - 6)}`;
  return label(m.x + m.w / 2, y, words, "hp-small", { "text-anchor": "middle", "direction": "ltr" });
}

export { patterns, masses };

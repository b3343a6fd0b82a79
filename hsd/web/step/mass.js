// The masses under the tree: how much the draft gives too much (excess) and too little (deficient) in each branch of a
// path, on tracks from 0 to 1 as on the board.
import { label, s } from "../kit/dom.js";
import { number, short, shorten } from "../kit/format.js";
import * as L from "./layout.js";

const HATCHES = { excess: ["--hp-q", 45], deficient: ["--hp-p", -45] };
const KINDS = Object.keys(HATCHES);
const LINE = 16; // from one track to the next

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

/** The masses of each column's branch. mass: "joint" or "relative"; handlers: of the tree; selected: a node. */
function masses(view, plan, { mass, names, handlers, selected }) {
  if (!plan.masses.length) return null;
  const top = plan.massTop;
  const legend = KINDS.map((kind, i) => label(L.PAD, top + 10 + LINE * i, kind, "hp-rowlabel"));
  const pair = ({ node, branch, x, w }) => {
    const factor = mass === "joint" ? branch.joint_q : 1;
    const room = w - 44;
    const line = (kind, i) => {
      const value = branch[kind] * factor;
      const box = { x, y: top + LINE * i, height: 11, rx: 2 };
      const width = Math.max(value > 0 ? 1 : 0, room * value).toFixed(1);
      return [
        s("rect", { ...box, class: "hp-track", width: room }),
        s("rect", { ...box, class: `hp-mass is-${kind}`, width, fill: `url(#${names[kind]})` }),
        label(x + w - 6, box.y + 10, short(value), "hp-small hp-value", { "text-anchor": "end" }),
      ];
    };
    const [excess, deficient, c] = [branch.excess * factor, branch.deficient * factor, branch.capped].map((x) =>
      number(x),
    );
    const piece = node ? view.nodes.get(node).piece : view.rootPiece;
    const words = `c ${short(branch.capped)}, after ${shorten(piece, Math.floor(w / 7) - 10)}`;
    const select = () => handlers.select({ kind: "mass", branch: node, key: null });
    return s(
      "g",
      { "class": `hp-masspair${node === selected ? " is-active" : ""}`, "data-branch": node, "onclick": select },
      s("title", {}, `excess ${excess}, deficient ${deficient}, capped ratio c ${c}`),
      s("rect", { class: "hp-hit", x, y: top - 4, width: w, height: L.MASS }),
      KINDS.map(line),
      label(x, top + 2 * LINE + 10, words, "hp-small", { direction: "ltr" }),
    );
  };
  return s("g", { class: "hp-masses" }, legend, plan.masses.map(pair));
}

export { patterns, masses };

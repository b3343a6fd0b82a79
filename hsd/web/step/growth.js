// A tree of drafts as it grew: what each level proposed, what was expanded for the next one, what
// the re-ranking kept and what it dropped; what each token sees in the target's one pass, and what
// the tree is worth. A part of a step, see parts.js.
import { h, prose } from "../kit/dom.js";
import { layout } from "../kit/facts.js";
import { number, plural } from "../kit/format.js";
import { folded, scroller } from "../kit/controls.js";
import { level as bar } from "./cells.js";
import { shown } from "./drafts.js";
import { listing, plain, say } from "./sentences.js";
import * as mask from "./mask.js";
import { copies, pathTo, reach, tapsOf, worth } from "./model.js";

const PIECES = 6; // tokens that a sentence lists
const TITLE = "What the target reads in one pass, and what the tree is worth";
const CHANCE = "The chance that so many are kept, over all coins:";
const SENTENCES = /** @type {const} */ (["tree_again", "tree_worth", "tree_cost"]);

/** @type {StepPart["shows"]} */
const shows = (view) => view.isTrie && view.detail && view.step.drafted > 0;

/**
 * How the siblings of the tree came about: "chosen" as the likeliest, drawn, or "mixed".
 * @param {View} view
 */
const siblings = ({ options }) => layout(options.draft.tree).siblings;

/** Whether the trace tells what the tree was cut from: older ones do not. @param {View} view */
const isCut = ({ step }) => step.growth?.length > 0;

/**
 * All candidates, level by level. Of a tree that was not cut, its tokens.
 * @param {View} view
 * @returns {GrownToken[]}
 */
function candidates({ step, depth, children }) {
  if (step.growth?.length)
    return step.growth.map((grown, i) => ({
      ...grown,
      id: i + 1,
      node: grown.node ?? null,
    }));
  const joint = [1];
  return step.nodes.map(({ id, parent, token, piece, q }) => {
    joint[id] = joint[parent] * q;
    return {
      id,
      parent,
      level: depth.get(id),
      token,
      piece,
      q,
      joint: joint[id],
      read: children.has(id),
      node: id,
    };
  });
}

/**
 * What happens while the tree of a step grows, in order; the step has a beat for each.
 * @param {View} view
 * @returns {GrowthMoment[]}
 */
function moments(view) {
  const levels = Math.max(...candidates(view).map(({ level }) => level));
  const all = /** @type {GrowthMoment[]} */ ([]);
  if (tapsOf(view).length) all.push({ kind: "know", level: 0 });
  for (let level = 1; level <= levels; level += 1) {
    all.push({ kind: "propose", level });
    if (isCut(view) && level < levels) all.push({ kind: "expand", level });
  }
  return all;
}

/**
 * The beat of the phase "grow" in which something happens at a level of the tree; −1 for none.
 * @type {(view: View, kind: string, level: number) => number}
 */
const beatIn = (view, kind, level) =>
  moments(view).findIndex((moment) => moment.kind === kind && moment.level === level);

/**
 * The phases of a step with a tree: its growth in place of a chain's draft. A chosen tree was not
 * drawn with q, so that no ratio and no mass counts.
 * @type {NonNullable<StepPart["moves"]>}
 */
function moves(view, usual) {
  const replaced = siblings(view) === "chosen" ? ["draft", "ratio", "masses"] : ["draft"];
  const rest = usual.filter(([name]) => !replaced.includes(name));
  if (!isCut(view)) return [["grow", "draft", moments(view).length], ...rest];
  return [["grow", "growth", moments(view).length], ["rerank", "cut", 1], ...rest];
}

/** @type {StepPart["beats"]} */
const beats = {
  grow(view, i) {
    const { kind, level } = moments(view)[i];
    return [`beat_${kind}`, growthFacts(view, level)];
  },
  rerank: (view) => ["beat_rerank", growthFacts(view, 0)],
};

/**
 * What sentences about the growth of a tree may name. level: the one that is proposed or expanded;
 * 0 for none.
 * @type {(view: View, level: number) => GrowthFacts}
 */
function growthFacts(view, level) {
  const { step, trace, index, options } = view;
  const all = candidates(view);
  const grown = all.filter((candidate) => candidate.level === level);
  const parents = new Set(grown.map(({ parent }) => parent));
  const before = index ? trace.steps[index - 1].committed : trace.prompt.pieces;
  const taps = tapsOf(view);
  const read = grown.filter((candidate) => candidate.read).length;
  const drafted = step.nodes.length;
  const listed = grown.slice(0, PIECES);
  const kind = siblings(view);
  return {
    level,
    levels: Math.max(...all.map((candidate) => candidate.level)),
    made: grown.length,
    parents: parents.size,
    read,
    all: read === grown.length,
    candidates: all.length,
    drafted,
    dropped: all.length - drafted,
    before: { piece: view.rootPiece },
    fresh: before.length,
    taps: listing(taps),
    head: taps.length > 0,
    copies: copies(options),
    chosen: kind === "chosen",
    mixed: kind === "mixed",
    proposed: listed.map(({ piece }, i) => ({ piece: { piece }, start: i === 0 })),
    others: grown.length - listed.length,
  };
}

// ---- what the target makes of it

/** What the sentences of the card may name. @param {View} view */
function treeFacts(view) {
  const { step, own } = view;
  const sum = worth(view).reduce((total, chance) => total + chance, 0);
  const expected = step.expected_kept?.[own.rule] ?? Infinity;
  return {
    ...growthFacts(view, 0),
    older: siblings(view) === "chosen" && !isCut(view),
    sum: number(sum),
    reached: Math.abs(expected - sum) < 1e-3,
    rows: step.nodes.length + 1,
    lost: step.nodes.length - own.kept,
    written: step.committed.length,
    passes: step.below?.[0]?.calls ?? 0,
    drafting: number(1000 * step.times.draft),
    reading: step.times.target > 0 ? number(1000 * step.times.target) : null,
  };
}

/**
 * The rows of the mask for the tokens that are drawn, node 0 first. Siblings share a position.
 * @type {(view: View, selected: number) => MaskRow[]}
 */
function maskRows(view, selected) {
  const joint = new Map(candidates(view).map((candidate) => [candidate.node, candidate.joint]));
  const drawn = [...shown(view, selected)].sort((a, b) => a - b);
  return [0, ...drawn].map((id) => ({
    id,
    piece: id ? view.nodes.get(id).piece : view.rootPiece,
    position: view.step.context_length - 1 + view.depth.get(id),
    sees: [0, ...pathTo(view, id)],
    joint: joint.get(id) ?? null,
    reach: reach(view, id),
    kept: !id || view.own.path.has(id),
  }));
}

/** The bar of a depth of a chosen tree. @type {(chance: number, i: number) => Element} */
function worthBar(chance, i) {
  const words = `at least ${plural(i + 1, "token")}`;
  return h("div.hp-expect", h("span", words), bar("is-p", chance));
}

/**
 * A card, folded up: the mask, what is read again, what the tree is worth and costs.
 * @type {StepPart["create"]}
 */
function create({ select }) {
  const drawing = mask.create({ select });
  const words = h("div.hp-treewords");
  const below = folded(
    "hp-maskcard",
    TITLE,
    plain(say("mask_hint", {})),
    scroller(TITLE, drawing.element),
    words,
  );
  let now = /** @type {{view: View, selected: number} | null} */ (null);
  below.addEventListener("toggle", () => fill());

  function fill() {
    if (!below.open || !now) return;
    const { view, selected } = now;
    drawing.draw(maskRows(view, selected));
    drawing.mark(selected);
    const facts = treeFacts(view);
    const lines = SENTENCES.map((name) => h("p", { "data-says": name }, prose(say(name, facts))));
    words.replaceChildren(...lines);
    if (siblings(view) === "chosen")
      words.append(h("div.hp-worth", h("p.hp-hint", CHANCE), worth(view).map(worthBar)));
  }

  return {
    below,
    draw(view, { selected }) {
      now = { view, selected };
      fill();
    },
    beat: (_, last, { phase }) => drawing.beat(!["grow", "rerank"].includes(phase.name), last),
    select(node) {
      if (now) now = { ...now, selected: node };
      if (below.open && !drawing.mark(node)) fill();
    },
  };
}

export { beatIn, beats, candidates, create, isCut, moves, shows };

// A tree of drafts as it grew: what each level proposed, what was expanded for the next one, what the re-ranking kept and
// what it dropped; what each token sees in the target's one pass, and what the tree is worth. A part of a step, see parts.js.
import { h, prose } from "../kit/dom.js";
import { layout } from "../kit/facts.js";
import { number, plural } from "../kit/format.js";
import { folded, scroller } from "../kit/parts.js";
import { level as bar } from "./cells.js";
import { shown } from "./drafts.js";
import { listing, plain, say } from "./fill.js";
import * as mask from "./mask.js";
import { copies, pathTo, reach, tapsOf } from "./model.js";

const PIECES = 6; // tokens that a sentence lists
const TITLE = "What the target reads in one pass, and what the tree is worth";
const CHANCE = "The chance that so many are kept, over all coins:";
const SENTENCES = ["tree again", "tree worth", "tree cost"];

/** @type {StepPart["shows"]} */
const shows = (view) => view.isTrie && view.detail && view.step.drafted > 0;

/** How the siblings of the tree came about: "chosen" as the likeliest, drawn, or "mixed". @param {View} view */
const siblings = ({ options }) => layout(options.draft.tree).siblings;

/** Whether the trace tells what the tree was cut from: older ones do not. @param {View} view */
const isCut = ({ step }) => step.growth?.length > 0;

/** All candidates, level by level. Of a tree that was not cut, its tokens. @param {View} view @returns {GrownToken[]} */
function candidates({ step, depth, children }) {
  if (step.growth?.length) return step.growth.map((one, i) => ({ ...one, id: i + 1, node: one.node ?? null }));
  const joint = [1];
  return step.nodes.map(({ id, parent, token, piece, q }) => {
    joint[id] = joint[parent] * q;
    return { id, parent, level: depth.get(id), token, piece, q, joint: joint[id], read: children.has(id), node: id };
  });
}

/** @param {View} view @returns {GrowthMoment[]} in order; a step has a beat for each */
function moments(view) {
  const levels = Math.max(...candidates(view).map(({ level }) => level));
  const grown = Array.from({ length: levels }, (_, i) => [
    { kind: "propose", level: i + 1 },
    ...(isCut(view) && i + 1 < levels ? [{ kind: "expand", level: i + 1 }] : []),
  ]);
  return [...(tapsOf(view).length ? [{ kind: "know", level: 0 }] : []), ...grown.flat()];
}

/** @type {(view: View, kind: string, level: number) => number} The beat of the phase "grow" in which that happens. */
const beatIn = (view, kind, level) => moments(view).findIndex((one) => one.kind === kind && one.level === level);

/** A tree grows in place of a chain's draft. Nothing of a chosen one was drawn: no masses count. @type {NonNullable<StepPart["moves"]>} */
function moves(view, usual) {
  const left = new Set(["draft", ...(siblings(view) === "chosen" ? ["ratio", "masses"] : [])]);
  const rest = usual.filter(([name]) => !left.has(name));
  if (!isCut(view)) return [["grow", "draft", moments(view).length], ...rest];
  return [["grow", "growth", moments(view).length], ["rerank", "cut", 1], ...rest];
}

/** @type {StepPart["beats"]} */
const beats = {
  grow(view, i) {
    const { kind, level } = moments(view)[i];
    return [`beat ${kind}`, growthFacts(view, level)];
  },
  rerank: (view) => ["beat rerank", growthFacts(view, 0)],
};

/** What sentences about the growth of a tree may name. level: the one that is proposed or expanded; 0 for none. @type {(view: View, level: number) => SentenceFacts} */
function growthFacts(view, level) {
  const { step, trace, index, options } = view;
  const all = candidates(view);
  const grown = all.filter((one) => one.level === level);
  const before = index ? trace.steps[index - 1].committed : trace.prompt.pieces;
  const taps = tapsOf(view);
  const read = grown.filter((one) => one.read).length;
  const drafted = step.nodes.length;
  return {
    ...{ level, levels: Math.max(...all.map((one) => one.level)) },
    ...{ made: grown.length, parents: new Set(grown.map(({ parent }) => parent)).size },
    ...{ read, all: read === grown.length, candidates: all.length, drafted, dropped: all.length - drafted },
    ...{ before: { piece: view.rootPiece }, fresh: before.length },
    ...{ taps: listing(taps), head: taps.length > 0, copies: copies(options) },
    ...{ chosen: siblings(view) === "chosen", mixed: siblings(view) === "mixed" },
    proposed: grown.slice(0, PIECES).map(({ piece }, i) => ({ piece: { piece }, start: i === 0 })),
    others: Math.max(0, grown.length - PIECES),
  };
}

// ---- what the target makes of it

/** @type {(view: View) => number[]} `reach` summed at each depth: of a chosen tree, the chance to keep so many at least. */
function worth(view) {
  const sums = Array.from({ length: view.deepest }, () => 0);
  for (const id of view.nodes.keys()) sums[view.depth.get(id) - 1] += reach(view, id);
  return sums;
}

/** What the sentences of the card may name. @param {View} view */
function treeFacts(view) {
  const { step, own } = view;
  const sum = worth(view).reduce((all, one) => all + one, 0);
  return {
    ...growthFacts(view, 0),
    older: siblings(view) === "chosen" && !isCut(view),
    sum: number(sum),
    reached: Math.abs((step.expected_kept?.[own.rule] ?? Infinity) - sum) < 1e-3,
    rows: step.nodes.length + 1,
    lost: step.nodes.length - own.kept,
    written: step.committed.length,
    passes: step.below?.[0]?.calls ?? 0,
    drafting: number(1000 * step.times.draft),
    reading: step.times.target > 0 ? number(1000 * step.times.target) : null,
  };
}

/** @type {(view: View, selected: number) => MaskRow[]} Of the tokens that are drawn, node 0 first. Siblings share a position. */
function maskRows(view, selected) {
  const joint = new Map(candidates(view).map((one) => [one.node, one.joint]));
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

/** @type {(sum: number, i: number) => Element} The bar of a depth of a chosen tree. */
const worthBar = (sum, i) => h("div.hp-expect", h("span", `at least ${plural(i + 1, "token")}`), bar("is-p", sum));

/** @type {StepPart["create"]} Folded up: the mask, what is read again, what the tree is worth and costs. */
function create({ select }) {
  const drawing = mask.create({ select });
  const words = h("div.hp-treewords");
  const below = folded("hp-maskcard", TITLE, plain(say("mask hint", {})), scroller(TITLE, drawing.element), words);
  let now = /** @type {{view: View, selected: number} | null} */ (null);
  below.addEventListener("toggle", () => fill());

  function fill() {
    if (!below.open || !now) return;
    const { view, selected } = now;
    drawing.draw(maskRows(view, selected));
    drawing.mark(selected);
    const facts = treeFacts(view);
    words.replaceChildren(
      ...SENTENCES.map((name) => h("p", { "data-says": name }, prose(say(name, facts)))),
      siblings(view) === "chosen" ? h("div.hp-worth", h("p.hp-hint", CHANCE), worth(view).map(worthBar)) : "",
    );
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

export { beatIn, beats, candidates, create, isCut, maskRows, moments, moves, shows, treeFacts, worth };

// The phases of a step and their beats, the smallest moves: draft, target's pass, p beside q, masses, the tests of each
// rule, commit. Pure: says at which beat something happens, and what there is to say of it.
import { number, pair, percent, plural } from "../kit/format.js";
import { copies, verdicts } from "./model.js";

const TIMES = { draft: 900, target: 1800, ratio: 2600, masses: 2800, shadow: 2000, own: 2000, commit: 3200 };

/**
 * The phases of a step: {phases: [{name, title, from, beats}], total, lanes}. `from`: the first beat; lanes: the verdicts
 * in the order in which they are told, with the phase that tells them. A step in which nothing was drafted, or without
 * details, has one beat.
 */
function plan(view) {
  const lanes = lanesOf(view);
  const parts = view.detail && view.step.drafted ? moves(view, lanes) : [["commit", "commit", 1]];
  let total = 0;
  const phases = parts.map(([name, title, beats]) => {
    total += beats;
    return { name, title, beats, from: total - beats };
  });
  return { phases, total, lanes };
}

/** Both rules; one where the run's rule is what it is compared with. */
const lanesOf = (view) => verdicts(view).map((judged) => ({ phase: judged === view.own ? "own" : "shadow", judged }));

function moves(view, lanes) {
  const name = ({ rule, info }) => (rule === "tokenwise" ? "classic" : info.short);
  const told = lanes.map(({ phase, judged }) => [phase, name(judged), view.isTrie ? 1 : judged.decisions.length]);
  return [
    ["draft", "draft", view.isTrie ? 1 : view.step.drafted],
    ["target", "target", 1],
    ["ratio", "p and q", 1],
    ["masses", "masses", 1],
    ...told.filter(([, , beats]) => beats),
    ["commit", "commit", 1],
  ];
}

/** Where a beat is: {phase, i}, the i-th of its phase. */
function at({ phases }, beat) {
  const phase = phases.findLast(({ from }) => from <= beat);
  return { phase, i: beat - phase.from };
}

/** The beat at which something of a phase appears; 0 where the step has no such phase. */
function beatOf({ phases }, name, i = 0) {
  const phase = phases.find((one) => one.name === name);
  return phase ? phase.from + Math.min(i, phase.beats - 1) : 0;
}

/** Milliseconds that a beat stays while the step plays: as long as there is something to read. */
function pause(found) {
  const { phase, i } = found;
  return TIMES[phase.name] * (i === phase.beats - 1 ? 1.3 : 1);
}

/** What happens in a beat before the last: sentence parts of a headline, and of a line under it. */
function telling(view, found) {
  const { phase, i } = found;
  return { draft, target, ratio, masses, shadow: test, own: test }[phase.name](view, i, phase);
}

function draft(view, i) {
  const what = copies(view.options)
    ? ["The text itself proposes: ", "what followed its last words before is copied"]
    : ["The draft model guesses: ", "small and fast, one token after another"];
  if (view.isTrie)
    return said(what, [`${plural(view.step.drafted, "token")} on ${plural(view.step.paths.length, "draft")}.`]);
  const node = view.step.nodes[i];
  const chance = copies(view.options) ? "." : [", which it gives the chance q = ", number(node.q), "."];
  return said(what, [`Token ${i + 1} of ${view.step.drafted}: `, { piece: node.piece }, ...[chance].flat()]);
}

function target(view) {
  const all = view.step.drafted === 1 ? "the guess" : `all ${view.step.drafted} guesses`;
  return said(
    ["The target model reads ", `${all} in one pass`],
    [
      "It is the large model whose text we want. One pass tells how likely it finds each guess, and what it would write instead.",
    ],
  );
}

function ratio(view) {
  if (view.isTrie) return said(["Beside each q now stands p, ", "the target's own probability"], []);
  const { nodes } = view.step;
  const low = nodes.filter(({ p, q }) => p < q).map(({ id }) => id);
  const words = !low.length
    ? ["Here p is at least q everywhere: the draft was nowhere too sure of itself."]
    : [
        `At ${low.length === 1 ? "token" : "tokens"} ${list(low)} p is below q: the draft proposes `,
        low.length === 1 ? "it" : "them",
        " more often than the target would.",
      ];
  return said(["Beside each q now stands p, ", "the target's own probability"], words);
}

function masses(view) {
  const branch = view.branches.get(0);
  const words = [
    "Summed over all possible next tokens. ",
    { term: "excess", words: "Excess" },
    " calls for rejections, ",
    { term: "deficient", words: "deficient mass" },
    " for corrections.",
  ];
  if (branch) words.push(` At the start the draft proposes ${percent(branch.excess)} too much.`);
  return said(["Too much ", "and too little"], words, "of the whole vocabulary, not only of the guesses");
}

const THRESHOLD = { term: "threshold", words: "threshold" };
const AFTER = {
  forward: ["accepted, go on", "rejected: stop, the rest is thrown away unread"],
  backward: ["keep these", "step back by one token"],
};

function test(view, i, { name }) {
  const judged = view[name];
  const { forward, short } = judged.info;
  if (view.isTrie) return said([`${short}: `, `keeps ${plural(judged.kept, "token")}`], []);
  const decision = judged.decisions[i];
  const [low, high] = pair(...decision.sides);
  const position = view.depth.get(decision.node);
  const what = forward
    ? `token ${position}`
    : position === 1
      ? "the first token"
      : decision.test === "draft"
        ? `all ${position} tokens at once`
        : `the first ${position} tokens at once`;
  const outcome = AFTER[forward ? "forward" : "backward"][decision.accepted ? 0 : 1];
  const last = i === judged.decisions.length - 1 && decision.accepted === forward;
  const end = last ? (forward ? "accepted: all are kept" : "nothing is left to keep") : outcome;
  return said(
    [`${named(judged)} tests ${what}: `, decision.accepted ? "✓ passes" : "✕ fails"],
    [
      "The ",
      decision.coinless ? "bar" : { term: "coin", words: "coin" },
      `, ${low}, ${decision.accepted ? "is below" : "is not below"} `,
      ...(decision.coinless ? ["the target’s ", { term: "p", words: "p" }] : ["the ", THRESHOLD]),
      ` ${high}: ${end}.`,
    ],
  );
}

/** A rule's short name; the classic one with both of its names. */
const named = ({ rule, info }) => (rule === "tokenwise" ? "Classic (vanilla)" : info.short);

function said([start, strong], detail, more = "") {
  return { lead: [start, { strong }, more ? `, ${more}` : "", "."], detail };
}

const list = (ids) => (ids.length < 2 ? String(ids[0]) : `${ids.slice(0, -1).join(", ")} and ${ids[ids.length - 1]}`);

export { at, beatOf, named, pause, plan, telling };

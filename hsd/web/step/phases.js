// The phases of a step and their beats, the smallest moves: draft, target's pass, p beside q, masses, the tests of each
// rule, commit. Pure: says at which beat something happens, and what there is to say of it then.
import { facts } from "../kit/facts.js";
import { percent } from "../kit/format.js";
import { number, say } from "./fill.js";
import { copies, tapsOf, verdicts } from "./model.js";
import { PARTS } from "./parts.js";
import { listing, testFacts } from "./sentences.js";

const TIME = 2600; // milliseconds that a beat of a part stays
const TIMES = { draft: 900, target: 1800, ratio: 2600, masses: 2800, shadow: 2000, own: 2000, commit: 3200 };
const MOST = 24; // tests of a tree that have a beat each

/**
 * The phases of a step: {phases: [{name, title, from, beats, drafts}], total, lanes}. `from`: the first beat; lanes: the verdicts
 * in the order in which they are told, with the phase that tells them. A step in which nothing was drafted, or without
 * details, has one beat, beside those of the parts that it has.
 */
function plan(view) {
  const lanes = lanesOf(view);
  const usual = view.detail && view.step.drafted ? moves(view, lanes) : [["commit", "commit", 1]];
  const parts = PARTS.filter((part) => part.moves && part.shows(view));
  let total = 0;
  const phases = parts
    .reduce((all, part) => part.moves(view, all), usual)
    .map(([name, title, beats, drafts]) => {
      total += beats;
      return { name, title, beats, drafts, from: total - beats };
    });
  return { phases, total, lanes };
}

/** Both rules; one where the run's rule is what it is compared with. */
const lanesOf = (view) => verdicts(view).map((judged) => ({ phase: judged === view.own ? "own" : "shadow", judged }));

function moves(view, lanes) {
  const told = lanes.map(({ phase, judged }) => [phase, judged.info.short, testBeats(view, judged)]);
  return [
    ["draft", "draft", view.step.drafted],
    ["target", "target", 1],
    ["ratio", "p and q", 1],
    ["masses", "masses", 1],
    ...told.filter(([, , beats]) => beats),
    ["commit", "commit", 1],
  ];
}

/** A beat for each test; one for all of them where a tree has very many. */
const testBeats = ({ isTrie }, { decisions }) => (isTrie && decisions.length > MOST ? 1 : decisions.length);

/** Where a beat is: {phase, i}, the i-th of its phase. */
function at({ phases }, beat) {
  const phase = phases.findLast(({ from }) => from <= beat);
  return { phase, i: beat - phase.from };
}

/** The beat at which something of a phase appears, such as the i-th drafted token; 0 where the step has no such phase. */
function beatOf({ phases }, name, i = 0) {
  const phase = phases.find((one) => one.name === name || (name === "draft" && one.drafts));
  return phase ? phase.from + Math.min(phase.drafts ? phase.drafts(i) : i, phase.beats - 1) : 0;
}

/** Milliseconds that a beat stays while the step plays: as long as there is something to read. */
function pause(found) {
  const { phase, i } = found;
  return (TIMES[phase.name] ?? TIME) * (i === phase.beats - 1 ? 1.3 : 1);
}

/** What happens in a beat before the last: sentence parts of a headline, and of a line under it. */
function telling(view, { phase, i }) {
  const { step, isTrie: tree, options } = view;
  const head = tapsOf(view).length > 0;
  const common = { drafted: step.drafted, listed: step.paths.length, tree, head, copies: copies(options) };
  const [name, own] = BEATS[phase.name](view, i, phase);
  return halves(say(name, { ...common, ...own }));
}

const BEATS = {
  draft: ({ step: { nodes } }, i) => [
    "beat draft",
    { number: i + 1, piece: { piece: nodes[i].piece }, q: number(nodes[i].q) },
  ],
  target: () => ["beat target", {}],
  ratio({ step: { nodes } }) {
    const low = nodes.filter(({ p, q }) => p < q).map(({ id }) => String(id));
    return ["beat ratio", { below: listing(low), single: low.length === 1 }];
  },
  masses({ branches }) {
    const first = branches.get(0);
    return ["beat masses", { "too much": first ? percent(first.excess) : null }];
  },
  shadow: testBeat,
  own: testBeat,
  ...Object.assign({}, ...PARTS.map(({ beats }) => beats)),
};

function testBeat(view, i, { name, beats }) {
  const judged = view[name];
  const { forward } = judged.info;
  const made = judged.decisions[i];
  const last = i === judged.decisions.length - 1 && made.accepted === forward;
  const facts = testFacts(view, judged, made);
  const struck = facts.changes.length ? facts.changes : null;
  const each = beats === judged.decisions.length;
  return ["beat test", { ...facts, each, struck, Name: named(judged), kept: judged.kept, forward, last }];
}

/** A headline and what stands under it, which a sentence parts by ||. */
function halves(parts) {
  const i = parts.findIndex((part) => typeof part === "string" && part.includes("||"));
  const [before, after] = parts[i].split("||");
  return { lead: [...parts.slice(0, i), before], detail: [after, ...parts.slice(i + 1)] };
}

/** A rule's name at the start of a line: as the glossary has it, so that "vanilla" stands with its other name. */
function named({ info }) {
  const { label = info.head } = facts.glossary[info.term] || {};
  return label[0].toUpperCase() + label.slice(1);
}

export { at, beatOf, named, pause, plan, telling };

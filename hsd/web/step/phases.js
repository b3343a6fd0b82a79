// The phases of a step and their beats, the smallest moves: draft, target's pass, p beside q,
// masses, the tests of each rule, commit. Pure: says at which beat something happens, and what
// there is to say of it then.
import { facts } from "../kit/facts.js";
import { percent } from "../kit/format.js";
import { countsAt, stop } from "./counts.js";
import { listing, number, say } from "./sentences.js";
import { copies, tapsOf, verdicts } from "./model.js";
import { PARTS } from "./parts.js";
import { testFacts } from "./explain.js";

const TIME = 2600; // milliseconds that a beat of a part stays
/** @type {Record<string, number>} */
const TIMES = {
  draft: 900,
  target: 1800,
  ratio: 2600,
  masses: 2800,
  shadow: 2000,
  own: 2000,
  counts: 4200,
  commit: 3200,
};
const MOST = 24; // tests of a tree that have a beat each
const SCENES = 3; // of the masses in counts

/**
 * The phases of a step. Without a draft, or without details, it has one beat and those of its
 * parts. first: as brief.js draws it, where masses come with the tests that they decide; asks: with
 * a question to a room before the first test.
 * @type {(view: View, how?: {first?: boolean, asks?: boolean}) => Plan}
 */
function plan(view, { first = false, asks = false } = {}) {
  /** @type {RuleLane[]} */
  const lanes = verdicts(view).map((judged) => ({
    phase: judged === view.own ? "own" : "shadow",
    judged,
  }));
  /** @type {Move[]} */
  let all = [["commit", "commit", 1]];
  if (view.detail && view.step.drafted) all = moves(view, lanes, first);
  const test = all.findIndex(([name]) => name === lanes[0]?.phase);
  if (asks && test > 0) all.splice(test, 0, ["ask", "?", 1]);
  for (const part of PARTS) if (part.moves && part.shows(view)) all = part.moves(view, all);
  let total = 0;
  const phases = all.map(([name, title, beats, drafts]) => {
    total += beats;
    return {
      name,
      title,
      beats,
      drafts,
      from: total - beats,
    };
  });
  return { phases, total, lanes };
}

/**
 * The usual phases: a beat for each test, one for all of them where a tree has very many.
 * @type {(view: View, lanes: RuleLane[], first: boolean) => Move[]}
 */
function moves(view, lanes, first) {
  const { step, isTrie } = view;
  /** @type {Move[]} */
  const all = [
    ["draft", "draft", step.drafted],
    ["target", "target", 1],
    ["ratio", "p and q", 1],
  ];
  if (!first) all.push(["masses", "masses", 1]);
  for (const { phase, judged } of lanes) {
    const tests = judged.decisions.length;
    const beats = isTrie && tests > MOST ? 1 : tests;
    if (beats || judged.info.own) all.push([phase, judged.info.short, beats || 1]);
  }
  if (first && stop(view) !== null) all.push(["counts", "masses", SCENES]);
  all.push(["commit", "commit", 1]);
  return all;
}

/** Where a beat is. @type {(plan: Plan, beat: number) => Beat} */
function at({ phases }, beat) {
  const phase = phases.findLast(({ from }) => from <= beat) ?? phases[0];
  return { phase, i: beat - phase.from };
}

/**
 * The beat at which something of a phase appears, such as the i-th drafted token; 0 where the step
 * has no such phase.
 * @type {(plan: Plan, name: string, i?: number) => number}
 */
function beatOf({ phases }, name, i = 0) {
  const matches = (/** @type {Phase} */ phase) =>
    phase.name === name || (name === "draft" && phase.drafts);
  const phase = phases.find(matches);
  if (!phase) return 0;
  const beat = phase.drafts ? phase.drafts(i) : i;
  return phase.from + Math.min(beat, phase.beats - 1);
}

/**
 * Milliseconds that a beat stays while the step plays: as long as there is something to read.
 * @param {Beat} beat
 */
function pause({ phase, i }) {
  const time = TIMES[phase.name] ?? TIME;
  return i === phase.beats - 1 ? 1.3 * time : time;
}

/**
 * What happens in a beat before the last: sentence parts of a headline, and of a line under it.
 * @type {(view: View, beat: Beat) => {lead: Part[], detail: Part[]}}
 */
function telling(view, { phase, i }) {
  const { step, isTrie: tree, options } = view;
  const head = tapsOf(view).length > 0;
  const common = {
    drafted: step.drafted,
    listed: step.paths.length,
    tree,
    head,
    copies: copies(options),
  };
  const [name, own] = BEATS[phase.name](view, i, phase);
  const parts = say(name, { ...common, ...own });
  const place = parts.findIndex((part) => typeof part === "string" && part.includes("||"));
  const [before, after] = String(parts[place]).split("||");
  return {
    lead: [...parts.slice(0, place), before],
    detail: [after, ...parts.slice(place + 1)],
  };
}

/** @typedef {(view: View, i: number, phase: Phase) => BeatSentence} Telling - of the i-th beat */

/** What tells the phases of parts. @type {Record<string, Telling>} */
const OF_PARTS = Object.assign({}, ...PARTS.map(({ beats }) => beats));

/**
 * By the name of a phase, what tells its beats: the name of a sentence, and facts for it.
 * @type {Record<string, Telling>}
 */
const BEATS = {
  draft({ step: { nodes } }, i) {
    const { piece, q } = nodes[i];
    return ["beat_draft", { number: i + 1, piece: { piece }, q: number(q) }];
  },
  target: () => ["beat_target", {}],
  ratio({ step: { nodes } }) {
    const low = nodes.filter(({ p, q }) => p < q);
    const ids = low.map(({ id }) => String(id));
    return ["beat_ratio", { below: listing(ids), single: ids.length === 1 }];
  },
  masses({ branches }) {
    const first = branches.get(0);
    return ["beat_masses", { too_much: first ? percent(first.excess) : null }];
  },
  ask: (view) => ["beat_ask", { rule: verdicts(view)[0].info.short }],
  counts(view, scene) {
    const branch = view.branches.get(stop(view) ?? 0);
    return ["beat_counts", { ...countsAt(view, /** @type {Branch} */ (branch)), scene }];
  },
  shadow: (view, i, phase) => testBeat(view, view.shadow ?? view.own, i, phase),
  own: (view, i, phase) => testBeat(view, view.own, i, phase),
  ...OF_PARTS,
};

/** @type {(view: View, judged: Judged, i: number, phase: Phase) => BeatSentence} */
function testBeat(view, judged, i, { beats }) {
  const { decisions, kept, info } = judged;
  if (info.own) return ["beat_own", { name_at_start: named(judged), kept }];
  const { forward } = info;
  const test = decisions[i];
  const testedFacts = testFacts(view, judged, test);
  const { changes } = testedFacts;
  const facts = {
    ...testedFacts,
    each: beats === decisions.length,
    effects: changes,
    name_at_start: named(judged),
    kept,
    forward,
    last: i === decisions.length - 1 && test.accepted === forward,
  };
  return ["beat_test", facts];
}

/**
 * A rule's name at the start of a line: as the glossary has it, so that "vanilla" stands with its
 * other name.
 * @param {{info: RuleInfo}} judged
 */
function named({ info }) {
  const label = facts.glossary[info.term ?? ""]?.label ?? info.capitalised_name;
  return label.slice(0, 1).toUpperCase() + label.slice(1);
}

export { at, beatOf, named, pause, plan, telling };

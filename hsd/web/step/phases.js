// The phases of a step and their beats, the smallest moves: draft, target's pass, p beside q, masses, the tests of each
// rule, commit. Pure: says at which beat something happens, and what there is to say of it then.
import { facts } from "../kit/facts.js";
import { percent } from "../kit/format.js";
import { listing, number, say } from "./fill.js";
import { copies, tapsOf, verdicts } from "./model.js";
import { PARTS } from "./parts.js";
import { testFacts } from "./sentences.js";

const TIME = 2600; // milliseconds that a beat of a part stays
/** @type {Record<string, number>} */
const TIMES = { draft: 900, target: 1800, ratio: 2600, masses: 2800, shadow: 2000, own: 2000, commit: 3200 };
const MOST = 24; // tests of a tree that have a beat each

/** The phases of a step. Without a draft, or without details, it has one beat and those of its parts. first: as brief.js draws it, where masses come with the tests that they decide. @type {(view: View, first?: boolean) => Plan} */
function plan(view, first = false) {
  /** @type {RuleLane[]} */
  const lanes = verdicts(view).map((judged) => ({ phase: judged === view.own ? "own" : "shadow", judged }));
  /** @type {Move[]} */
  const usual = view.detail && view.step.drafted ? moves(view, lanes, first) : [["commit", "commit", 1]];
  let total = 0;
  const phases = PARTS.reduce((all, part) => (part.moves && part.shows(view) ? part.moves(view, all) : all), usual).map(
    ([name, title, beats, drafts]) => {
      total += beats;
      return { name, title, beats, drafts, from: total - beats };
    },
  );
  return { phases, total, lanes };
}

/** The usual phases: a beat for each test, one for all of them where a tree has very many. @type {(view: View, lanes: RuleLane[], first: boolean) => Move[]} */
const moves = ({ step, isTrie }, lanes, first) => [
  ["draft", "draft", step.drafted],
  ["target", "target", 1],
  ["ratio", "p and q", 1],
  ...(first ? [] : [/** @type {Move} */ (["masses", "masses", 1])]),
  ...lanes.flatMap(({ phase, judged: { info, decisions } }) => {
    const beats = isTrie && decisions.length > MOST ? 1 : decisions.length;
    return beats ? [/** @type {Move} */ ([phase, info.short, beats])] : [];
  }),
  ["commit", "commit", 1],
];

/** Where a beat is. @type {(plan: Plan, beat: number) => Beat} */
function at({ phases }, beat) {
  const phase = phases.findLast(({ from }) => from <= beat) ?? phases[0];
  return { phase, i: beat - phase.from };
}

/** The beat at which something of a phase appears, such as the i-th drafted token; 0 where the step has no such phase. @type {(plan: Plan, name: string, i?: number) => number} */
function beatOf({ phases }, name, i = 0) {
  const phase = phases.find((one) => one.name === name || (name === "draft" && one.drafts));
  return phase ? phase.from + Math.min(phase.drafts ? phase.drafts(i) : i, phase.beats - 1) : 0;
}

/** Milliseconds that a beat stays while the step plays: as long as there is something to read. @param {Beat} beat */
const pause = ({ phase, i }) => (TIMES[phase.name] ?? TIME) * (i === phase.beats - 1 ? 1.3 : 1);

/** What happens in a beat before the last: sentence parts of a headline, and of a line under it. @type {(view: View, beat: Beat) => {lead: Part[], detail: Part[]}} */
function telling(view, { phase, i }) {
  const { step, isTrie: tree, options } = view;
  const head = tapsOf(view).length > 0;
  const common = { drafted: step.drafted, listed: step.paths.length, tree, head, copies: copies(options) };
  const [name, own] = BEATS[phase.name](view, i, phase);
  const parts = say(name, { ...common, ...own });
  const place = parts.findIndex((part) => typeof part === "string" && part.includes("||"));
  const [before, after] = String(parts[place]).split("||");
  return { lead: [...parts.slice(0, place), before], detail: [after, ...parts.slice(place + 1)] };
}

/** @type {Record<string, (view: View, i: number, phase: Phase) => [sentence: string, facts: SentenceFacts]>} */
const BEATS = {
  draft({ step: { nodes } }, i) {
    return ["beat draft", { number: i + 1, piece: { piece: nodes[i].piece }, q: number(nodes[i].q) }];
  },
  target: () => ["beat target", {}],
  ratio({ step: { nodes } }) {
    const low = nodes.filter(({ p, q }) => p < q).map(({ id }) => String(id));
    return ["beat ratio", { below: listing(low), single: low.length === 1 }];
  },
  masses({ branches }) {
    const first = branches.get(0);
    return ["beat masses", { "too much": first ? percent(first.excess) : null }];
  },
  shadow: (view, i, phase) => testBeat(view, view.shadow ?? view.own, i, phase),
  own: (view, i, phase) => testBeat(view, view.own, i, phase),
  ...Object.assign({}, ...PARTS.map(({ beats }) => beats)),
};

/** @type {(view: View, judged: Judged, i: number, phase: Phase) => [string, SentenceFacts]} */
function testBeat(view, judged, i, { beats }) {
  const { decisions, kept, info } = judged;
  const { forward } = info;
  const last = i === decisions.length - 1 && decisions[i].accepted === forward;
  const facts = testFacts(view, judged, decisions[i]);
  const struck = facts.changes.length ? facts.changes : null;
  const each = beats === decisions.length;
  return ["beat test", { ...facts, each, struck, Name: named(judged), kept, forward, last }];
}

/** A rule's name at the start of a line: as the glossary has it, so that "vanilla" stands with its other name. @param {{info: RuleInfo}} judged */
function named({ info }) {
  const label = facts.glossary[info.term ?? ""]?.label ?? info.head;
  return label[0].toUpperCase() + label.slice(1);
}

export { at, beatOf, named, pause, plan, telling };

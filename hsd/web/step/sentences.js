// The facts of a step that its sentences are made of; hsd/trace/words.py has the same for Python,
// and a test holds both to the same words. Pure: a view of model.js in, sentence parts out.
import { rule as ruleInfo } from "../kit/facts.js";
import { apart, exact, real, same, shortest } from "../kit/format.js";
import { together } from "../kit/spans.js";
import { evaluate, holds as meets } from "../rules/expression.js";
import { coldOf, forms, readGrounds, recipeOf } from "../rules/tests.js";
import { chances } from "./again.js";
import { passing } from "./drafts.js";
import { filled, listing, number, pair, plain, say } from "./fill.js";
import { handsUp, names } from "./lanes.js";
import {
  changesOf,
  coinOf,
  copies,
  exactly,
  knobOf,
  pathTo,
  ratio,
  settingsOf,
  tapsOf,
} from "./model.js";
import { mean } from "./odds.js";

const LINES = [
  "opening",
  "drafting",
  "own.testing",
  "lead",
  "detail",
  "other testing",
  "why",
  "likelihood",
  "warning",
];
LINES.push("remarks", "levels below");
// chances, and thresholds, that are 1 but for rounding
const CERTAIN = 1 - 1e-9;
const SURE = 1 - 1e-12;

/**
 * What is said of a step, sentence parts each; first: at a first look, one sentence and the
 * warning.
 * @type {(view: View, first?: boolean) => Record<string, Part[]>}
 */
function story(view, first = false) {
  const facts = factsOf(view);
  if (first) return { lead: say("brief", facts), warning: say("warning", facts) };
  const [lead, detail, why, warning] = ["lead", "detail", "why", "warning"].map((name) =>
    say(name, facts),
  );
  return { lead, detail, why, warning };
}

/**
 * The same for those who read and do not look: plain lines with every test, as `python -m hsd
 * explain` prints them.
 * @type {(view: View) => string[]}
 */
function lines(view) {
  const facts = factsOf(view);
  return LINES.map((name) => plain(filled(`{${name}}`, facts))).filter(Boolean);
}

/**
 * Everything that the sentences about a step may name; scopes are objects.
 * @param {View} view
 * @returns {SentenceFacts}
 */
function factsOf(view) {
  const { step, options, isTrie: tree } = view;
  const own = verdictFacts(view, view.own);
  const other = view.shadow && verdictFacts(view, view.shadow);
  return {
    ...{ step: view.index + 1, steps: view.trace.steps.length, details: view.detail, tree },
    ...{
      drafted: step.drafted,
      depth: step.depth,
      kept: view.own.kept,
      target_calls: step.target_calls,
    },
    extra: step.committed.length - step.kept - 1,
    leaves: new Set(step.paths.flatMap(({ nodes }) => nodes.at(-1) ?? [])).size,
    listed: step.paths.length,
    copies: copies(options),
    levels: step.events.length,
    head: tapsOf(view).length > 0,
    candidates: step.growth.length,
    cold: options.sampling?.temperature === 0,
    ...{ own, other },
    tokens: listed(
      step.nodes.map(({ piece, q, p }) => ({ piece: { piece }, q: number(q), p: number(p) })),
    ),
    drafts: listed(
      step.paths.map(({ nodes }, i) => ({ number: i + 1, words: words(view, nodes) })),
    ),
    events: step.events.map((_, i) => eventFacts(view, i)),
    remarks: listed(view.trace.setup.notes.map((note) => ({ note: oneLine(note) }))),
    ...(view.shadow && other && between(view.own, view.shadow, own, other)),
    ...(view.original && supposed(view, view.original)),
  };
}

/**
 * What differs from the run as it was recorded.
 * @type {(view: View, original: View) => SentenceFacts}
 */
function supposed(view, original) {
  const coins = view.step.nodes.flatMap(({ id }) => {
    const before = coinOf(original, id);
    const now = coinOf(view, id);
    return before === now ? [] : [`token ${id}: ${pair(before, now).join(" → ")}`];
  });
  const { info, kept } = original.own;
  const moved = coins.length
    ? `the coin of ${coins.join(", of ")}`
    : "the same draft and coins, another rule";
  return { supposed: true, moved, original: { name: info.short, kept } };
}

/**
 * What the sentences about an event below the target may name.
 * @type {(view: View, index: number) => SentenceFacts}
 */
function eventFacts({ trace, step }, index) {
  const { level, kind, asked, held, tested, kept, committed } = step.events[index];
  const called = names(trace.setup);
  const settled = held + committed.length;
  const [added, replaced] = [committed[kept], tested[kept]].map(
    (token) => token && { piece: token.piece },
  );
  return {
    "Who": capital(called[level]),
    "Above": capital(called[level + 1]),
    "below": called[level - 1],
    "level tokens": listed(committed.map(({ piece }) => ({ piece: { piece } }))),
    "made": committed.length,
    "drafted": tested.length,
    "all": kept === tested.length,
    "up": handsUp(step, index),
    "missing": asked - settled,
    ...{ kind, kept, added, replaced, settled, asked },
  };
}

// ---- one verdict

/** The facts of a verdict. @type {(view: StepView, judged: Judged) => SentenceFacts} */
function verdictFacts(view, judged) {
  const { step, isTrie: tree, options } = view;
  const { decisions, info, kept, last } = judged;
  const name = oneLine(info.short);
  const forward = decisions.every(({ test }) => test === "token");
  const passed = decisions.filter(({ accepted }) => accepted);
  const ended = tree && last > 0 && !view.children.has(last);
  let kind = forward ? "forward" : "backward";
  let stop = decisions.find(({ accepted }) => accepted !== forward);
  if (tree) {
    kind = info.drafts ? "drafts" : forward ? "root" : "leaves";
    stop = kind === "root" && !ended ? decisions.at(-1) : (passed.at(-1) ?? decisions.at(-1));
  } else if (!forward) stop ??= decisions[0];
  const law = (view.original ? chances(view, judged.rule) : step.kept_law?.[judged.rule]) ?? [];
  const average = step.expected_kept[judged.rule] ?? (law.length ? mean(law) : null);
  const exact = exactly(view, judged.rule);
  const tests = decisions.map((test) => testFacts(view, judged, test));
  const spared = overruled(view, judged);
  return {
    ...knobFacts(view, judged.rule),
    ...{ name, forward, kind, ended, kept, average, exact, tests },
    "Name": capital(name),
    "link": info.term ? { words: name, term: info.term } : name,
    "lossless": info.lossless,
    "coupled": info.recipe?.coupled ?? false,
    "resamples": info.resamples,
    "after": kept + 1,
    "all": !tree && kept === step.drafted,
    "unseen": step.drafted - kept - 1,
    "made": decisions.length,
    "first": tests[0] ?? null,
    "end": stop ? testFacts(view, judged, stop) : null,
    "back": decisions.length - 1,
    "tries": decisions.length - (passed.at(-1)?.order ?? 0),
    "tried": new Set(decisions.map(({ draft }) => draft)).size,
    "failures": decisions.length - passed.length,
    ...passing(view, last),
    "spared": exact || tree ? "" : listing(spared),
    "overrules": spared.length,
    "mean": average === null ? null : number(average),
    "odds": kept < law.length ? number(law[kept]) : null,
    "certain": kept < law.length && law[kept] >= CERTAIN,
    ...best(view, judged),
    ...followed(view, judged),
    "follows": recipeOf(judged.rule, settingsOf(options))?.follow ?? "",
  };
}

/**
 * The facts of a test.
 * @type {(view: StepView, judged: Judged, test: ReadTest) => SentenceFacts}
 */
function testFacts(view, judged, test) {
  const { sides, coinless, threshold: h, accepted } = test;
  const grounds = readGrounds(test.grounds);
  const form = forms[test.grounds.form];
  const [low, high] = pair(...sides);
  const [coin, threshold] = pair(...sides, 3);
  const fits = (/** @type {Numbers} */ rounded) =>
    !form || holds(form, { ...settingsOf(view.options), ...rounded }, h, apart(...sides, 3));
  const { texts, holds: agree } = shortest(grounds, fits);
  const changes = changesOf(judged).filter(({ after }) => after === test.order);
  return {
    ...{ low, high, coin, threshold, accepted, coinless, always: h >= SURE, never: h <= 0 },
    ...{ test: test.test, place: view.depth.get(test.node) },
    ...{
      piece: piece(view, test.node),
      draft: test.draft + 1,
      several: judged.decisions.some(({ draft }) => draft),
    },
    ...{
      p: number(grounds.p),
      q: number(grounds.q),
      form: grounds.form,
      whose: form?.whose ?? "target",
    },
    "nothing": ["share", "naive"].includes(form?.name) && !grounds.mass && h === 1,
    "form words":
      plain(filled(form?.words ?? "", texts)).replace(" = ", agree ? " = " : " ≈ ") || null,
    "changes": changes.map((change) => changeFacts(view, judged, change)),
  };
}

/**
 * Whether a test's numbers, as they are printed, give the threshold as it is printed, and meet its
 * condition.
 * @type {(form: Form, numbers: Numbers, threshold: number, digits: [number, number]) => boolean}
 */
function holds(form, numbers, threshold, digits) {
  if (Object.keys(form.along).some((name) => (numbers[name] ?? null) === null)) return true;
  const met = !form.when || meets(form.when, numbers) === true;
  return met && exact(evaluate(form.threshold, numbers), ...digits) === exact(threshold, ...digits);
}

/**
 * What a rejection made of the target at one place.
 * @type {(view: StepView, judged: Judged, change: ReadChange) => SentenceFacts}
 */
function changeFacts(view, { decisions }, { after, node, weight, mass, earlier }) {
  const cause = decisions[after - 1];
  const again = earlier.length > 0;
  return {
    "cause": decisions.some(({ draft }) => draft) ? null : piece(view, cause.node),
    "draft": cause.draft + 1,
    "after piece": node ? piece(view, node) : null,
    "strikes": forms[cause.grounds.form]?.certain ?? false,
    "weight": number(weight, 4, 4),
    "mass": number(mass, 4, 4),
    "p": again ? "p′" : "p",
    "q": again && view.options.draft.tree.startsWith("distinct") ? "q′" : "q",
  };
}

/**
 * The number of a rule that has one, and what the rule gives up at that.
 * @type {(view: StepView, rule: string) => SentenceFacts}
 */
function knobFacts(view, rule) {
  const { knob, loses: usual = "" } = ruleInfo(rule);
  const { loses } = coldOf(rule, settingsOf(view.options)) ?? { loses: usual };
  const value = knob ? real(knobOf(view, rule)) : 0;
  const { kept, divergences } = view.step;
  const apart = divergences.filter((_, i) => view.own.path.has(i + 1)).map(real);
  const spent = apart.reduce((sum, D) => sum + (D <= value ? D : 0), 0);
  const { texts } = shortest(
    { value },
    (rounded) => number(rounded.value * kept) === number(value * kept),
  );
  const put = { ...texts, drift: number(spent), bound: number(value * kept) };
  const lost = plain(filled(loses, { ...put, divergence: view.options.fuzzy.divergence }));
  return { sign: knob?.sign ?? "", value: texts.value, loses: lost || null };
}

/**
 * The ratio p/q of the whole draft, and after how many tokens it was largest, where the first test
 * is of it.
 * @type {(view: StepView, judged: Judged) => SentenceFacts}
 */
function best(view, { decisions: [test] }) {
  if (view.isTrie || !["capped", "ratio"].includes(test?.grounds.form)) return {};
  const capped = test.grounds.form === "capped";
  const before = [0, ...pathTo(view, test.node)].map((id) => ratio(view, id));
  const times = before.pop() ?? 1;
  const peak = capped ? before.indexOf(Math.max(...before)) : 0;
  const digits = apart(test.coin, test.threshold);
  /** @type {(rounded: {times: number, best: number}) => boolean} */
  const fits = (rounded) =>
    exact(Math.min(1, rounded.times / rounded.best), ...digits) ===
    exact(test.threshold, ...digits);
  return { ...shortest({ times, best: before[peak] }, fits, 2).texts, capped, peak };
}

/**
 * The token after the kept ones, and what it was drawn from.
 * @type {(view: StepView, judged: Judged) => SentenceFacts}
 */
function followed(view, { next, residual }) {
  const outcome = next && residual?.top.find(({ token }) => token === next.token);
  const children = (residual && !view.isTrie && view.children.get(residual.node)) || [];
  const weight = residual?.weight ?? null;
  return {
    next: next ? { piece: next.piece, origin: next.origin } : null,
    bonus: residual?.origin === "bonus",
    weight: weight === null ? null : number(weight, 2),
    chance: outcome ? number(outcome.probability) : null,
    replaced: children.length ? piece(view, children[0]) : null,
    repeated: children.some((id) => view.nodes.get(id).token === next?.token),
  };
}

/**
 * The kept tokens of a single draft that min(1, p/q) would not have let pass with the same coin.
 * @type {(view: StepView, judged: Judged) => string[]}
 */
const overruled = (view, { kept }) =>
  view.step.nodes
    .slice(0, kept)
    .flatMap(({ id, p, q }) => (q > 0 && coinOf(view, id) >= Math.min(1, p / q) ? `${id}` : []));

// ---- two verdicts

/**
 * In what they differ, and what of it is luck; own, other: their facts.
 * @type {(one: Judged, two: Judged, own: SentenceFacts, other: SentenceFacts) => SentenceFacts}
 */
function between(one, two, own, other) {
  const means = [own.average, other.average];
  const level = means.includes(null) ? null : same(own.average, other.average);
  if (level) own.mean = other.mean = level;
  else if (!means.includes(null)) [own.mean, other.mean] = pair(own.average, other.average, 3);
  const gap = (own.average ?? 0) - (other.average ?? 0);
  const more = one.kept - two.kept;
  return {
    same: one.rule === two.rule,
    alike: one.rule !== two.rule && (one.info.law ?? one.rule) === (two.info.law ?? two.rule),
    difference: difference(one, two),
    level: Boolean(level),
    against: gap * more < 0,
    fewer: more < 0,
    by: Math.abs(more),
  };
}

/**
 * In what two verdicts on a step differ: "kept", "path" (as many, but others), "next" (the token
 * after them), or "".
 * @type {(one: Judged, two: Judged) => string}
 */
function difference(one, two) {
  if (one.kept !== two.kept) return "kept";
  if (one.last !== two.last) return "path";
  return one.next && two.next && one.next.token !== two.next.token ? "next" : "";
}

// ---- words

const capital = (/** @type {string} */ text) => text.slice(0, 1).toUpperCase() + text.slice(1);
const oneLine = (/** @type {string} */ text) => String(text).split(/\s+/).filter(Boolean).join(" ");
/** @type {(view: StepView, id: number) => Special} */
const piece = (view, id) => ({ piece: view.nodes.get(id).piece, cells: 16 });
/** @type {(view: StepView, nodes: number[]) => string} */
const words = (view, nodes) => plain([{ piece: together(nodes.map((id) => view.nodes.get(id))) }]);
/** @param {object[]} items */
const listed = (items) => items.map((item, i) => ({ ...item, last: i === items.length - 1 }));

export { capital, changeFacts, eventFacts, lines, story, testFacts, verdictFacts };

// Explains a step in words: makes the facts of its sentences, as hsd/trace/explain.py does for
// Python. hsd/trace/facts.py declares them, and a test holds both languages to the same words.
// Pure: a view of model.js in, sentence parts out.
import { facts as known, rule as ruleInfo } from "../kit/facts.js";
import { apart, exact, real, same, shortest } from "../kit/format.js";
import { together } from "../kit/spans.js";
import { evaluate, holds as meets } from "../rules/expression.js";
import { coldOf, forms, readGrounds, recipeOf } from "../rules/tests.js";
import { chances } from "./rejudge.js";
import { passing } from "./drafts.js";
import { handsUp, names } from "./lanes.js";
import {
  changesOf,
  coinOf,
  copies,
  exactly,
  infoOf,
  knobOf,
  pathTo,
  ratio,
  settingsOf,
  tapsOf,
} from "./model.js";
import { mean } from "./odds.js";
import { filled, listing, number, pair, plain, say } from "./sentences.js";

const CERTAIN = 1 - 1e-9; // chances that are 1 but for rounding
const SURE = 1 - 1e-12; // thresholds that are

/**
 * What is said of a step, in parts; first: at a first look, one sentence and the warning.
 * @type {(view: View, first?: boolean) => Record<string, Part[]>}
 */
function story(view, first = false) {
  const facts = stepFacts(view);
  const warning = say("warning", facts);
  if (first) return { lead: say("brief", facts), warning };
  return {
    lead: say("lead", facts),
    detail: say("detail", facts),
    why: say("why", facts),
    warning,
  };
}

/**
 * The same for those who read and do not look: plain lines with every test, as `python -m hsd
 * explain` prints them.
 * @type {(view: View) => string[]}
 */
const lines = (view) =>
  plain(say("explained", stepFacts(view)))
    .split("\n")
    .filter(Boolean);

/** The facts of a step. @type {(view: View) => StepFacts} */
function stepFacts(view) {
  const { step, options, shadow, original } = view;
  const own = verdictFacts(view, view.own);
  const other = shadow && verdictFacts(view, shadow);
  const ends = step.paths.flatMap(({ nodes }) => nodes.at(-1) ?? []);
  const texts = step.paths.map(({ nodes }) => textOf(view, nodes));
  const notes = view.trace.setup.notes.map(onOneLine);
  return {
    step: view.index + 1,
    steps: view.trace.steps.length,
    drafted: step.drafted,
    depth: step.depth,
    kept: view.own.kept,
    target_calls: step.target_calls,
    extra: step.committed.length - step.kept - 1,
    details: view.detail,
    tree: view.isTrie,
    leaves: new Set(ends).size,
    listed: step.paths.length,
    copies: copies(options),
    levels: step.events.length > 0,
    cold: options.sampling?.temperature === 0,
    head: tapsOf(view).length > 0,
    candidates: step.growth.length,
    own,
    other,
    drafted_tokens: step.nodes.map((node) => ({
      piece: pieceOf(node),
      q: number(node.q),
      p: number(node.p),
    })),
    listed_drafts: texts.map((words, i) => ({ number: i + 1, words })),
    events: step.events.map((_, i) => eventFacts(view, i)),
    remarks: notes.map((note) => ({ note })),
    ...(shadow && other && compared(view, own, shadow, other)),
    ...(original && supposed(view, original)),
  };
}

/**
 * What a visitor supposes, against the run as it was recorded.
 * @type {(view: View, original: View) => Pick<StepFacts, "supposed" | "moved" | "original">}
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
  return {
    supposed: true,
    moved,
    original: { name: info.short, kept },
  };
}

/** The facts of an event below the target. @type {(view: View, index: number) => EventFacts} */
function eventFacts({ trace, step }, index) {
  const event = step.events[index];
  const { level, kind, asked, tested, kept, committed } = event;
  const called = names(trace.setup);
  const settled = event.held + committed.length;
  return {
    kind,
    asked,
    kept,
    who_at_start: capital(called[level]),
    above_at_start: capital(called[level + 1]),
    below: called[level - 1],
    level_tokens: committed.map((token) => ({ piece: pieceOf(token) })),
    made: committed.length,
    drafted: tested.length,
    all: kept === tested.length,
    added: committed[kept] ? pieceOf(committed[kept]) : null,
    replaced: tested[kept] ? pieceOf(tested[kept]) : null,
    settled,
    missing: asked - settled,
    up: handsUp(step, index),
  };
}

// ---- one verdict

/** The facts of a verdict. @type {(view: StepView, judged: Judged) => VerdictFacts} */
function verdictFacts(view, judged) {
  const { step, isTrie: isTree, options } = view;
  const { decisions, info, kept, last } = judged;
  const name = onOneLine(info.short);
  const forward = decisions.every(({ test }) => test === "token");
  const passed = decisions.filter(({ accepted }) => accepted);
  const ended = isTree && last > 0 && !view.children.has(last);
  /** @type {VerdictFacts["kind"]} */
  let kind = forward ? "forward" : "backward";
  let stop = decisions.find(({ accepted }) => accepted !== forward);
  if (isTree) {
    kind = forward ? "root" : "leaves";
    if (info.drafts) kind = "drafts";
    stop = decisions.at(-1);
    if (kind !== "root" || ended) stop = passed.at(-1) ?? stop;
  } else if (!forward) stop ??= decisions[0];
  const chance = lawOf(view, judged)?.[kept] ?? null;
  const isExact = exactly(view, judged.rule);
  const tests = decisions.map((test) => testFacts(view, judged, test));
  const spared = sparedBy(view, judged);
  return {
    ...settingFacts(view, judged.rule),
    ...bestFacts(view, judged),
    ...followedFacts(view, judged),
    ...passing(view, last),
    name,
    name_at_start: capital(name),
    link: info.term ? { words: name, term: info.term } : name,
    exact: isExact,
    lossless: info.lossless,
    opaque: info.own !== undefined,
    unjudged: info.own?.lossless === null,
    forward,
    kind,
    coupled: info.recipe?.coupled ?? false,
    resamples: info.resamples,
    follows: recipeOf(judged.rule, settingsOf(options))?.follow ?? "",
    kept,
    after: kept + 1,
    all: !isTree && kept === step.drafted,
    ended,
    unseen: step.drafted - kept - 1,
    made: decisions.length,
    tests,
    first: tests[0] ?? null,
    end: stop ? testFacts(view, judged, stop) : null,
    back: decisions.length - 1,
    tries: decisions.length - (passed.at(-1)?.order ?? 0),
    tried: new Set(decisions.map(({ draft }) => draft)).size,
    failures: decisions.length - passed.length,
    spared: isExact || isTree ? "" : listing(spared),
    overrules: spared.length,
    mean: text(meanOf(view, judged)),
    odds: text(chance),
    certain: chance !== null && chance >= CERTAIN,
  };
}

/**
 * The chances of keeping 0, 1, … tokens.
 * @type {(view: StepView, judged: Judged) => number[] | null}
 */
const lawOf = (view, { rule }) =>
  view.original ? chances(view, rule) : (view.step.kept_law?.[rule] ?? null);

/**
 * Tokens kept on average; null if not known.
 * @type {(view: StepView, judged: Judged) => number | null}
 */
function meanOf(view, judged) {
  const law = lawOf(view, judged);
  return view.step.expected_kept[judged.rule] ?? (law && mean(law));
}

/** The facts of a test. @type {(view: StepView, judged: Judged, test: ReadTest) => TestFacts} */
function testFacts(view, judged, test) {
  const { sides, coinless, threshold: limit, accepted } = test;
  const grounds = readGrounds(test.grounds);
  const form = forms[grounds.form];
  const [low, high] = pair(...sides);
  const [coin, threshold] = pair(...sides, 3);
  const digits = apart(...sides, 3);
  const settings = settingsOf(view.options);
  const fits = (/** @type {Numbers} */ rounded) =>
    !form || holds(form, { ...settings, ...rounded }, limit, digits);
  const { texts, holds: agree } = shortest(grounds, fits);
  const words = plain(filled(form?.words ?? "", texts));
  const isShare = ["share", "naive"].includes(form?.name);
  const changes = changesOf(judged).filter(({ after }) => after === test.order);
  return {
    test: test.test,
    accepted,
    coinless,
    whose: form?.whose ?? "target",
    always: limit >= SURE,
    never: limit <= 0,
    place: view.depth.get(test.node),
    piece: shortPiece(view, test.node),
    draft: test.draft + 1,
    several: judged.decisions.some(({ draft }) => draft),
    low,
    high,
    coin,
    threshold,
    form: grounds.form,
    p: number(grounds.p),
    q: number(grounds.q),
    nothing: isShare && !grounds.mass && limit === 1,
    form_words: words.replace(" = ", agree ? " = " : " ≈ ") || null,
    changes: changes.map((change) => changeFacts(view, judged, change)),
  };
}

/**
 * Whether a test's numbers, as they are printed, give the threshold as it is printed, and meet its
 * condition.
 * @type {(form: Form, numbers: Numbers, threshold: number, digits: [number, number]) => boolean}
 */
function holds(form, numbers, threshold, digits) {
  const needed = Object.keys(form.along).map((name) => numbers[name] ?? null);
  if (needed.includes(null)) return true;
  if (form.when && meets(form.when, numbers) !== true) return false;
  const derived = evaluate(form.threshold, numbers);
  return exact(derived, ...digits) === exact(threshold, ...digits);
}

/**
 * The facts of what a rejection made of the target at one place.
 * @type {(view: StepView, judged: Judged, change: ReadChange) => ChangeFacts}
 */
function changeFacts(view, { decisions }, { after, node, weight, mass, earlier }) {
  const cause = decisions[after - 1];
  const again = earlier.length > 0;
  const distinct = view.options.draft.tree.startsWith("distinct");
  return {
    cause: decisions.some(({ draft }) => draft) ? null : shortPiece(view, cause.node),
    draft: cause.draft + 1,
    after_piece: node ? shortPiece(view, node) : null,
    strikes: forms[cause.grounds.form]?.certain ?? false,
    weight: number(weight, 4, 4),
    mass: number(mass, 4, 4),
    p: again ? "p′" : "p",
    q: again && distinct ? "q′" : "q",
  };
}

/**
 * The facts of a rule's setting, and what the rule gives up at that.
 * @type {(view: StepView, rule: string) => Pick<VerdictFacts, "sign" | "value" | "loses">}
 */
function settingFacts(view, rule) {
  const { knob, own, loses: usual = "" } = infoOf(view.options, rule);
  const { loses } = coldOf(rule, settingsOf(view.options)) ?? { loses: usual };
  const value = knob ? real(knobOf(view, rule)) : 0;
  const { kept, divergences } = view.step;
  const ofKept = divergences.filter((_, i) => view.own.path.has(i + 1));
  const tolerated = ofKept.map(real).filter((divergence) => divergence <= value);
  const spent = tolerated.reduce((sum, divergence) => sum + divergence, 0);
  const { texts } = shortest(
    { value },
    (rounded) => number(rounded.value * kept) === number(value * kept),
  );
  const put = {
    ...texts,
    drift: number(spent),
    bound: number(value * kept),
    divergence: view.options.fuzzy.divergence,
  };
  return {
    sign: knob?.sign ?? "",
    value: texts.value,
    loses: onOneLine(own?.words ?? plain(filled(loses, put))),
  };
}

/**
 * The facts of the ratio p/q of the whole draft, and after how many tokens it was largest, where
 * the first test is of it.
 * @type {(view: StepView, judged: Judged) => Partial<VerdictFacts>}
 */
function bestFacts(view, { decisions: [test] }) {
  const isOfRatio = ["capped", "ratio"].includes(test?.grounds.form);
  if (view.isTrie || !isOfRatio) return {};
  const capped = test.grounds.form === "capped";
  const path = [0, ...pathTo(view, test.node)];
  const before = path.map((id) => ratio(view, id));
  const times = before.pop() ?? 1;
  const peak = capped ? before.indexOf(Math.max(...before)) : 0;
  const digits = apart(test.coin, test.threshold);
  const share = exact(test.threshold, ...digits);
  /** @type {(rounded: {times: number, best: number}) => boolean} */
  const fits = (rounded) => {
    const printed = Math.min(1, rounded.times / rounded.best);
    return exact(printed, ...digits) === share;
  };
  const { texts } = shortest({ times, best: before[peak] }, fits, 2);
  return { ...texts, capped, peak };
}

/**
 * The facts of the token after the kept ones, and of what it was drawn from.
 * @param {StepView} view
 * @param {Judged} judged
 */
function followedFacts(view, { next, residual }) {
  const top = residual?.top ?? [];
  const outcome = top.find(({ token }) => token === next?.token);
  const place = view.isTrie ? undefined : residual?.node;
  const children = view.children.get(place ?? -1) ?? [];
  const tried = children.map((id) => view.nodes.get(id).token);
  const weight = residual?.weight ?? null;
  return {
    next: next && { piece: next.piece, origin: next.origin },
    bonus: residual?.origin === "bonus",
    weight: weight === null ? null : number(weight, 2),
    chance: text(outcome?.probability),
    replaced: children.length ? shortPiece(view, children[0]) : null,
    repeated: next !== null && tried.includes(next.token),
  };
}

/**
 * The kept tokens of a single draft that min(1, p/q) would not have let pass with the same coin.
 * @type {(view: StepView, judged: Judged) => number[]}
 */
function sparedBy(view, { kept, info }) {
  const nodes = info.own ? [] : view.step.nodes.slice(0, kept);
  const spared = nodes.filter(({ id, p, q }) => {
    const threshold = Math.min(1, p / q);
    return q > 0 && coinOf(view, id) >= threshold;
  });
  return spared.map(({ id }) => id);
}

// ---- two verdicts

/**
 * In what the verdict differs from that of the other rule, and what of it is luck.
 * @type {(view: View, own: VerdictFacts, shadow: Judged, other: VerdictFacts) =>
 *   Partial<StepFacts>}
 */
function compared(view, own, shadow, other) {
  const means = [meanOf(view, view.own), meanOf(view, shadow)];
  const haveMeans = !means.includes(null);
  const level = haveMeans ? same(means[0], means[1]) : null;
  let texts = [own.mean, other.mean];
  if (level) texts = [level, level];
  else if (haveMeans) texts = pair(means[0], means[1], 3);
  const gap = Number(means[0]) - Number(means[1]);
  const more = own.kept - other.kept;
  const laws = [view.own, shadow].map(({ rule, info }) => info.law ?? rule);
  const ofOneDraft = !view.isTrie && laws[0] === ruleInfo(known.usual).law;
  const isSame = view.own.rule === shadow.rule;
  return {
    own: { ...own, mean: texts[0] },
    other: { ...other, mean: texts[1] },
    same: isSame,
    alike: !isSame && laws[0] === laws[1],
    difference: difference(view.own, shadow),
    level: level !== null,
    against: gap * more < 0,
    lower: gap < 0 && ofOneDraft && shadow.rule === known.vanilla,
    fewer: more < 0,
    by: Math.abs(more),
  };
}

/**
 * In what two verdicts on a step differ: "kept", "path" (as many, but others), "next" (the token
 * after them), or "".
 * @type {(own: Judged, other: Judged) => StepFacts["difference"]}
 */
function difference(own, other) {
  if (own.kept !== other.kept) return "kept";
  if (own.last !== other.last) return "path";
  const tokens = [own.next, other.next].map((next) => next?.token ?? null);
  const isParted = !tokens.includes(null) && tokens[0] !== tokens[1];
  return isParted ? "next" : "";
}

// ---- words

const text = (/** @type {Maybe} */ x) => (typeof x === "number" ? number(x) : null);
const capital = (/** @type {string} */ words) => words.slice(0, 1).toUpperCase() + words.slice(1);
const onOneLine = (/** @type {string} */ words) => words.trim().split(/\s+/).join(" ");
const pieceOf = (/** @type {{piece: string}} */ { piece }) => ({ piece });
/** A token of a step, cut to 16 cells. @type {(view: StepView, id: number) => Special} */
const shortPiece = (view, id) => ({ piece: view.nodes.get(id).piece, cells: 16 });

/** The text of a draft in quotation marks. @type {(view: StepView, nodes: number[]) => string} */
function textOf(view, nodes) {
  const tokens = nodes.map((id) => view.nodes.get(id));
  return plain([{ piece: together(tokens) }]);
}

export { capital, changeFacts, eventFacts, lines, story, testFacts, verdictFacts };

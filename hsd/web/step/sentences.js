// The facts of a step that its sentences are made of; hsd/trace/words.py has the same for Python, and a test holds both to
// the same words. Pure: a view of model.js in, sentence parts out.
import { rule as ruleInfo } from "../kit/facts.js";
import { agreeing, apart, exact, real, same } from "../kit/format.js";
import { together } from "../kit/spans.js";
import { evaluate } from "../rules/expression.js";
import { coldOf, forms, readGrounds, recipeOf } from "../rules/tests.js";
import { chances } from "./again.js";
import { through } from "./drafts.js";
import { filled, number, pair, plain, say } from "./fill.js";
import { changesOf, coinOf, copies, exactly, knobOf, lastKept, pathTo, ratio, settingsOf, tapsOf } from "./model.js";
import { mean } from "./odds.js";

const LINES = ["opening", "drafting", "own.testing", "lead", "detail", "other.testing", "why", "likelihood", "warning"];
const [CERTAIN, SURE] = [1 - 1e-9, 1 - 1e-12]; // chances, and thresholds, that are 1 but for rounding

/** What is said of a step: lead, detail, why and warning, sentence parts each. */
function story(view) {
  const facts = factsOf(view);
  return Object.fromEntries(["lead", "detail", "why", "warning"].map((name) => [name, say(name, facts)]));
}

/** The same for those who read and do not look: plain lines with every test, as `python -m hsd explain` prints them. */
function lines(view) {
  const facts = factsOf(view);
  const told = LINES.map((name) => {
    const [key, scope] = name.split(".").reverse();
    return plain(say(key, scope ? { ...facts, ...facts[scope] } : facts));
  });
  return [...told.filter(Boolean), ...view.trace.setup.notes.map((note) => `Note: ${oneLine(note)}`)];
}

/** Everything that the sentences about a step may name; scopes are objects. */
function factsOf(view) {
  const { step, options, isTrie: tree } = view;
  const own = { ...verdictFacts(view, view.own), extra: step.committed.length - step.kept - 1 };
  const other = view.shadow ? { ...verdictFacts(view, view.shadow), again: view.sameRule } : null;
  const { next, bonus, entire, coupled, chance, replaced, repeated, extra, follows } = own;
  return {
    step: view.index + 1,
    steps: view.trace.steps.length,
    drafted: step.drafted,
    most: step.depth,
    kept: view.own.kept,
    calls: step.target_calls,
    details: view.detail,
    tree,
    leaves: new Set(step.paths.filter(({ nodes }) => nodes.length).map(({ nodes }) => nodes.at(-1))).size,
    listed: step.paths.length,
    copies: copies(options),
    levels: (step.events || []).length,
    head: tapsOf(view).length > 0,
    candidates: (step.growth || []).length,
    greedy: options.sampling.temperature === 0,
    own,
    other,
    tokens: listed(step.nodes.map(({ piece, q, p }) => ({ piece: { piece }, q: number(q), p: number(p) }))),
    drafts: listed(step.paths.map(({ nodes }, i) => ({ number: i + 1, words: words(view, nodes) }))),
    ...{ next, bonus, entire, coupled, chance, replaced, repeated, extra, follows },
    ...(view.shadow ? between(view, own, other) : {}),
    ...(view.original ? supposed(view) : {}),
  };
}

/** What differs from the run as it was recorded. */
function supposed(view) {
  const { original, step } = view;
  const moved = step.nodes.filter(({ id }) => coinOf(view, id) !== coinOf(original, id));
  const coins = moved.map(({ id }) => `token ${id}: ${pair(coinOf(original, id), coinOf(view, id)).join(" → ")}`);
  const { info, kept } = original.own;
  return {
    supposed: true,
    moved: coins.length ? `the coin of ${coins.join(", of ")}` : "the same draft and coins, another rule",
    original: { name: info.short, kept },
  };
}

// ---- one verdict

function verdictFacts(view, judged) {
  const { step, isTrie: tree, options } = view;
  const { decisions: made, info, kept, last } = judged;
  const name = oneLine(info.short);
  const forward = made.every(({ test }) => test === "token");
  const passed = made.filter(({ accepted }) => accepted);
  const ended = tree && last > 0 && !view.children.has(last);
  let kind = forward ? "forward" : "backward";
  let [stop] = made.filter(({ accepted }) => accepted !== forward);
  if (tree) {
    kind = info.drafts ? "drafts" : forward ? "root" : "leaves";
    stop = kind === "root" && !ended ? made.at(-1) : (passed.at(-1) ?? made.at(-1));
  } else if (!forward) stop ??= made[0];
  const law = (view.original ? chances(view, judged.rule) : step.kept_law?.[judged.rule]) ?? [];
  const average = step.expected_kept[judged.rule] ?? (law.length ? mean(law) : null);
  const exact = exactly(view, judged.rule);
  const tests = made.map((decision) => testFacts(view, judged, decision));
  return {
    ...knobFacts(view, judged.rule),
    name,
    "Name": name.slice(0, 1).toUpperCase() + name.slice(1),
    "link": info.term ? { words: name, term: info.term } : name,
    "lossless": info.lossless,
    exact,
    "greedy": options.sampling.temperature === 0 && exact,
    forward,
    kind,
    "coupled": info.recipe?.coupled ?? false,
    "resamples": info.resamples,
    "resumes": info.resamples && kept < step.drafted - 1,
    kept,
    "after": kept + 1,
    "all": !tree && kept === step.drafted,
    ended,
    "unseen": step.drafted - kept - 1,
    "made": made.length,
    tests,
    "first": tests[0] ?? null,
    "end": stop ? testFacts(view, judged, stop) : null,
    "back": made.length - 1,
    "tries": made.length - 1 - made.findLastIndex(({ accepted }) => accepted),
    "tried": new Set(made.map(({ draft }) => draft)).size,
    "failures": made.length - passed.length,
    "through": through(view, last),
    "spared": exact || tree ? "" : listing(overruled(view, judged)),
    "overrules": overruled(view, judged).length,
    average,
    "mean": average === null ? null : number(average),
    "odds": kept < law.length ? number(law[kept]) : null,
    "certain": kept < law.length && law[kept] >= CERTAIN,
    ...best(view, judged),
    ...followed(view, judged),
    "follows": recipeOf(judged.rule, settingsOf(options))?.follow ?? "",
  };
}

function testFacts(view, judged, made) {
  const { sides, coinless, threshold: h } = made;
  const [grounds, form] = [readGrounds(made.grounds), forms[made.grounds.form]];
  const [[low, high], [coin, threshold]] = [pair(...sides), pair(...sides, 3)];
  const fits = (told) => !form || holds(form, { ...settingsOf(view.options), ...told }, h, apart(...sides, 3));
  const told = agreeing(grounds, fits);
  return {
    ...{ accepted: made.accepted, coinless, always: h >= SURE, never: h <= 0 },
    ...{ whole: made.test === "draft", single: made.test === "token" },
    place: view.depth.get(made.node),
    piece: piece(view, made.node),
    draft: made.draft + 1,
    several: judged.decisions.some(({ draft }) => draft),
    ...{ low, high, coin, threshold, form: grounds.form, whose: form?.whose ?? "target" },
    ...{
      p: number(grounds.p),
      q: number(grounds.q),
      nothing: ["share", "naive"].includes(form?.name) && !grounds.mass && h === 1,
    },
    "form words": plain(filled(form?.words ?? "", told.texts)).replace(" = ", told.holds ? " = " : " ≈ ") || null,
    changes: changesOf(judged)
      .filter(({ after }) => after === made.order)
      .map((change) => changeFacts(view, judged, change)),
  };
}

/** Whether a test's numbers, as they are printed, give the threshold as it is printed, and meet its condition. */
function holds(form, told, threshold, digits) {
  if (Object.keys(form.along).some((name) => (told[name] ?? null) === null)) return true;
  const met = !form.when || evaluate(form.when, told);
  return met && exact(evaluate(form.threshold, told), ...digits) === exact(threshold, ...digits);
}

/** What a rejection made of the target at one place. change: of changesOf. */
function changeFacts(view, judged, { after, node, weight, mass, earlier }) {
  const cause = judged.decisions[after - 1];
  const again = earlier.length > 0;
  return {
    "cause": judged.decisions.some(({ draft }) => draft) ? null : piece(view, cause.node),
    "draft": cause.draft + 1,
    "after piece": node ? piece(view, node) : null,
    "strikes": forms[cause.grounds.form]?.certain ?? false,
    "weight": number(weight, 4, 4),
    "mass": number(mass, 4, 4),
    "p": again ? "p′" : "p",
    "q": again && view.options.draft.tree.startsWith("distinct") ? "q′" : "q",
  };
}

/** The number of a rule that has one, whether the rule is exact at that, and what it gives up. */
function knobFacts(view, rule) {
  const { knob, loses: usual = "" } = ruleInfo(rule);
  const { loses } = coldOf(rule, settingsOf(view.options)) ?? { loses: usual };
  const value = knob ? real(knobOf(view, rule)) : 0;
  const { kept, divergences } = view.step;
  const spent = divergences.slice(0, kept).reduce((sum, D) => sum + (real(D) <= value ? real(D) : 0), 0);
  const { texts } = agreeing({ value }, (told) => number(told.value * kept) === number(value * kept));
  const put = { ...texts, drift: number(spent), bound: number(value * kept) };
  const lost = plain(filled(loses, { ...put, divergence: view.options.fuzzy.divergence }));
  return { sign: knob ? knob.sign : "", value: put.value, loses: lost || null };
}

/** The ratio p/q of the whole draft, and after how many tokens it was largest, where the first test is of it. */
function best(view, { decisions: [made] }) {
  if (view.isTrie || !["capped", "ratio"].includes(made?.grounds.form)) return {};
  const capped = made.grounds.form === "capped";
  const before = [0, ...pathTo(view, made.node)].map((id) => ratio(view, id));
  const r = before.pop();
  const peak = capped ? before.indexOf(Math.max(...before)) : 0;
  const digits = apart(made.coin, made.threshold);
  const share = ({ times, best: most }) => exact(Math.min(1, times / most), ...digits);
  const fits = (told) => share(told) === exact(made.threshold, ...digits);
  return { ...agreeing({ times: r, best: before[peak] }, fits, 2).texts, capped, peak };
}

/** The token after the kept ones, and what it was drawn from. */
function followed(view, { next, residual }) {
  const outcome = next && residual ? residual.top.find(({ token }) => token === next.token) : null;
  const children = residual ? (view.children.get(residual.node) ?? []) : [];
  const weight = residual ? residual.weight : null;
  return {
    next: next ? { piece: next.piece, origin: next.origin } : null,
    bonus: residual?.origin === "bonus",
    entire: weight === "Infinity",
    weight: weight === null ? null : number(weight, 2),
    chance: outcome ? number(outcome.probability) : null,
    replaced: children.length && !view.isTrie ? piece(view, children[0]) : null,
    repeated: !view.isTrie && children.some((id) => view.nodes.get(id).token === next?.token),
  };
}

/** The kept tokens of a single draft that min(1, p/q) would not have let pass with the same coin. */
const overruled = (view, { kept }) =>
  view.step.nodes
    .slice(0, kept)
    .filter(({ id, p, q }) => q > 0 && coinOf(view, id) >= Math.min(1, p / q))
    .map(({ id }) => String(id));

// ---- two verdicts

/** In what they differ, and what of it is luck. */
function between(view, own, other) {
  const { own: one, shadow: two } = view;
  const [mine, theirs] = [own.average, other.average];
  const level = mine === null || theirs === null ? null : same(mine, theirs);
  if (level) own.mean = other.mean = level;
  else if (mine !== null && theirs !== null) [own.mean, other.mean] = pair(mine, theirs, 3);
  const [gap, more] = [(mine ?? 0) - (theirs ?? 0), one.kept - two.kept];
  return {
    same: view.sameRule,
    alike: sameLaw(one.rule, two.rule),
    differs: more !== 0,
    difference: difference(one, two),
    level: Boolean(level),
    against: gap * more < 0,
    fewer: more < 0,
    by: Math.abs(more),
    certain: own.certain && other.certain,
  };
}

/** In what two verdicts on a step differ: "kept", "path" (as many, but others), "next" (the token after them), or "". */
function difference(one, two) {
  if (one.kept !== two.kept) return "kept";
  if (lastKept(one) !== lastKept(two)) return "path";
  return one.next && two.next && one.next.token !== two.next.token ? "next" : "";
}

/** Whether two rules are one law by different derivations. */
const sameLaw = (one, two) => one !== two && (ruleInfo(one).law ?? one) === (ruleInfo(two).law ?? two);

// ---- words

const oneLine = (text) => String(text).split(/\s+/).filter(Boolean).join(" ");
const piece = (view, id) => ({ piece: view.nodes.get(id).piece, cells: 16 });
const words = (view, nodes) => plain([{ piece: together(nodes.map((id) => view.nodes.get(id))) }]);
const listed = (items) => items.map((item, i) => ({ ...item, last: i === items.length - 1 }));
const listing = (all) => [all.slice(0, -1).join(", "), ...all.slice(-1)].filter(Boolean).join(" and ");

export { changeFacts, lines, listing, story, testFacts, verdictFacts };

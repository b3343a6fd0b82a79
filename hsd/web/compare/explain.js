// One sentence on a step: where two rules differ on the same draft and coins, and why. Pure: sentence parts.
import { number, pair, plural } from "../kit/format.js";
import { FORMS } from "../player/arithmetic.js";
import { capped, decisive, ratio } from "../player/model.js";
import { amount, course, firstTokens, isForward, peak } from "./clauses.js";

const SAME_LAW = ["blockwise", "hsd"];

const capital = (text) => text[0].toUpperCase() + text.slice(1);
const bare = (rule) => String(rule).replace(/^recursive-/, "");
const lastKept = (decisions) => (decisions.findLast((decision) => decision.accepted) || { node: 0 }).node;
const sameLaw = (a, b) => bare(a) !== bare(b) && SAME_LAW.includes(bare(a)) && SAME_LAW.includes(bare(b));

/**
 * In what a step's two rules differ: "kept", "path" (as many tokens, but other ones), "next" (another token after
 * them), "extra" (naive HSD goes on at further target calls), or null. by: tokens that the run's rule keeps more.
 */
function difference(step, setup) {
  const { shadow } = step;
  if (!shadow) return null;
  if (shadow.kept !== step.kept) return { kind: "kept", by: step.kept - shadow.kept };
  if (lastKept(step.decisions || []) !== lastKept(shadow.decisions)) return { kind: "path", by: 0 };
  const next = step.committed[step.kept];
  if (next && shadow.next && next.token !== shadow.next.token) return { kind: "next", by: 0 };
  return goesOn(step, setup.rule, step.kept) !== goesOn(step, shadow.rule, shadow.kept)
    ? { kind: "extra", by: 0 }
    : null;
}

/** Whether a rule draws the rest of the block anew after what it keeps. */
const goesOn = (step, rule, kept) => rule === "naive-hsd" && kept < step.drafted - 1;

/** {kind, parts, note} of a step as the player's readStep gives it. */
function explain(view) {
  const found = difference(view.step, view.trace.setup);
  return { kind: found ? found.kind : null, parts: sentence(view, found), note: luck(view) };
}

function sentence(view, found) {
  const { own, shadow, step } = view;
  if (!step.drafted) return ["Nothing was drafted here: the target wrote one token by itself."];
  if (!shadow) return ["This step was recorded without a second rule."];
  if (sameLaw(own.rule, shadow.rule)) return sameAlways(view);
  if (!found) return agreed(view);
  const told = { kept: keptDiffers, path: keptDiffers, next: nextDiffers, extra: agreed }[found.kind](view);
  return [...told, ...further(view)];
}

const names = (view) => [view.own.info.short, view.shadow.info.short];

function sameAlways(view) {
  const [own, other] = names(view);
  return [
    `${capital(own)} and ${other} are the same law, so with the same coins they take the same decision, always: both keep ${amount(view.own, view.deepest)}.`,
  ];
}

function agreed(view) {
  const next = view.drawn;
  const following = next
    ? [" and go on with ", { piece: next.piece, origin: next.origin, cells: 16 }]
    : [", and the text ends"];
  return [`Both keep ${amount(view.own, view.deepest)}`, ...following, "."];
}

function keptDiffers(view) {
  const { own, shadow } = view;
  if (!view.isTrie && !isForward(own) && !isForward(shadow)) {
    const parted = firstParting(own, shadow);
    if (parted) return sameCoin(view, parted);
  }
  const [low, high] = own.kept < shadow.kept ? [own, shadow] : [shadow, own];
  return [
    `${capital(low.info.short)} `,
    ...course(view, low),
    `; ${high.info.short} `,
    ...course(view, high),
    ...together(view, low, high),
    ".",
  ];
}

/** In a tree: what the rule that keeps less, and judges paths as a whole, asked of the path that the other one keeps. */
function together(view, low, high) {
  const test = view.isTrie && !isForward(low) && high.last ? decisive(low, high.last) : null;
  if (!test || test.accepted) return [];
  const [coin, threshold] = pair(test.coin, test.threshold);
  const what = high.kept === 1 ? "that token" : `those ${high.kept} tokens together`;
  return [
    `, but for ${what} ${low.info.short} has only the threshold ${threshold}, and the coin ${coin} is not below it`,
  ];
}

/** The first test that both make and only one passes: {high: who passes, low, passed, failed}; null if there is none. */
function firstParting(a, b) {
  for (const [i, one] of a.decisions.entries()) {
    const other = b.decisions[i];
    if (!other || other.node !== one.node) return null;
    if (one.accepted === other.accepted) continue;
    return one.accepted
      ? { high: a, low: b, passed: one, failed: other }
      : { high: b, low: a, passed: other, failed: one };
  }
  return null;
}

/** Two rules that step back: the same coin at the same place, against two thresholds. */
function sameCoin(view, { high, low, passed, failed }) {
  const position = view.depth.get(passed.node);
  const what = passed.test === "draft" ? "the whole draft" : firstTokens(position);
  const [coin, more] = pair(passed.coin, passed.threshold);
  const [, less] = pair(failed.coin, failed.threshold);
  return [
    `For ${what} both compare the same coin ${coin}: ${high.info.short} with ${more}${formOf(high, passed)}, so it keeps ${amount(high, view.step.drafted)}; ${low.info.short} with ${less}${formOf(low, failed)}, so it steps back and keeps ${amount(low, view.step.drafted)}${cap(view, passed)}.`,
  ];
}

function formOf({ rule }, { test }) {
  const form = FORMS[rule] || [];
  if (test === "draft") return { capped: ", the capped ratio", uncapped: ", the plain ratio cut at 1" }[form[1]] || "";
  return { share: ", with the cap", naive: ", without the cap" }[form[0]] || "";
}

/** Why the cap counts less than the plain ratio. */
function cap(view, { node, test }) {
  const best = peak(view, node);
  const r = ratio(view, node);
  if (test !== "draft" || best.ratio <= 1 || capped(view, node) >= Math.min(1, r)) return "";
  return ` (the cap: after ${plural(best.position, "token")} the draft was already ${number(best.ratio, 2)} times as likely for the target as for the draft model, and what is above 1 may not make up for later tokens)`;
}

/** Both keep the same tokens, and the same number draws another token after them. */
function nextDiffers(view) {
  const { own, shadow, drawn, step } = view;
  const after = shadow.next;
  const from = (judged, token, origin, residual) => [
    { piece: token.piece, origin, cells: 16 },
    ` from ${source(judged, residual)}${share(residual, token)}`,
  ];
  const number_ = step.residual ? ` (the number ${number(step.residual.draw, 2)})` : "";
  return [
    `Both keep ${amount(own, view.deepest)}, but what a rejection leaves over differs, so the same draw${number_} gives another token: ${own.info.short} takes `,
    ...from(own, drawn, drawn.origin, step.residual),
    `, ${shadow.info.short} `,
    ...from(shadow, after, after.origin, shadow.residual),
    ".",
  ];
}

function source(judged, residual) {
  if (!residual) return "its own residual";
  if (residual.origin === "bonus") return "the target";
  if (residual.weight === null || residual.weight === undefined) return "its own residual";
  return residual.weight === 1 ? "max(p − q, 0)" : `max(${number(residual.weight, 2)}·p − q, 0)`;
}

/** The token's probability in the distribution that it was drawn from. */
function share(residual, { token }) {
  const outcome = residual ? residual.top.find((top) => top.token === token) : null;
  return outcome ? `, where it has probability ${number(outcome.probability, 2)}` : "";
}

/** Naive HSD draws the rest of a rejected block, one target call for each token. */
function further(view) {
  const { own, shadow, step } = view;
  const more = view.drawn ? view.drawn.extra.length : 0;
  if (own.rule === "naive-hsd" && more)
    return [` Naive HSD then drew ${plural(more, "further token")}, each at one more target call.`];
  if (shadow.rule === "naive-hsd" && goesOn(step, shadow.rule, shadow.kept))
    return [" Naive HSD would then draw the rest of the block, each token at one more target call."];
  return [];
}

/** What both rules keep of this draft on average over all coins. */
function luck(view) {
  if (!view.shadow || view.sameRule) return "";
  const mean = (rule) => view.step.expected_kept[rule] ?? view.step.expected_kept[bare(rule)];
  const [own, other] = [mean(view.own.rule), mean(view.shadow.rule)];
  if (own === undefined || other === undefined) return "";
  const [a, b] = pair(own, other).map((text, i) => (Math.abs(own - other) < 1e-5 ? number([own, other][i]) : text));
  return `Luck taken out: over all coins, ${view.own.info.short} keeps ${a} of ${view.isTrie ? "these very drafts" : "this very draft"} on average, ${view.shadow.info.short} ${b}.`;
}

export { explain, difference, sameLaw, capital };

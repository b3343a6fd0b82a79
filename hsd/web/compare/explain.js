// One sentence on a step: where two rules differ on the same draft and coins, and why. Pure: sentence parts.
import { number, pair, plural, real } from "../kit/format.js";
import { capped, decisive, lastKept, ratio } from "../step/model.js";
import { amount, course, firstTokens, isForward, peak } from "./clauses.js";

const SAME_LAW = ["blockwise", "hsd"];
const FORMS = {
  capped: ", the capped ratio",
  ratio: ", the plain ratio cut at 1",
  share: ", with the cap",
  naive: ", without the cap",
};

const bare = (rule) => String(rule).replace(/^recursive-/, "");
const sameLaw = (a, b) => bare(a) !== bare(b) && SAME_LAW.includes(bare(a)) && SAME_LAW.includes(bare(b));

/** Whether a rule draws the rest of the block anew after what it keeps. */
const goesOn = (step, rule, kept) => rule === "naive-hsd" && kept < step.drafted - 1;

/**
 * In what a step's two rules differ: "kept", "path" (as many tokens, but other ones), "next" (another token after
 * them), "extra" (naive HSD goes on at further target calls), or null. by: tokens that the run's rule keeps more.
 */
function difference(step) {
  const { verdict, shadow } = step;
  if (!shadow) return null;
  const next = step.committed[step.kept];
  if (shadow.kept !== step.kept) return { kind: "kept", by: step.kept - shadow.kept };
  if (lastKept(verdict) !== lastKept(shadow)) return { kind: "path", by: 0 };
  if (next && shadow.next && next.token !== shadow.next.token) return { kind: "next", by: 0 };
  const extra = goesOn(step, verdict.rule, step.kept) !== goesOn(step, shadow.rule, shadow.kept);
  return extra ? { kind: "extra", by: 0 } : null;
}

/** {kind, parts, note} of a step as the player's readStep gives it. */
function explain(view) {
  const found = difference(view.step);
  return { kind: found ? found.kind : null, parts: sentence(view, found), note: luck(view) };
}

function sentence(view, found) {
  const { own, shadow, step } = view;
  if (!step.drafted) return ["Nothing was drafted here: the target wrote one token by itself."];
  if (!shadow) return ["This step was recorded without a second rule."];
  if (sameLaw(own.rule, shadow.rule)) {
    const always = "are the same law, so with the same coins they take the same decision, always";
    return [`${own.info.head} and ${shadow.info.short} ${always}: both keep ${amount(own.kept, view.deepest)}.`];
  }
  if (!found) return agreed(view);
  const told = { kept: keptDiffers, path: keptDiffers, next: nextDiffers, extra: agreed }[found.kind](view);
  return [...told, further(view)];
}

function agreed({ own, drawn, deepest }) {
  const token = drawn && { piece: drawn.piece, origin: drawn.origin, cells: 16 };
  const following = token ? [" and go on with ", token] : [", and the text ends"];
  return [`Both keep ${amount(own.kept, deepest)}`, ...following, "."];
}

function keptDiffers(view) {
  const { own, shadow } = view;
  const parted = view.isTrie || isForward(own) || isForward(shadow) ? null : firstParting(own, shadow);
  if (parted) return sameCoin(view, parted);
  const [low, high] = own.kept < shadow.kept ? [own, shadow] : [shadow, own];
  const told = [`${low.info.head} `, ...course(view, low), `; ${high.info.short} `, ...course(view, high)];
  return [...told, together(view, low, high), "."];
}

/** In a tree: what the rule that keeps less, and judges paths as a whole, asked of the path that the other one keeps. */
function together(view, low, high) {
  const test = view.isTrie && !isForward(low) && high.last ? decisive(low, high.last) : null;
  if (!test || test.accepted) return "";
  const [coin, threshold] = pair(test.coin, test.threshold);
  const what = high.kept === 1 ? "that token" : `those ${high.kept} tokens together`;
  const only = `${low.info.short} has only the threshold ${threshold}`;
  return `, but for ${what} ${only}, and the coin ${coin} is not below it`;
}

/** The first test that both make and only one passes: [who passes, its test, who fails, its test]; null if none. */
function firstParting(a, b) {
  for (const [i, one] of a.decisions.entries()) {
    const other = b.decisions[i];
    if (!other || other.node !== one.node) return null;
    if (one.accepted !== other.accepted) return one.accepted ? [a, one, b, other] : [b, other, a, one];
  }
  return null;
}

/** Two rules that step back: the same coin at the same place, against two thresholds. */
function sameCoin(view, [high, passed, low, failed]) {
  const [coin, more] = pair(passed.coin, passed.threshold);
  const [, less] = pair(failed.coin, failed.threshold);
  const what = passed.test === "draft" ? "the whole draft" : firstTokens(view.depth.get(passed.node));
  const form = ({ grounds }) => FORMS[grounds.form] || "";
  const keeps = (judged) => `keeps ${amount(judged.kept, view.step.drafted)}`;
  return [
    `For ${what} both compare the same coin ${coin}: `,
    `${high.info.short} with ${more}${form(passed)}, so it ${keeps(high)}; `,
    `${low.info.short} with ${less}${form(failed)}, so it steps back and ${keeps(low)}${cap(view, passed)}.`,
  ];
}

/** Why the cap counts less than the plain ratio. */
function cap(view, { node, test }) {
  const best = peak(view, node);
  if (test !== "draft" || best.ratio <= 1 || capped(view, node) >= Math.min(1, ratio(view, node))) return "";
  const times = `${number(best.ratio, 2)} times as likely for the target as for the draft`;
  const rest = "and what is above 1 may not make up for later tokens";
  return ` (the cap: after ${plural(best.position, "token")} the draft was already ${times}, ${rest})`;
}

/** Both keep the same tokens, and the same number draws another token after them. */
function nextDiffers({ own, shadow, drawn, deepest, isTrie }) {
  const from = ({ info }, next, residual) => [
    `${info.short} ${info === own.info ? "takes " : ""}`,
    { piece: next.piece, origin: next.origin, cells: 16 },
    ` from ${source(residual, isTrie)}${share(residual, next)}`,
  ];
  const draw = own.residual ? ` (the number ${number(own.residual.draw, 2)})` : "";
  return [
    `Both keep ${amount(own.kept, deepest)}, but what a rejection leaves over differs, so the same draw${draw} `,
    "gives another token: ",
    ...from(own, drawn, own.residual),
    ", ",
    ...from(shadow, shadow.next, shadow.residual),
    ".",
  ];
}

/** What a token was drawn from. In a tree the target may have been changed before, so that p says too little. */
function source(residual, isTrie) {
  if (residual && residual.origin === "bonus") return "the target";
  const weight = residual ? residual.weight : null;
  if (isTrie || weight === null) return "its own residual";
  if (real(weight) === Infinity) return "the whole target";
  return weight === 1 ? "max(p − q, 0)" : `max(${number(weight, 2)}·p − q, 0)`;
}

/** The token's probability in the distribution that it was drawn from. */
function share(residual, { token }) {
  const outcome = residual ? residual.top.find((top) => top.token === token) : null;
  return outcome ? `, where it has probability ${number(outcome.probability, 2)}` : "";
}

/** Naive HSD draws the rest of a rejected block, one target call for each token. */
function further({ own, shadow, step, drawn }) {
  const more = drawn ? drawn.extra.length : 0;
  if (own.rule === "naive-hsd" && more)
    return ` Naive HSD then drew ${plural(more, "further token")}, each at one more target call.`;
  return goesOn(step, shadow.rule, shadow.kept)
    ? " Naive HSD would then draw the rest of the block, each token at one more target call."
    : "";
}

/** What both rules keep of this draft on average over all coins. */
function luck({ own, shadow, step, sameRule, isTrie }) {
  if (!shadow || sameRule) return "";
  const [a, b] = [own, shadow].map(({ rule }) => step.expected_kept[rule] ?? step.expected_kept[bare(rule)]);
  if (a === undefined || b === undefined) return "";
  const [one, other] = Math.abs(a - b) < 1e-5 ? [number(a), number(b)] : pair(a, b);
  const what = isTrie ? "these very drafts" : "this very draft";
  return `Luck taken out: over all coins, ${own.info.short} keeps ${one} of ${what} on average, ${shadow.info.short} ${other}.`;
}

export { explain, difference, sameLaw };

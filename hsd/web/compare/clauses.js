// How a rule came to what it keeps of one step, in a clause that goes on after the rule's name. Pure: sentence parts
// as in the player's story.js; every number is one that the trace holds.
import { number, pair, plural } from "../kit/format.js";
import { through } from "../step/drafts.js";
import { pathTo, ratio } from "../step/model.js";
import { compare } from "../step/story.js";

const SHOWN = 3; // failed tests, or drafts, that are listed
const TIMES = "times as likely for the target as for the draft";

const failing = (decision) => !decision.accepted;
const passing = (decision) => decision.accepted;
const isForward = (judged) => judged.decisions.every((decision) => decision.test === "token");
const close = (a, b) => Math.abs(a - b) <= 0.001 * Math.max(Math.abs(a), Math.abs(b), 1e-9);
const amount = (kept, of) => (kept === 0 ? "none" : kept === of && of > 1 ? `all ${of}` : String(kept));
const firstTokens = (n) => (n === 1 ? "its first token" : `its first ${n} tokens`);

/** Why a test passed: "no coin can fail", or "the coin 0.30 is below 0.55". */
const because = (passed) => (passed.threshold >= 1 ? "no coin can fail" : `the coin ${compare(passed)}`);

/** Sentence parts: "stops at token 2 ‹home›, because …, and keeps 1". */
function course(view, judged) {
  if (!judged.decisions.length) return ["has nothing to test"];
  if (!view.isTrie) return isForward(judged) ? tokenByToken(view, judged) : wholeDraftFirst(view, judged);
  return (isForward(judged) ? downFromRoot : judged.info.drafts ? draftAfterDraft : fromTheLeaves)(view, judged);
}

// ---- a single draft

const COMPARED = { agreement: "p", ensemble: "((1 − w) p + w q)/q" }; // where it is not p/q

function tokenByToken(view, judged) {
  const failed = judged.decisions.find(failing);
  const { rule } = judged;
  const kept = `keeps ${amount(judged.kept, view.step.drafted)}`;
  if (!failed) return [`${judged.info.knob ? "lets every token pass" : "passes every token by itself"} and ${kept}`];
  const [low, high] = pair(...failed.sides);
  const test = `its coin ${low} is not below ${COMPARED[rule] || "p/q"} = ${high}`;
  const far = "its divergence is above the tolerance";
  const only = view.options.fuzzy.mode === "divergence-only";
  const asked = rule !== "fuzzy" ? test : only ? far : `${far} and ${test}`;
  const why = failed.coinless ? `the target gives it only ${high}, not above ${low}` : asked;
  const { piece } = view.nodes.get(failed.node);
  return [`stops at token ${view.depth.get(failed.node)} `, { piece, cells: 16 }, `, because ${why}, and ${kept}`];
}

function wholeDraftFirst(view, judged) {
  const [first] = judged.decisions;
  const [coin, threshold] = pair(first.coin, first.threshold);
  const opening = `looks at the whole draft first: ${meaning(view, judged, first, threshold)}`;
  const kept = `keeps ${amount(judged.kept, view.step.drafted)}`;
  if (first.accepted && first.threshold >= 1) return [`${opening}, so no coin can fail and it ${kept}`];
  if (first.accepted) return [`${opening}, the coin ${coin} is below that, and it ${kept}`];
  const failed = `${opening}, and the coin ${coin} is not below that`;
  const passed = judged.decisions.find(passing);
  if (!passed) return [`${failed}; no shorter part passes either, and it keeps none`];
  const back = plural(judged.decisions.length - 1, "token");
  return [`${failed}; it steps back ${back} and keeps ${judged.kept}, where ${because(passed)}`];
}

/** What the threshold of a whole draft says about the draft. threshold: the same number as shown. */
function meaning(view, judged, test, threshold) {
  const { node, threshold: value } = test;
  const { form } = test.grounds;
  const r = ratio(view, node);
  if (value >= 1) return `it is ${number(r, 2)} ${TIMES}`;
  if (value === 0) return "the target would never write it (ratio 0)";
  if (form === "ratio" || close(r, value)) return `it is only ${threshold} ${TIMES}`;
  const best = peak(view, node);
  const from = `after ${plural(best.position, "token")} (${number(best.ratio, 2)} times)`;
  return `it is ${number(r, 2)} ${TIMES}, but counted from its best point, ${from}, only ${threshold} times`;
}

/** After how many tokens, the whole draft left out, the joint ratio was largest, and how large. */
function peak(view, node) {
  const ratios = [
    1,
    ...pathTo(view, node)
      .slice(0, -1)
      .map((id) => ratio(view, id)),
  ];
  const position = ratios.reduce((best, r, i) => (r > ratios[best] ? i : best), 0);
  return { position, ratio: ratios[position] };
}

// ---- trees of several drafts

const keeps = (view, judged) =>
  judged.kept ? `keeps ${plural(judged.kept, "token")} of ${through(view, judged.last)}` : "keeps none";

function downFromRoot(view, judged) {
  const { decisions, info, kept } = judged;
  const way = info.drafts ? "takes the drafts one after another, token by token" : "goes down from the root";
  const failed = decisions.slice(decisions.findLastIndex(passing) + 1);
  if (!failed.length) return [`${way}: every token to the end of a draft passes, so it ${keeps(view, judged)}`];
  const told = failed.slice(0, SHOWN).map(compare).join(", ") + (failed.length > SHOWN ? ", …" : "");
  const tests = failed.length === 1 ? "the only test" : `each of the ${failed.length} tests`;
  return [`${way}, and ${keeps(view, judged)}: ${tests} for token ${kept + 1} fails (coin ${told})`];
}

function draftAfterDraft(view, judged) {
  const tried = new Set(judged.decisions.map((decision) => decision.draft || 0)).size;
  const many = `takes ${tried} drafts one after another, each as a whole first`;
  const way = tried === 1 ? "takes one draft, as a whole first" : many;
  const passed = judged.decisions.findLast(passing);
  const first = `${compare(judged.decisions[0])} at the first whole draft`;
  if (!passed) return [`${way}; no test passes (${first}), and it keeps none`];
  const whole = passed.test === "draft";
  const length = view.depth.get(passed.node);
  const what = whole ? "all of it" : firstTokens(length);
  const one = `${what} ${whole || length === 1 ? "passes" : "pass"}`;
  const which = tried === 1 ? one : `draft ${(passed.draft || 0) + 1} passes with ${what}`;
  return [`${way}, and ${keeps(view, judged)}: ${which}, where ${because(passed)}`];
}

function fromTheLeaves(view, judged) {
  const way = "goes from the leaves to the root";
  const passed = judged.decisions.find(passing);
  const failed = judged.decisions.filter(failing).length;
  if (!passed) return [`${way}, and none of its ${plural(failed, "test")} passes, so it keeps none`];
  const before = failed ? `after ${plural(failed, "rejection")} ` : "";
  const what = passed.test === "draft" ? "a whole draft" : "what is left of a draft";
  return [`${way}, and ${keeps(view, judged)}: ${before}${what} passes, where ${because(passed)}`];
}

export { course, amount, peak, isForward, firstTokens };

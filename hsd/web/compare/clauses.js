// How a rule came to what it keeps of one step, in a clause that goes on after the rule's name. Pure: sentence parts
// as in the player's story.js; every number is one that the trace holds.
import { number, pair, plural } from "../kit/format.js";
import { names } from "../player/drafts.js";
import { pathTo, ratio, ruleInfo } from "../player/model.js";

const SHOWN = 3; // failed tests that are listed
const TIMES = "times as likely for the target as for the draft model";

const close = (a, b) => Math.abs(a - b) <= 0.001 * Math.max(Math.abs(a), Math.abs(b), 1e-9);
const isForward = (judged) => judged.decisions.every((decision) => decision.test === "token");

/** "0.30 is below 0.55", or "0.67 is not below 0.11". */
function compared({ coin, threshold, accepted }) {
  const [coinText, thresholdText] = pair(coin, threshold);
  return `${coinText} is ${accepted ? "" : "not "}below ${thresholdText}`;
}

const amount = (judged, of) =>
  judged.kept === 0 ? "none" : judged.kept === of && of > 1 ? `all ${of}` : String(judged.kept);

function course(view, judged) {
  if (!judged.decisions.length) return ["has nothing to test"];
  if (view.isTrie) return inTree(view, judged);
  return isForward(judged) ? tokenByToken(view, judged) : wholeDraftFirst(view, judged);
}

// ---- a single draft

function tokenByToken(view, judged) {
  const failed = judged.decisions.find((decision) => !decision.accepted);
  const fuzzy = judged.info === ruleInfo("fuzzy");
  const way = fuzzy ? "lets every token pass" : "passes every token by itself";
  if (!failed) return [`${way} and keeps ${amount(judged, view.step.drafted)}`];
  const [coin, threshold] = pair(failed.coin, failed.threshold);
  const test = `its coin ${coin} is not below p/q = ${threshold}`;
  const far = "its divergence is above the tolerance";
  const exactFirst = view.trace.setup.fuzzy_mode !== "divergence-only";
  const why = fuzzy ? (exactFirst ? `${far} and ${test}` : far) : test;
  const { piece } = view.nodes.get(failed.node);
  return [
    `stops at token ${view.depth.get(failed.node)} `,
    { piece, cells: 16 },
    `, because ${why}, and keeps ${amount(judged, view.step.drafted)}`,
  ];
}

function wholeDraftFirst(view, judged) {
  const [first] = judged.decisions;
  const [coin, threshold] = pair(first.coin, first.threshold);
  const opening = `looks at the whole draft first: ${meaning(view, judged, first, threshold)}`;
  if (first.accepted && first.threshold >= 1)
    return [`${opening}, so no coin can fail and it keeps ${amount(judged, view.step.drafted)}`];
  if (first.accepted)
    return [`${opening}, the coin ${coin} is below that, and it keeps ${amount(judged, view.step.drafted)}`];
  const failing = `${opening}, and the coin ${coin} is not below that`;
  const passed = judged.decisions.find((decision) => decision.accepted);
  if (!passed) return [`${failing}; no shorter part passes either, and it keeps none`];
  const back = plural(judged.decisions.length - 1, "token");
  const why = passed.threshold >= 1 ? "where no coin can fail" : `where the coin ${compared(passed)}`;
  return [`${failing}; it steps back ${back} and keeps ${judged.kept}, ${why}`];
}

/** What the threshold of a whole draft says about the draft. threshold: the same number as shown. */
function meaning(view, judged, decision, threshold) {
  const { end } = judged.info;
  if (!end) return `its threshold is ${threshold}`;
  const r = ratio(view, decision.node);
  if (decision.threshold >= 1) return `it is ${number(r, 2)} ${TIMES}`;
  if (decision.threshold === 0) return "the target would never write it (ratio 0)";
  if (end === "uncapped" || close(r, decision.threshold)) return `it is only ${threshold} ${TIMES}`;
  const best = peak(view, decision.node);
  return `it is ${number(r, 2)} ${TIMES}, but counted from its best point, after ${plural(best.position, "token")} (${number(best.ratio, 2)} times), only ${threshold} times`;
}

/** After how many tokens, the whole draft left out, the joint ratio was largest, and how large. */
function peak(view, node) {
  let best = { position: 0, ratio: 1 };
  for (let id = view.nodes.get(node).parent; id; id = view.nodes.get(id).parent) {
    const r = ratio(view, id);
    if (r > best.ratio) best = { position: view.depth.get(id), ratio: r };
  }
  return best;
}

// ---- trees of several drafts

function inTree(view, judged) {
  if (isForward(judged)) return downFromRoot(view, judged);
  return judged.info.drafts ? draftAfterDraft(view, judged) : fromTheLeaves(view, judged);
}

/** Which of the drafts run through a node: "draft 2", "draft 1 and draft 3", "all drafts". */
function draftsThrough(view, node) {
  const named = names(view);
  const through = [...named].filter(([leaf]) => pathTo(view, leaf).includes(node)).map(([, name]) => name);
  if (through.length > 1 && through.length === named.size) return "all drafts";
  const words = through.map((name) => (name.startsWith("leaves") ? `the draft that ${name}` : name));
  if (words.length > SHOWN) return `${words.length} drafts`;
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

const keeps = (view, judged) =>
  judged.kept ? `keeps ${plural(judged.kept, "token")} of ${draftsThrough(view, judged.last)}` : "keeps none";

function downFromRoot(view, judged) {
  const way = judged.info.drafts ? "takes the drafts one after another, token by token" : "goes down from the root";
  const { decisions } = judged;
  const failed = decisions.slice(decisions.findLastIndex((decision) => decision.accepted) + 1);
  if (!failed.length) return [`${way}: every token to the end of a draft passes, so it ${keeps(view, judged)}`];
  const told = failed.slice(0, SHOWN).map((decision) => pair(decision.coin, decision.threshold).join(" is not below "));
  const more = failed.length > SHOWN ? ", …" : "";
  const tests = failed.length === 1 ? "the only test" : `each of the ${failed.length} tests`;
  return [
    `${way}, and ${keeps(view, judged)}: ${tests} for token ${judged.kept + 1} fails (coin ${told.join(", ")}${more})`,
  ];
}

function draftAfterDraft(view, judged) {
  const tried = [...new Set(judged.decisions.map((decision) => decision.draft || 0))];
  const opening =
    tried.length === 1
      ? "takes one draft, as a whole first"
      : `takes ${tried.length} drafts one after another, each as a whole first`;
  const passed = judged.decisions.findLast((decision) => decision.accepted);
  if (!passed)
    return [
      `${opening}; no test passes (${compared(judged.decisions[0])} at the first whole draft), and it keeps none`,
    ];
  const what = passed.test === "draft" ? "all of it" : firstTokens(view.depth.get(passed.node));
  const which = tried.length === 1 ? "" : `draft ${(passed.draft || 0) + 1} passes with ${what}, where `;
  const why = passed.threshold >= 1 ? "no coin can fail" : `the coin ${compared(passed)}`;
  return [
    `${opening}, and ${keeps(view, judged)}: ${which || `${what} ${passed.test === "draft" || view.depth.get(passed.node) === 1 ? "passes" : "pass"}, where `}${why}`,
  ];
}

const firstTokens = (n) => (n === 1 ? "its first token" : `its first ${n} tokens`);

function fromTheLeaves(view, judged) {
  const passed = judged.decisions.find((decision) => decision.accepted);
  const failed = judged.decisions.filter((decision) => !decision.accepted).length;
  const opening = "goes from the leaves to the root";
  if (!passed) return [`${opening}, and none of its ${plural(failed, "test")} passes, so it keeps none`];
  const before = failed ? `after ${plural(failed, "rejection")} ` : "";
  const why = passed.threshold >= 1 ? "no coin can fail" : `the coin ${compared(passed)}`;
  return [
    `${opening}, and ${keeps(view, judged)}: ${before}${passed.test === "draft" ? "a whole draft" : "what is left of a draft"} passes, where ${why}`,
  ];
}

export { course, compared, amount, peak, draftsThrough, isForward, firstTokens };

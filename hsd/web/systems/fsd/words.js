// What the FSD panel says, in sentences that are true of the numbers beside them. Pure: plain strings.
import { exact, number, pair, percent, plural, real } from "../../kit/format.js";
import { DIVERGENCES, MODES } from "./model.js";

const TEXT_NAMES = { sums: "Sums", stories: "Stories" };

const MEANING = {
  "kl": "KL(q‖p) from the draft's row q to the target's row p. Infinite where the draft can write what the target never writes.",
  "reverse-kl":
    "KL(p‖q) from the target's row to the draft's. Infinite where the target can write what the draft never writes.",
  "js": "Jensen–Shannon: both rows against their mean, at most ln 2 ≈ 0.693. A token that the target never writes can pass.",
  "tv": "Total variation: half of Σ|p − q|, at most 1. A token that the target never writes can pass.",
};
const MODE = {
  "exact-first":
    "The exact test is made first. What it rejects passes all the same where D ≤ T; else the residual corrects.",
  "divergence-only":
    "The paper's mode: no coin. The draft is kept as long as D ≤ T; then the next token follows the whole target.",
};

/** That the rule is lossy, and with which settings. */
function lossy({ notes, options }) {
  const { divergence, tolerance, mode, on } = options.fuzzy;
  const { temperature, top_p } = options.sampling;
  const how = `${DIVERGENCES[divergence]}${on === "raw" ? " of raw rows" : ""} ≤ ${number(real(tolerance), 4)}`;
  const exact = tolerance === 0 && "At T = 0 a token passes only where both rows are equal, so this is exact.";
  const told = exact || notes.join(" ") || "Not lossless.";
  const cut = top_p < 1 ? `, top-p ${top_p}` : "";
  const settings = `${how}, ${MODES[mode].toLowerCase()}, temperature ${temperature}${cut}, seed ${options.seed}`;
  return `${told} Settings: ${settings}.`;
}

/** Where the token after the kept ones came from; null where there was none. */
function after(drawn, { residual }) {
  if (!drawn) return "The text ends with the kept tokens.";
  if (drawn.origin === "bonus") return "bonus: all kept: the next token follows the target";
  const whole = residual && real(residual.weight) === Infinity;
  return `${drawn.origin}: drawn from the ${whole ? "whole target p" : "residual max(p − q, 0)"}`;
}

/** One drafted token's way through its tests. */
function verdict({ node, D, near, exact, rejects, tested }, { T, mode }) {
  if (!tested) return "not reached";
  const [coin, limit] = pair(node.coin, exact);
  const test = rejects ? `${coin} ≥ ${limit}` : `${coin} < ${limit}`;
  const [value, tolerance] = pair(D, T);
  const distance = `divergence ${value} ${near ? "≤" : ">"} ${tolerance}`;
  if (mode === "divergence-only") {
    const would = `the exact test would have ${rejects ? "rejected" : "passed"} it, coin ${test}`;
    return `${distance}: ${near ? "kept" : "rejected"}; ${would}`;
  }
  if (!rejects) return `exact test: passed, coin ${test}; not needed: ${distance}`;
  return `exact test: rejected, coin ${test}; ${distance}: ${near ? "kept all the same" : "rejected"}`;
}

/** What the drift comes to so far. */
function drift({ drift: spent, bound, kept, tokens }, { T, unit }) {
  if (T < 0) return "A tolerance below 0 lets nothing pass: exact speculative decoding, no drift.";
  const each = tokens ? `, ${number(spent / tokens)} per new token` : "";
  const most = Number.isFinite(bound) ? `, at most T × kept = ${exact(T, 9, 9)} × ${kept} = ${exact(bound)}` : "";
  return `Drift spent so far: ${number(spent)}${unit}${each}${most}.`;
}

/** What that number says about the text. */
function driftMeaning({ divergence, on, T, mode }) {
  if (T < 0) return "";
  if (on === "raw") return "D is of raw rows here, so the drift does not bound how far the sampled text is off.";
  if (divergence === "kl")
    return `On average over runs the drift is ${mode === "divergence-only" ? "" : "at least "}KL(output‖target): how far the text's law is from the target's, in nats.`;
  if (divergence === "tv")
    return "On average over runs the drift bounds the total variation between the text's law and the target's. Per kept token: of 100 draws at most 100 × T would have to change.";
  return "In this divergence drifts do not add up to a bound for a whole text; KL(q‖p) and total variation do.";
}

function kept({ overruled, kept: all, impossible, calls, tokens }) {
  const many = plural(overruled, "kept token");
  const shown = overruled
    ? `${many} of ${all} would have been rejected by the exact test`
    : "no kept token would have been rejected by the exact test";
  const zero = impossible
    ? `; ${plural(impossible, "kept token")} had p = 0: the target never writes ${impossible === 1 ? "it" : "them"} there`
    : "";
  const rate = calls ? number(tokens / calls) : "";
  const each = calls ? `${rate} ${rate === "1" ? "token" : "tokens"} per target call; ` : "";
  return `${each}${shown}${zero}.`;
}

/** What the calibration makes of a tolerance. */
function calibration(results, state, share) {
  const text = results?.texts[state.text];
  if (!text) return "";
  const { prompts, rejected } = text.calibration;
  const at = results.setting.temperature;
  const where =
    `calibrated on ${prompts} ${state.text}, temperature ${number(at)}, top-p 1, ` +
    `where exact decoding rejected ${rejected} tokens`;
  const other = Number(state.temperature) !== at || Number(state.more?.top_p ?? 1) < 1;
  if (share === null) return `Give the tolerance as a number (${where}).`;
  const none = Number(state.tolerance) < 0 || !share;
  const words = none ? "(almost) nothing that would be rejected" : `${percent(share)} of what would be rejected`;
  return `Accepts ${words}: ${where}${other ? "; at another temperature or top-p the share differs" : ""}.`;
}

// ---- the curve

const shown = (x) => number(x);
const METRICS = {
  right: { title: "Right answers", axis: "right answers, %", scale: 100, show: percent },
  drift: { title: "Drift", axis: "drift per new token", scale: 1, show: shown },
  overruled: { title: "Overruled", axis: "kept tokens that would be rejected, %", scale: 100, show: percent },
  length: { title: "Length", axis: "tokens per answer", scale: 1, show: shown },
  seconds: { title: "Seconds", axis: "seconds per answer, trace included", scale: 1, show: shown },
};
const MORE = {
  // metric: [more of it, less of it]
  right: ["more right answers", "fewer right answers"],
  drift: ["more drift", "less drift"],
  overruled: ["more overruled", "fewer overruled"],
  length: ["longer answers", "shorter answers"],
  seconds: ["slower answers", "faster answers"],
  tokens_per_call: ["more tokens per call", "fewer tokens per call"],
};

const interval = ([value, low, high], show) => `${show(value)} (${show(low)}–${show(high)})`;

function point(one, metric, kind) {
  const { title, show } = METRICS[metric];
  const name = {
    exact: "Exact speculative decoding",
    random: `At random, ${percent(one.share)} of what would be rejected`,
    fuzzy: `FSD, ${percent(one.share)} of what would be rejected, T = ${number(one.tolerance)}`,
  }[kind];
  const others = Object.entries(METRICS)
    .filter(([key]) => key !== metric && one[key])
    .map(([key, its]) => `${its.title.toLowerCase()} ${its.show(one[key][0])}`);
  const calls = interval(one.tokens_per_call, shown);
  const here = `${title.toLowerCase()} ${interval(one[metric], show)}`;
  return `${name}: ${calls} tokens per target call; ${here}; ${others.join(", ")}.`;
}

/** Whether choosing by divergence differs from choosing at random: share by share, where the intervals do not meet. */
function againstRandom(points, random, metric) {
  const parts = ["tokens_per_call", metric].flatMap((name) => {
    const differs = [(one, other) => one[name][1] > other[name][2], (one, other) => one[name][2] < other[name][1]];
    return differs.map((apart, i) => {
      const where = points.filter((one, k) => apart(one, random[k])).map((one) => percent(one.share));
      return where.length ? `${MORE[name][i]} at ${where.join(", ")}` : "";
    });
  });
  const told = parts.filter(Boolean).join("; ");
  if (told) return `FSD against accepting the same share at random: ${told}. Elsewhere the intervals overlap.`;
  return (
    "Accepting the same share at random, whatever the divergence, is not measurably different here: the intervals " +
    "overlap at every share."
  );
}

const PUBLISHED =
  "Published, not measured here: the authors report more than 5 tokens/s gained for about 2 points of accuracy; a " +
  "published re-test with JS < 0.3 lost 10 of 23 correct answers and doubled their length, which is why time and " +
  "length per answer are shown here beside tokens per call.";

export { TEXT_NAMES, MEANING, MODE, METRICS, PUBLISHED };
export { lossy, after, verdict, drift, driftMeaning, kept, calibration, point, againstRandom };

// What the raw timings of a race say: a row for each lane, and a few sentences. A record is that of
// one timed run, from an app or from a browser. Pure.
//
// One statistic stands behind each number, over the rounds that all lanes have ended: seconds and
// tokens a second are medians over these rounds, and a speed-up is a lane's tokens a second over
// plain decoding's. A lane is called faster than another only where an interval allows it: of one
// prompt where it was so in every round, of several where the 95 % interval over prompts says so.
import { facts } from "../kit/facts.js";
import { lowMedian, median, student, sum } from "../kit/statistics.js";
import { copies } from "../step/model.js";
import { listing, plain, say } from "../step/sentences.js";
import { interval, jackknife, resampled } from "./intervals.js";

const NOISE = 1.1; // times by which single runs differ by chance
const NO_CALLS = /** @type {PassSummary} */ ({ first: 0, widths: {} });

/** The sum of a field over records. @type {(records: LaneRecord[], name: LaneCount) => number} */
const total = (records, name) => sum(records.map((record) => record[name]));
/** The groups of some records by a whole number, the smallest first. */
const groups = (/** @type {LaneRecord[]} */ records, /** @type {"prompt" | "repetition"} */ name) =>
  /** @type {LaneRecord[][]} */ (Object.values(Object.groupBy(records, (record) => record[name])));

/**
 * The passes of one model in some records.
 * - first: seconds of those that read the prompts; seconds: of all
 * - call(width): the median seconds of one over so many tokens, NaN if there was none
 * - typical: seconds a step, if each pass took the median of its width
 * @param {LaneRecord[]} records
 * @param {string} model
 */
function passesOf(records, model) {
  const calls = records.map((record) => record.calls[model] ?? NO_CALLS);
  const widths = calls.flatMap((call) => Object.entries(call.widths));
  const byWidth = Map.groupBy(widths, ([width]) => width);
  /** @type {(width: number | string) => number} */
  const call = (width) => {
    const passes = byWidth.get(String(width)) ?? [];
    return median(passes.map(([, [, , middle]]) => middle));
  };
  const spent = [...byWidth].map(([width, passes]) => {
    const count = sum(passes.map(([, [count]]) => count));
    return count * call(width);
  });
  const first = sum(calls.map((call) => call.first));
  const later = sum(widths.map(([, [, seconds]]) => seconds));
  return { call, first, seconds: first + later, typical: sum(spent) / total(records, "steps") };
}

/** One lane's records, and what is made of them. */
class Measured {
  constructor(/** @type {RaceLane} */ lane, /** @type {LaneRecord[]} */ records) {
    const { options } = lane;
    this.lane = lane;
    this.records = records;
    this.rounds = groups(records, "repetition");
    this.speeds = this.rounds.map((round) => total(round, "new_tokens") / total(round, "seconds"));
    this.copies = copies({ draft: options });
    this.levelled = facts.systems.some(({ name, levels }) => levels && name === options.system);
    const alone =
      (options.drafts ?? 1) === 1 && (options.system ?? "speculative") === "speculative";
    // each step has one draft of a fixed length, by one model
    this.oneDraft = alone && !this.copies && options.gamma !== "auto";
    const names = new Set(records.flatMap(({ calls }) => Object.keys(calls)));
    names.delete("target");
    this.target = passesOf(records, "target");
    this.draft = passesOf(records, "draft");
    this.below = [...names].map((name) => passesOf(records, name)); // all models that draft
    // tokens a second for other choices of prompts, round by round
    this.resampled = this.rounds.map((round) => {
      const prompts = groups(round, "prompt");
      return resampled(prompts.map((own) => [total(own, "new_tokens"), total(own, "seconds")]));
    });
  }

  /** A field's sum over prompts, for each round. @param {LaneCount} name */
  sums(name) {
    return this.rounds.map((round) => total(round, name));
  }

  /** Speed-ups over another lane, round by round. @param {Measured} reference */
  speedups(reference) {
    return this.speeds.map((speed, i) => speed / reference.speeds[i]);
  }

  /**
   * The median speed-up over another lane, with its 95 % interval over prompts.
   * @param {Measured} reference
   */
  speedup(reference) {
    const rounds = this.resampled.map((speeds, round) =>
      speeds.map((speed, choice) => speed / reference.resampled[round][choice]),
    );
    const typical = rounds[0].map((_, choice) => median(rounds.map((ratios) => ratios[choice])));
    return interval(median(this.speedups(reference)), typical);
  }

  /** The number of prompts. */
  get prompts() {
    return new Set(this.records.map(({ prompt }) => prompt)).size;
  }

  /**
   * The least and the largest speed-up over another lane among rounds; of several prompts the 95 %
   * interval.
   * @param {Measured} reference
   */
  range(reference) {
    if (this.prompts > 1) return this.speedup(reference).slice(1);
    const every = this.speedups(reference);
    return [Math.min(...every), Math.max(...every)];
  }

  /**
   * Whether it is faster than another by more than chance: a single run must be far ahead.
   * @param {Measured} other
   */
  faster(other) {
    return this.range(other)[0] > (this.records.length > 1 ? 1 : NOISE);
  }

  /**
   * Where the time goes, as shares of the seconds. draft, target: the models' passes; verify:
   * judging the drafts; sampling: logits to probabilities, drawing tokens; rest: all else.
   */
  shares() {
    const { records, target } = this;
    const seconds = total(records, "seconds");
    const [drafting, reading, verify] = /** @type {const} */ (["draft", "target", "verify"]).map(
      (part) => sum(records.map(({ time }) => time[part])),
    );
    const draft = sum(this.below.map((model) => model.seconds));
    const drawn = Math.max(drafting - draft, 0);
    // the prompt is read before the first step, outside all parts
    const read = Math.max(reading - (target.seconds - target.first), 0);
    const sampling = drawn + read;
    const rest = Math.max(seconds - draft - target.seconds - verify - sampling, 0);
    const parts = { draft, target: target.seconds, verify, sampling, rest };
    return Object.fromEntries(Object.entries(parts).map(([part, x]) => [part, x / seconds]));
  }

  /**
   * The standard error of tokens per target call, as if steps were drawn independently. All rounds
   * count as one, as they repeat each other.
   */
  callError() {
    const steps = total(this.records, "steps");
    const kept = this.records.flatMap((record) => Object.entries(record.kept_histogram));
    const mean = sum(kept.map(([x, count]) => count * Number(x))) / steps;
    const variance = sum(kept.map(([x, count]) => count * (Number(x) - mean) ** 2)) / steps;
    const freedom = steps / this.rounds.length - 1;
    if (freedom <= 0) return Infinity;
    const perStep = total(this.records, "target_calls") / steps;
    return Math.sqrt(variance / freedom) / perStep;
  }

  /**
   * The lane's row of the table.
   * @param {Measured} reference - plain decoding
   * @returns {RaceRow}
   */
  row(reference) {
    const { records, target, lane } = this;
    const seconds = this.sums("seconds");
    const steps = total(records, "steps");
    const calls = total(records, "target_calls");
    const speed = median(this.speeds);
    const passes = target.seconds + sum(this.below.map((model) => model.seconds));
    const typical = seconds.indexOf(lowMedian(seconds));
    const row = {
      case: lane.name,
      lossless: lane.lossless,
      runs: seconds.length,
      prompts: this.prompts,
      tokens: lowMedian(this.sums("new_tokens")),
      seconds: median(seconds),
      tokens_per_second: speed,
      replay: this.rounds[typical][0].repetition,
      shares: this.shares(),
      outside_ms_per_step: (1e3 * (total(records, "seconds") - passes)) / steps,
      target_call_ms: 1e3 * target.call(1),
      target_calls: lowMedian(this.sums("target_calls")),
      calls_per_step: calls / steps,
      tokens_per_call: total(records, "new_tokens") / calls,
      call_error: this.callError(),
      steps: Math.floor(steps / this.rounds.length),
      speedup: speed / median(reference.speeds),
      speedups: this.range(reference),
      ms_per_token: 1e3 / speed,
      sentence: "",
    };
    return this === reference ? row : { ...row, ...this.costs(reference, row.speedup) };
  }

  /**
   * The fields of a row that only a lane with drafts has. limit: what the speed-up would be if
   * nothing but the models' passes took time; below_ms: of a step's passes below the target, where
   * models have levels.
   * @param {Measured} reference
   * @param {number} speedup
   */
  costs(reference, speedup) {
    const { records, target, draft, lane, oneDraft } = this;
    const { gamma } = lane.options;
    const below = sum(this.below.map((model) => model.typical));
    const check = oneDraft ? target.call(gamma + 1) : target.typical;
    const seconds = oneDraft ? gamma * draft.call(1) + check : below + check;
    const times = total(records, oneDraft ? "target_calls" : "steps");
    const tokens = total(records, "new_tokens") / times;
    const limit = (tokens * reference.target.call(1)) / seconds;
    return {
      target_call_ms: 1e3 * check,
      draft_call_ms: this.copies ? 0 : 1e3 * draft.call(1),
      below_ms: this.levelled ? 1e3 * below : null,
      limit,
      efficiency: speedup / limit,
      rate: total(records, "kept") / Math.max(total(records, "drafted"), 1),
    };
  }
}

/**
 * The numbers of a race; null before plain decoding, the first lane, was timed.
 * @param {RaceLane[]} lanes
 * @param {LaneRecord[]} records
 * @param {RaceCoins[]} [coins]
 * @returns {RaceReport | null}
 */
function report(lanes, records, coins = []) {
  const counted = records.filter(({ repetition }) => repetition > 0);
  const own = lanes.map(({ name }) => counted.filter((record) => record.case === name));
  const timed = own.filter((runs) => runs.length);
  if (!own[0].length) return null;
  const place = (/** @type {LaneRecord} */ run) => `${run.prompt} ${run.repetition}`;
  const ended = timed.map((runs) => new Set(runs.map(place)));
  const every = lanes.flatMap((lane, i) => {
    const runs = own[i].filter((run) => ended.every((places) => places.has(place(run))));
    return own[i].length ? [new Measured(lane, runs)] : [];
  });
  const rows = every.map((measured) => measured.row(every[0]));
  for (const row of rows) row.sentence = laneSentence(row, rows[0]);
  const whole = {
    rows,
    verdict: verdict(every, rows),
    calls: calls(rows),
    basis: basis(rows),
    rules: rules(every, coins),
  };
  return JSON.parse(JSON.stringify(whole)); // in which null stands for what is not finite
}

// ---- sentences: hsd/trace/sentences.yaml has their words

/** @type {<Name extends keyof Said>(name: Name, facts: Said[Name]) => string} */
const tell = (name, facts) => plain(say(name, facts));

/** The lanes' names; those that are not lossless say so. @param {RaceRow[]} rows */
const named = (rows) =>
  listing(rows.map((row) => row.case + (row.lossless ? "" : " (not lossless)")));

/** Milliseconds with two or three digits; "" for NaN. @param {number} x */
function milliseconds(x) {
  if (Number.isNaN(x)) return "";
  if (x >= 100) return Math.round(x).toLocaleString("en");
  return x.toFixed(x >= 1 ? 1 : 2);
}

/**
 * A number with `digits` decimals, or up to six where it would wrongly look like 0, 1, 100 or one
 * of `others`.
 * @param {number} x
 * @param {number} [digits]
 * @param {number[]} others
 */
function fixed(x, digits = 2, ...others) {
  const borders = [0, 1, 100, ...others].filter((border) => border !== x);
  for (let places = digits; places <= 6; places += 1) {
    const text = x.toFixed(places);
    if (borders.every((border) => border.toFixed(places) !== text)) return text;
  }
  return x.toFixed(digits);
}

/** A number with its sign. @param {number} x @param {number} digits */
const signed = (x, digits) => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(digits);

/** A share in per cent; "" for NaN. @param {number} share */
const percent = (share) => (Number.isNaN(share) ? "" : `${fixed(100 * share, 0)} %`);

/**
 * "smallest to largest", or one number if both look the same.
 * @param {number[]} values
 * @param {number} digits
 */
function span(values, digits) {
  const ends = [Math.min(...values), Math.max(...values)];
  const texts = new Set(ends.map((end) => fixed(end, digits)));
  return [...texts].join(" to ");
}

/**
 * Which lane is fastest, if that can be said.
 * @param {Measured[]} every - plain decoding first
 * @param {RaceRow[]} rows
 */
function verdict(every, rows) {
  const [reference] = every;
  const lanes = every.map((measured, i) => ({ measured, row: rows[i] }));
  lanes.sort((a, b) => b.row.speedup - a.row.speedup);
  const winners = lanes.filter(({ measured }) => measured.faster(reference));
  const first = winners[0]?.measured;
  const close = winners.filter(({ measured }) => measured === first || !first.faster(measured));
  const drafting = lanes.filter(({ measured }) => measured !== reference);
  const shown = close.length ? close : drafting.slice(0, 1);
  if (!shown.length) return tell("race_verdict", { alone: true });
  const [{ measured, row }] = shown;
  const [slowest, quickest] = row.speedups.map((x) => fixed(x));
  return tell("race_verdict", {
    winners: winners.length,
    lanes: close.length,
    slower: reference.faster(measured),
    prompts: row.prompts,
    runs: row.runs,
    slowest,
    quickest,
    names: named(shown.map((lane) => lane.row)),
    speeds: span(
      shown.map((lane) => lane.row.speedup),
      2,
    ),
  });
}

/**
 * How HSD and vanilla differ: in tokens per call over all coins, and in time; "" without both of
 * them with one draft. If at temperature 0 both kept as many tokens in every run, that is said.
 * @param {Measured[]} every
 * @param {RaceCoins[]} coins
 */
function rules(every, coins) {
  const drafting = every.filter(({ oneDraft }) => oneDraft);
  const [vanilla, usual] = [facts.vanilla, facts.usual].map((rule) =>
    drafting.find(({ lane }) => lane.options.rule === rule),
  );
  if (!vanilla || !usual) return "";
  const kept = (/** @type {Measured} */ { rounds }) =>
    JSON.stringify(rounds.flat().map((run) => [run.prompt, run.repetition, run.kept_histogram]));
  if (vanilla.lane.options.temperature === 0 && kept(vanilla) === kept(usual))
    return tell("race_rules", { alike: true });
  const [slow, fast] = usual.range(vanilla);
  const costs = [usual, vanilla].map(({ speeds }) => median(speeds.map((speed) => 1e3 / speed)));
  const known = {
    level: slow <= 1 && fast >= 1,
    slow: fixed(slow),
    fast: fixed(fast),
    ratio: fixed(median(usual.speedups(vanilla))),
    seconds: signed(costs[0] - costs[1], 2),
  };
  const [above, below] = [usual, vanilla].map(({ lane }) =>
    coins.filter((drafts) => drafts.case === lane.name),
  );
  if (above.length < 2 || below.length < 2) return tell("race_rules", known);
  const without = above.map(
    (_, i) => perDraft(above.toSpliced(i, 1)) - perDraft(below.toSpliced(i, 1)),
  );
  const [more, low, high] = jackknife(perDraft(above) - perDraft(below), without).map((x) =>
    signed(x, 3),
  );
  return tell("race_rules", { ...known, more, low, high });
}

/** Tokens kept per draft over all coins. @param {RaceCoins[]} coins */
function perDraft(coins) {
  const kept = sum(coins.map((prompt) => prompt.kept));
  return kept / sum(coins.map((prompt) => prompt.drafts));
}

/**
 * How many target calls are saved, which does not depend on the machine. Lanes whose tokens per
 * call differ by chance are named together, so that no rule gets credit for luck.
 * @param {RaceRow[]} rows - plain decoding first
 */
function calls([, ...others]) {
  const lanes = others.toSorted((a, b) => b.tokens_per_call - a.tokens_per_call);
  if (!lanes.length) return tell("race_calls", { alone: true });
  const [best] = lanes;
  const reach = (/** @type {RaceRow} */ row) => student(row.steps - 1) * row.call_error;
  const alike = lanes.filter((row) => {
    const less = best.tokens_per_call - row.tokens_per_call;
    return less <= Math.hypot(reach(row), reach(best));
  });
  const shares = alike.map((row) => 100 - 100 / row.tokens_per_call);
  return tell("race_calls", {
    prompts: best.prompts,
    saved: best.tokens_per_call > 1,
    lanes: alike.length,
    names: named(alike),
    fewer: span(shares, 0),
  });
}

/** What the numbers rest on. @param {RaceRow[]} rows */
function basis(rows) {
  const [{ runs, prompts }] = rows;
  const tokens = rows.map((row) => row.tokens);
  return tell("race_basis", { prompts, runs, tokens: span(tokens, 0) });
}

/**
 * What a lane's calls cost, what a step cost and brought, and the speed-up if only the calls took
 * time.
 * @param {RaceRow} row
 * @param {RaceRow} reference - plain decoding's
 */
function laneSentence(row, reference) {
  const one = reference.target_call_ms;
  const ms = milliseconds(one);
  if (row === reference) return tell("race_lane", { plain: true, ms });
  const gain = row.tokens_per_call * row.calls_per_step;
  const cost = gain / row.speedup;
  const step = {
    ms,
    cost: fixed(cost, 2, gain),
    gain: fixed(gain, 2, cost),
    rate: percent(row.rate),
  };
  if (Number.isNaN(row.limit) || Number.isNaN(one)) return tell("race_lane", step);
  const inCalls = (/** @type {number | null} */ time) => (time ? fixed(time / one) : "");
  const levelled = row.below_ms !== null;
  const several = row.calls_per_step > 1 && !levelled; // of which the limit knows one
  const share = row.speedup / row.limit;
  return tell("race_lane", {
    ...step,
    check: inCalls(row.target_call_ms),
    below: inCalls(row.below_ms),
    draft: inCalls(row.draft_call_ms),
    limit: fixed(row.limit),
    share: percent(share),
    more: share > 1,
    calls: several ? fixed(row.calls_per_step) : "",
  });
}

export { calls, report };

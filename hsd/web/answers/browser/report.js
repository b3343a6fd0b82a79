// What a race's records say: a row for each lane, and a few sentences, as hsd/bench/race_report.py
// has them, for lanes with one draft of a model, with copies, or without drafts, on one prompt. A
// record is that of one timed run, see timed.js.
import { student } from "../../kit/format.js";
import { sum } from "../../rules/law.js";
import { listing, plain, say } from "../../step/fill.js";
import { copies } from "../../step/model.js";

const NOISE = 1.1; // times by which single runs differ by chance
const COUNTS = /** @type {const} */ ([
  "new_tokens",
  "target_calls",
  "steps",
  "drafted",
  "kept",
  "seconds",
]);
const sorted = (/** @type {number[]} */ numbers) => numbers.toSorted((a, b) => a - b);
const lower = (/** @type {number[]} */ numbers) => sorted(numbers)[(numbers.length - 1) >> 1];
const median = (/** @type {number[]} */ numbers) =>
  (lower(numbers) + sorted(numbers)[numbers.length >> 1]) / 2;
const most = (/** @type {number} */ x) => Math.max(x, 0);

/**
 * The passes of a model in some records; call(width): the median seconds of one over so many
 * tokens, NaN if there was none; typical: seconds a step, if each took the median of its width.
 * @param {LaneRecord[]} records
 * @param {"draft" | "target"} model
 */
function passesOf(records, model) {
  const each = records.map(({ calls }) => calls[model]);
  const widths = each.flatMap((calls) => Object.entries(calls.widths));
  /** @type {(width: number | string) => number} */
  const call = (width) =>
    median(widths.flatMap(([w, [, , middle]]) => (w === String(width) ? [middle] : [])));
  const first = sum(each.map((calls) => calls.first));
  const typical =
    sum(widths.map(([width, [count]]) => count * call(width))) /
    sum(records.map(({ steps }) => steps));
  return { call, first, typical, seconds: first + sum(widths.map(([, [, seconds]]) => seconds)) };
}

/** One lane's records, a round each, and what is made of them. */
class Measured {
  constructor(/** @type {Lane} */ lane, /** @type {LaneRecord[]} */ records) {
    this.copies = copies({ draft: lane.options });
    this.lane = lane;
    this.records = records;
    this.one = !this.copies && lane.options.gamma !== "auto"; // all drafts are of one length
    this.speeds = records.map(({ new_tokens: tokens, seconds }) => tokens / seconds);
    const totals = COUNTS.map((name) => [name, sum(records.map((record) => record[name]))]);
    this.total = /** @type {Record<typeof COUNTS[number], number>} */ (Object.fromEntries(totals));
    this.draft = passesOf(records, "draft");
    this.target = passesOf(records, "target");
  }

  /** Where the time goes, see hsd/bench/summary.py. */
  shares() {
    const { draft, target, records, total } = this;
    const [drafting, reading, verify] = /** @type {const} */ (["draft", "target", "verify"]).map(
      (part) => sum(records.map(({ time }) => time[part])),
    );
    const sampling =
      most(drafting - draft.seconds) + most(reading - (target.seconds - target.first));
    const rest = most(total.seconds - draft.seconds - target.seconds - verify - sampling);
    const seconds = { draft: draft.seconds, target: target.seconds, verify, sampling, rest };
    return Object.fromEntries(
      Object.entries(seconds).map(([part, x]) => [part, x / total.seconds]),
    );
  }

  /**
   * The standard error of tokens per target call, as if steps were drawn independently. Rounds
   * repeat each other.
   */
  callError() {
    const { steps, target_calls: calls } = this.total;
    const kept = this.records.flatMap(({ kept_histogram: counts }) => Object.entries(counts));
    const about = (/** @type {number} */ power, middle = 0) =>
      sum(kept.map(([x, count]) => count * (Number(x) - middle) ** power)) / steps;
    const freedom = steps / this.records.length - 1;
    return freedom > 0
      ? (Math.sqrt(about(2, about(1))) * steps) / calls / Math.sqrt(freedom)
      : Infinity;
  }

  /**
   * The lane's row of the table. limit: what the speed-up would be if nothing but the models'
   * passes took time.
   * @param {Measured} plain
   * @returns {TableRow}
   */
  row(plain) {
    const { records, total, target, draft } = this;
    const { gamma } = this.lane.options;
    const seconds = records.map((record) => record.seconds);
    const speedups = this.speeds.map((speed, i) => speed / plain.speeds[i]);
    const own = this !== plain;
    const speed = median(this.speeds);
    const speedup = speed / median(plain.speeds);
    const one = plain.target.call(1);
    const check = own && !this.one ? target.typical : target.call(own ? gamma + 1 : 1);
    const row = {
      case: this.lane.name,
      lossless: this.lane.lossless,
      runs: seconds.length,
      prompts: 1,
      tokens: lower(records.map((record) => record.new_tokens)),
      seconds: median(seconds),
      tokens_per_second: speed,
      replay: records[seconds.indexOf(lower(seconds))].repetition,
      shares: this.shares(),
      outside_ms_per_step: (1e3 * (total.seconds - target.seconds - draft.seconds)) / total.steps,
      target_call_ms: 1e3 * check,
      target_calls: lower(records.map((record) => record.target_calls)),
      calls_per_step: total.target_calls / total.steps,
      tokens_per_call: total.new_tokens / total.target_calls,
      call_error: this.callError(),
      steps: total.steps / records.length,
      speedup,
      speedups: [Math.min(...speedups), Math.max(...speedups)],
      ms_per_token: 1e3 / speed,
    };
    if (!own) return row;
    const [times, step] = this.one
      ? [total.target_calls, gamma * draft.call(1) + check]
      : [total.steps, check + draft.typical];
    const limit = (total.new_tokens * one) / times / step;
    const call = this.copies ? 0 : draft.call(1);
    const rate = total.kept / Math.max(total.drafted, 1);
    return { ...row, limit, efficiency: speedup / limit, rate, draft_call_ms: 1e3 * call };
  }

  /**
   * Whether it is faster than another by more than chance: in every round, or far in the only one.
   * @param {Measured} other
   */
  faster(other) {
    const every = this.speeds.map((speed, i) => speed / other.speeds[i]);
    return Math.min(...every) > (every.length > 1 ? 1 : NOISE);
  }
}

/**
 * The numbers of a race, of the rounds that all its timed lanes have ended; null before plain
 * decoding was timed.
 * @param {Lane[]} lanes
 * @param {LaneRecord[]} records
 */
function report(lanes, records) {
  const counted = records.filter(({ repetition }) => repetition > 0);
  const of = (/** @type {Lane} */ { name }) => counted.filter((record) => record.case === name);
  const timed = lanes.filter((lane) => of(lane).length);
  if (timed[0] !== lanes[0]) return null;
  const rounds = Math.min(...timed.map((lane) => of(lane).length));
  const every = timed.map((lane) => new Measured(lane, of(lane).slice(0, rounds)));
  const rows = every.map((one) => one.row(every[0]));
  for (const row of rows) row.sentence = why(row, rows[0]);
  const said = { verdict: verdict(every, rows), calls: calls(rows), basis: basis(rows) };
  // which has null for what is not finite
  return JSON.parse(JSON.stringify({ rows, served: [], ...said }));
}

// ---- sentences: hsd/trace/sentences.yaml has their words

const tell = (/** @type {string} */ name, /** @type {TableRow} */ known) => plain(say(name, known));

/** The lanes' names; those that are not lossless say so. @param {TableRow[]} rows */
function named(rows) {
  return listing(rows.map((row) => row.case + (row.lossless ? "" : " (not lossless)")));
}

/** Milliseconds with two or three digits; "" where there are none. @param {number} x */
const ms = (x) =>
  Number.isNaN(x) ? "" : x >= 100 ? Math.round(x).toLocaleString("en") : x.toFixed(x >= 1 ? 1 : 2);

/**
 * A number with so many decimals, or up to six where it would look like 0, 1, 100 or another, and
 * is not.
 * @param {number} x
 * @param {number} [digits]
 * @param {number[]} others
 */
function fixed(x, digits = 2, ...others) {
  const alike = (/** @type {number} */ n) =>
    [0, 1, 100, ...others].some((y) => x !== y && x.toFixed(n) === y.toFixed(n));
  return x.toFixed([0, 1, 2, 3, 4, 5, 6].find((n) => n >= digits && !alike(n)) ?? digits);
}

/** A share in per cent; "" where there is none. @param {number} share */
const percent = (share) => (Number.isNaN(share) ? "" : `${fixed(100 * share, 0)} %`);

/**
 * The smallest and the largest of some values, or one if they look the same.
 * @param {number[]} values
 * @param {number} digits
 */
const span = (values, digits) =>
  [...new Set([Math.min(...values), Math.max(...values)].map((x) => fixed(x, digits)))].join(
    " to ",
  );

/** Who is fastest, if that can be told. @param {Measured[]} every @param {TableRow[]} rows */
function verdict(every, rows) {
  const [reference] = every;
  const lanes = every
    .map((one, i) => ({ one, row: rows[i] }))
    .sort((a, b) => b.row.speedup - a.row.speedup);
  const winners = lanes.filter(({ one }) => one.faster(reference));
  const close = winners.filter(({ one }) => one === winners[0].one || !winners[0].one.faster(one));
  const shown = close.length ? close : lanes.filter(({ one }) => one !== reference).slice(0, 1);
  if (!shown.length) return tell("race verdict", { alone: true });
  const [{ one, row }] = shown;
  const [slowest, quickest] = row.speedups.map((/** @type {number} */ x) => fixed(x));
  const names = named(shown.map((lane) => lane.row));
  const speedups = shown.map((lane) => lane.row.speedup);
  const counts = {
    winners: winners.length,
    lanes: close.length,
    slower: reference.faster(one),
    runs: row.runs,
  };
  return tell("race verdict", { ...counts, slowest, quickest, names, speeds: span(speedups, 2) });
}

/**
 * The target calls that are saved. Lanes that differ by chance are named together.
 * @param {TableRow[]} rows
 */
function calls([, ...others]) {
  const lanes = others.toSorted((one, other) => other.tokens_per_call - one.tokens_per_call);
  if (!lanes.length) return tell("race calls", { alone: true });
  const [best] = lanes;
  const reach = (/** @type {TableRow} */ { steps, call_error: error }) =>
    student(steps - 1) * error;
  const alike = lanes.filter(
    (row) => best.tokens_per_call - row.tokens_per_call <= Math.hypot(reach(row), reach(best)),
  );
  const shares = alike.map((row) => 100 - 100 / row.tokens_per_call);
  const saved = best.tokens_per_call > 1;
  return tell("race calls", {
    prompts: 1,
    saved,
    lanes: alike.length,
    names: named(alike),
    fewer: span(shares, 0),
  });
}

/** What the numbers rest on. @param {TableRow[]} rows */
function basis(rows) {
  const tokens = rows.map((row) => row.tokens);
  return tell("race basis", { prompts: 1, runs: rows[0].runs, tokens: span(tokens, 0) });
}

/** What a lane's calls cost, what a step cost and brought, and what the calls alone would allow.
 * @param {TableRow} row @param {TableRow} reference */
function why(row, reference) {
  const one = reference.target_call_ms;
  if (row === reference) return tell("race lane", { plain: true, ms: ms(one) });
  const gain = row.tokens_per_call * row.calls_per_step;
  const cost = gain / row.speedup;
  const step = {
    ms: ms(one),
    cost: fixed(cost, 2, gain),
    gain: fixed(gain, 2, cost),
    rate: percent(row.rate),
  };
  if (Number.isNaN(row.limit) || Number.isNaN(one)) return tell("race lane", step);
  const draft = row.draft_call_ms > 0 ? fixed(row.draft_call_ms / one) : "";
  const costs = { draft, check: fixed(row.target_call_ms / one), limit: fixed(row.limit) };
  const share = row.speedup / row.limit;
  const several = row.calls_per_step > 1 ? fixed(row.calls_per_step) : "";
  return tell("race lane", {
    ...step,
    ...costs,
    share: percent(share),
    more: share > 1,
    calls: several,
  });
}

export { median, report };

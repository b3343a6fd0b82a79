// What a race's records say: a row for each lane, and a few sentences, as hsd/bench/race_report.py has them, for lanes with
// one draft of a model, with copies, or without drafts, on one prompt. A record is that of one timed run, see timed.js.
import { student } from "../../kit/format.js";
import { range, sum } from "../../rules/law.js";

const NOISE = 1.1; // times by which single runs differ by chance
const MARGIN = 1.02; // what a share of the time explains, it explains about to this factor
const PARTS = ["draft", "target", "verify"];
const sorted = (numbers) => numbers.toSorted((a, b) => a - b);
const lower = (numbers) => sorted(numbers)[(numbers.length - 1) >> 1];
const median = (numbers) => (lower(numbers) + sorted(numbers)[numbers.length >> 1]) / 2;
const most = (x) => Math.max(x, 0);

/** One lane's records, a round each, and what is made of them. */
class Measured {
  /** lane: {name, options, lossless}. */
  constructor(lane, records) {
    const { proposer, gamma } = lane.options;
    Object.assign(this, { lane, records, one: proposer !== "ngram" && gamma !== "auto" }); // of one length
    this.speeds = records.map(({ new_tokens: tokens, seconds }) => tokens / seconds);
  }

  total(name) {
    return sum(this.records.map((record) => record[name]));
  }

  ratio(above, below) {
    return this.total(below) ? this.total(above) / this.total(below) : 0;
  }

  /** The median seconds of a pass over so many tokens; NaN if there was none. */
  call(model, width) {
    return median(this.records.flatMap(({ calls }) => calls[model].widths[width]?.slice(2) ?? []));
  }

  /** Seconds of all passes of a model. */
  passes(model) {
    const of = ({ first, widths }) => first + sum(Object.values(widths).map(([, seconds]) => seconds));
    return sum(this.records.map(({ calls }) => of(calls[model])));
  }

  /** Seconds a step of a model's passes, if each took the median of its width. */
  typical(model) {
    const counts = this.records.flatMap(({ calls }) => Object.entries(calls[model].widths));
    return sum(counts.map(([width, [count]]) => count * this.call(model, width))) / this.total("steps");
  }

  /** What the speed-up would be if nothing but the models' passes took time. */
  limit(plain) {
    const { gamma } = this.lane.options;
    const [tokens, seconds] = this.one
      ? [this.ratio("new_tokens", "target_calls"), gamma * this.call("draft", 1) + this.call("target", gamma + 1)]
      : [this.ratio("new_tokens", "steps"), this.typical("target") + this.typical("draft")];
    return (tokens * plain.call("target", 1)) / seconds;
  }

  /** Where the time goes, see hsd/bench/summary.py. */
  shares() {
    const seconds = this.total("seconds");
    const [draft, target, verify] = PARTS.map((part) => sum(this.records.map(({ time }) => time[part])));
    const [drafting, reading] = ["draft", "target"].map((model) => this.passes(model));
    const first = sum(this.records.map(({ calls }) => calls.target.first));
    const sampling = most(draft - drafting) + most(target - (reading - first));
    const rest = most(seconds - drafting - reading - verify - sampling);
    const found = { draft: drafting, target: reading, verify, sampling, rest };
    return Object.fromEntries(Object.entries(found).map(([part, x]) => [part, x / seconds]));
  }

  /** The standard error of tokens per target call, as if steps were drawn independently. Rounds repeat each other. */
  callError() {
    const steps = this.total("steps");
    const kept = this.records.flatMap(({ kept_histogram: counts }) => Object.entries(counts));
    const about = (power, middle = 0) => sum(kept.map(([x, count]) => count * (x - middle) ** power)) / steps;
    const spread = Math.sqrt(about(2, about(1)));
    const freedom = steps / this.records.length - 1;
    return freedom > 0 ? (spread * steps) / this.total("target_calls") / Math.sqrt(freedom) : Infinity;
  }

  row(plain) {
    const [seconds, gamma] = [this.records.map((record) => record.seconds), this.lane.options.gamma];
    const speedups = this.speeds.map((speed, i) => speed / plain.speeds[i]);
    const [own, speed] = [this !== plain, median(this.speeds)];
    const speedup = speed / median(plain.speeds);
    const limit = own ? this.limit(plain) : null;
    const call = own && !this.one ? this.typical("target") : this.call("target", own ? gamma + 1 : 1);
    const outside = this.total("seconds") - this.passes("target") - this.passes("draft");
    const row = {
      case: this.lane.name,
      lossless: this.lane.lossless,
      runs: seconds.length,
      prompts: 1,
      tokens: lower(this.records.map((record) => record.new_tokens)),
      seconds: median(seconds),
      tokens_per_second: speed,
      replay: this.records[seconds.indexOf(lower(seconds))].repetition,
      shares: this.shares(),
      outside_ms_per_step: (1e3 * outside) / this.total("steps"),
      target_call_ms: 1e3 * call,
      target_calls: lower(this.records.map((record) => record.target_calls)),
      calls_per_step: this.ratio("target_calls", "steps"),
      tokens_per_call: this.ratio("new_tokens", "target_calls"),
      call_error: this.callError(),
      steps: this.total("steps") / this.records.length,
      speedup,
      speedups: [Math.min(...speedups), Math.max(...speedups)],
      ms_per_token: 1e3 / speed,
    };
    if (!own) return row;
    const draft = this.lane.options.proposer === "ngram" ? 0 : 1e3 * this.call("draft", 1);
    return { ...row, limit, efficiency: speedup / limit, draft_call_ms: draft, rate: this.ratio("kept", "drafted") };
  }

  /** Whether it is faster than another by more than chance: in every round, or far in the only one. */
  faster(other) {
    const every = this.speeds.map((speed, i) => speed / other.speeds[i]);
    return Math.min(...every) > (every.length > 1 ? 1 : NOISE);
  }
}

/** The numbers of a race, of the rounds that all its timed lanes have ended; null before plain decoding was timed. */
function report(lanes, records) {
  const counted = records.filter(({ repetition }) => repetition > 0);
  const of = ({ name }) => counted.filter((record) => record.case === name);
  const timed = lanes.filter((lane) => of(lane).length);
  if (timed[0] !== lanes[0]) return null;
  const rounds = Math.min(...timed.map((lane) => of(lane).length));
  const every = timed.map((lane) => new Measured(lane, of(lane).slice(0, rounds)));
  const rows = every.map((one) => one.row(every[0]));
  for (const row of rows) row.sentence = why(row, rows[0]);
  const said = { verdict: verdict(every, rows), calls: calls(rows), basis: basis(rows[0], rows) };
  const plain = (x) => (typeof x === "number" && !Number.isFinite(x) ? null : x);
  return JSON.parse(JSON.stringify({ rows, served: [], ...said }, (_, x) => plain(x)));
}

// ---- sentences

const named = (row) => row.case + (row.lossless ? "" : " (not lossless)");
const listed = (names) => (names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names[0]);
const times = ({ speedup }) => `${fixed(speedup)} ×`;
const ms = (x) => (x >= 100 ? Math.round(x).toLocaleString("en") : x.toFixed(x >= 1 ? 1 : 2));
const between = ({ speedups: [low, high], runs }) =>
  runs > 1 ? ` (${fixed(low)}–${fixed(high)} in ${runs} rounds)` : "";

/** A number with so many decimals, or up to six where it would look like 0, 1, 100 or another, and is not. */
function fixed(x, digits = 2, ...others) {
  const alike = (n) => [0, 1, 100, ...others].some((y) => x !== y && x.toFixed(n) === y.toFixed(n));
  return x.toFixed([0, 1, 2, 3, 4, 5, 6].find((n) => n >= digits && !alike(n)) ?? digits);
}

const percent = (share) => `${fixed(100 * share, 0)} %`;

/** The smallest and the largest of values that fall, or one if they look the same. */
function span(values, digits) {
  const [high, low] = [values[0], values.at(-1)].map((x) => fixed(x, digits));
  return low === high ? low : `${low} to ${high}`;
}

/** Who is fastest, if that can be told. */
function verdict(every, rows) {
  if (every.length === 1) return "Only plain decoding was timed.";
  const [plain] = every;
  const lanes = range(every.length).map((i) => [every[i], rows[i]]);
  lanes.sort((one, other) => other[1].speedup - one[1].speedup);
  const winners = lanes.filter(([one]) => one.faster(plain));
  if (!winners.length) {
    const [best, row] = lanes.find(([one]) => one !== plain);
    const speed = `${times(row)} the speed of plain decoding`;
    if (plain.faster(best)) return `Drafting does not pay here: ${named(row)} comes nearest, with ${speed}.`;
    return `No lane is faster by more than chance: ${named(row)} has ${speed}${between(row)}.`;
  }
  const [[first]] = winners;
  const close = winners.filter(([one]) => one === first || !first.faster(one)).map(([, row]) => row);
  if (close.length === 1) return `${named(close[0])} is the fastest: ${times(close[0])} the speed of plain decoding.`;
  const speeds = span(
    close.map((row) => row.speedup),
    2,
  );
  return `${listed(close.map(named))} are faster than plain decoding, ${speeds} ×; which of them is the fastest may be chance.`;
}

/** The target calls that are saved. Lanes that differ by chance are named together. */
function calls([, ...others]) {
  if (!others.length) return "Plain decoding makes one call for every token.";
  const lanes = others.toSorted((one, other) => other.tokens_per_call - one.tokens_per_call);
  const [best] = lanes;
  if (best.tokens_per_call <= 1) return "No lane saves target calls on this prompt and seed.";
  const reach = ({ steps, call_error: error }) => student(steps - 1) * error;
  const near = (row) => best.tokens_per_call - row.tokens_per_call <= Math.hypot(reach(row), reach(best));
  const alike = lanes.filter(near);
  const fewer = span(
    alike.map((row) => 100 - 100 / row.tokens_per_call),
    0,
  );
  const several = alike.length > 1;
  const luck = several ? "; how these lanes differ may be chance" : "";
  const need = `need${several ? "" : "s"} ${fewer} % fewer target calls than plain decoding`;
  return `${listed(alike.map(named))} ${need} on this prompt and seed${luck}. This holds on any hardware.`;
}

/** What the numbers rest on. */
function basis({ runs }, rows) {
  const [least, ...more] = sorted([...new Set(rows.map((row) => row.tokens))]);
  const many = more.length ? `${least} to ${more.at(-1)}` : least;
  const timed =
    runs === 1
      ? "one timed run per lane, so differences of 10 % may be noise"
      : `medians of ${runs} timed runs per lane, in turn; faster means faster in every one`;
  return `One prompt, one seed, ${many} new tokens per lane, after a warm-up that does not count; ${timed}.`;
}

/** What a lane's calls cost, what a step cost and brought, and what the calls alone would allow. */
function why(row, plain) {
  const one = plain.target_call_ms;
  if (row === plain) return `One target call${Number.isNaN(one) ? "" : ` of ${ms(one)} ms`} for every token.`;
  const tokens = row.tokens_per_call * row.calls_per_step;
  const kept = Number.isNaN(row.rate) ? "" : ` (${percent(row.rate)} of its drafts kept)`;
  const cost = tokens / row.speedup;
  const step = `A step took as long as ${fixed(cost, 2, tokens)} tokens of plain decoding and brought ${fixed(tokens, 2, cost)}${kept}`;
  if (Number.isNaN(row.limit) || Number.isNaN(one))
    return `${step}; the run is too short to say what its calls alone allow.`;
  const check = `a check ${fixed(row.target_call_ms / one)} of a target call (${ms(one)} ms)`;
  const drafting =
    row.draft_call_ms > 0
      ? `A draft call costs ${fixed(row.draft_call_ms / one)} and ${check}`
      : `A copied draft costs nothing and ${check}`;
  return `${drafting}. ${step}. The calls alone allow ${fixed(row.limit)} ×${reached(row, plain)}.`;
}

/** What was reached of the limit, and why it can be more. */
function reached(row, plain) {
  const excess = row.speedup / row.limit;
  if (row.calls_per_step > 1)
    return ` if each step made one target call, but this rule makes ${fixed(row.calls_per_step)}`;
  if (excess <= 1) return `, of which ${percent(excess)} is reached`;
  const [own, theirs] = [row, plain].map(({ shares }) => 1 - shares.draft - shares.target);
  if (percent(own) !== percent(theirs) && excess <= (MARGIN * (1 - own)) / (1 - theirs))
    return `; more was reached, as plain decoding spends more of its time outside its calls (${percent(theirs)} against ${percent(own)})`;
  return "; more was reached, as calls do not all take their median time";
}

export { median, report };

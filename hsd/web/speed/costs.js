// Should drafting be switched on? What two rules give per pass at every draft length, times what
// passes cost. Pure.
import { facts } from "../kit/facts.js";
import { percent } from "../kit/format.js";
import { sum } from "../kit/statistics.js";
import { chances } from "../step/rejudge.js";
import { plain, say } from "../step/sentences.js";
import { readAlone } from "../step/model.js";
import { hasTexts, isEstimate, LINE, ofEstimate, ofTexts } from "./estimate.js";
import { jackknife } from "./intervals.js";

const OPENS =
  "a trace, a benchmark's file with vanilla and HSD, log-probabilities of texts that your target " +
  `wrote (${LINE} a line), or the output of hsd estimate --json`;
const RULES = [facts.vanilla, facts.usual];
/** Tokens per pass of some texts together. @param {Given[]} given */
function rate(given) {
  const tokens = sum(given.map((text) => text[0]));
  return tokens / sum(given.map((text) => text[1]));
}

// ---- what a call costs, in passes over one token

/**
 * Costs where each further token of a pass costs the same.
 * @type {(more: number, drafted: number) => Costs}
 */
function even(more, drafted) {
  const pass = (/** @type {number} */ width) => 1 + more * (width - 1);
  return { drafted, pass };
}

/**
 * Measured costs in which further tokens of a pass, and drafted ones, cost more or less: the shape
 * of the curve stays.
 * @type {(costs: Costs, more: number, drafted: number) => Costs}
 */
function scaled(costs, more, drafted) {
  const times = more / further(costs);
  const pass = (/** @type {number} */ width) => 1 + times * (costs.pass(width) - 1);
  return Number.isFinite(times) ? { drafted, pass } : even(more, drafted);
}

/**
 * Costs from measured milliseconds: of passes by their width, on straight lines between them, and
 * of a drafted token ("draft").
 * @type {(times: Record<string, number>) => Costs}
 */
function costsOf({ draft, ...widths }) {
  const known = Object.keys(widths).map(Number); // whole numbers stand in their order
  const pass = (/** @type {number} */ width) => {
    const widest = known[known.length - 1];
    const next = known.find((own) => own >= width && own > 1) ?? widest;
    const last = known[known.indexOf(next) - 1];
    const slope = (widths[next] - widths[last]) / (next - last);
    return (widths[last] + slope * (width - last)) / widths[1];
  };
  return { drafted: draft / widths[1], pass };
}

/** What a further token of a pass costs on average, up to nine. @param {Costs} costs */
const further = ({ pass }) => (pass(9) - 1) / 8;

/**
 * How many times as fast as plain decoding these tokens per pass are.
 * @type {(tokens: number, gamma: number, costs: Costs) => number}
 */
function speedup(tokens, gamma, { pass, drafted }) {
  const cost = pass(gamma + 1) + gamma * drafted;
  return tokens / cost;
}

// ---- two rules at one draft length

/**
 * The tokens per pass of one rule over those of another, with the 95 % interval over texts, by
 * leaving out each text in turn.
 * @type {(above: Given[], below: Given[]) => Interval}
 */
function over(above, below) {
  const without = above.map((_, i) => {
    const rest = rate(above.toSpliced(i, 1));
    return rest / rate(below.toSpliced(i, 1));
  });
  return jackknife(rate(above) / rate(below), without);
}

/**
 * Every draft length with both rules' speed-ups and the ratio of their tokens per pass. share: which
 * of the speed-up that the passes alone allow is reached.
 * @type {(rows: LengthRow[], costs: Costs, share?: number) => CalculatorPoint[]}
 */
const points = (rows, costs, share = 1) =>
  rows.map(({ gamma, given }) => {
    const speeds = RULES.map((name) => share * speedup(rate(given[name]), gamma, costs));
    return { gamma, speeds, ratio: over(given[facts.usual], given[facts.vanilla]) };
  });

/**
 * The point with the highest value, the first of equals.
 * @type {(points: CalculatorPoint[], value: (point: CalculatorPoint) => number) => CalculatorPoint}
 */
const highest = (points, value) =>
  points.reduce((top, point) => (value(point) > value(top) ? point : top));

/**
 * The answer in one sentence. costs: their name in the sentence; share: see `points`.
 * @type {(points: CalculatorPoint[], costs: string, share?: number) => string}
 */
function answer(points, costs, share) {
  const [vanilla, usual] = RULES.map((_, i) => {
    const { gamma, speeds } = highest(points, (point) => point.speeds[i]);
    return { gamma, speed: speeds[i].toFixed(2), pays: speeds[i] > 1 };
  });
  const paying = points.filter(({ speeds }) => Math.max(...speeds) > 1);
  const apart = paying.filter(({ ratio: [, low, high] }) => low > 1 || high < 1);
  const alike = paying.filter((point) => !apart.includes(point));
  const most = apart.length ? highest(apart, ({ ratio }) => ratio[0]) : null;
  const [ratio, low, high] = (most?.ratio ?? []).map((x) => x.toFixed(2));
  const values = {
    pays: vanilla.pays || usual.pays,
    costs,
    share: share ? percent(share) : null,
    vanilla,
    usual,
    none: !apart.length,
    all: !alike.length,
    level: alike.map(({ gamma }) => gamma).join(", "),
    gamma: most?.gamma,
    ratio,
    low,
    high,
  };
  return plain(say("calculator", values));
}

// ---- where the rows come from: samples of one rule at one draft length on one text

/**
 * Rows of the draft lengths that both rules have, their samples summed by text.
 * @type {(samples: Sample[]) => LengthRow[]}
 */
function gathered(samples) {
  /** @type {(texts: Sample[]) => Given} */
  const total = (texts) => [
    sum(texts.map(({ tokens }) => tokens)),
    sum(texts.map(({ passes }) => passes)),
  ];
  const given = (/** @type {Sample[]} */ all, /** @type {string} */ name) => {
    const own = all.filter(({ rule }) => rule === name);
    const texts = Map.groupBy(own, ({ text }) => text);
    return [...texts.values()].map(total);
  };
  const lengths = Map.groupBy(samples, ({ gamma }) => gamma);
  const rows = [...lengths].map(([gamma, all]) => {
    const byRule = RULES.map((name) => [name, given(all, name)]);
    return { gamma, given: Object.fromEntries(byRule) };
  });
  return rows
    .filter((row) => RULES.every((name) => rate(row.given[name]) > 0))
    .sort((a, b) => a.gamma - b.gamma);
}

/**
 * The mean number that a rule keeps of the first t tokens of a step's draft, over all coins.
 * @type {(step: Step, options: StepOptions, t: number, rule: string) => number}
 */
function keptOf(step, options, t, rule) {
  const verdict = {
    rule,
    kept: 0,
    decisions: [],
    changes: [],
    residual: null,
    next: null,
  };
  const cut = {
    ...step,
    nodes: step.nodes.slice(0, t),
    branches: step.branches.filter(({ node }) => node <= t),
    verdict,
    shadow: null,
    kept_law: {},
    drafted: t,
    depth: t,
  };
  const law = chances(readAlone(/** @type {any} */ (cut), options), rule);
  return law ? sum(law.map((chance, kept) => kept * chance)) : Number.NaN;
}

/**
 * Samples of what both rules keep of a run's drafts, and of these cut to fewer tokens; each draft
 * counts as a text.
 * @type {(trace: Trace) => Sample[]}
 */
function ofTrace({ steps, setup: { options } }) {
  const samples = /** @type {Sample[]} */ ([]);
  const single = steps.filter(({ nodes, paths }) => nodes.length && paths.length === 1);
  for (const [text, step] of single.entries())
    for (let gamma = 1; gamma <= step.nodes.length; gamma += 1)
      for (const rule of RULES) {
        const tokens = 1 + keptOf(step, options, gamma, rule);
        samples.push({ gamma, rule, text, tokens, passes: 1 });
      }
  return samples;
}

const CHAIN = { drafts: 1, proposer: "model", system: "speculative" };

/** Samples of what a benchmark measured. @type {(lines: Values[]) => Sample[]} */
function ofBenchmark([{ cases = [] }, ...records]) {
  const known = new Map(cases.map((/** @type {Values} */ { name, options }) => [name, options]));
  const samples = /** @type {Sample[]} */ ([]);
  for (const { case: name, prompt: text, new_tokens: tokens, target_calls: passes } of records) {
    const { rule, gamma, ...own } = known.get(name) ?? {};
    const isChain = Object.entries(CHAIN).every(
      ([option, value]) => (own[option] ?? value) === value,
    );
    if (isChain && RULES.includes(rule) && Number.isInteger(gamma))
      samples.push({ gamma, rule, text, tokens, passes });
  }
  return samples;
}

/** Samples of a file that is no trace. @param {Values[]} values */
function ofLines(values) {
  const [first = {}] = values;
  if (isEstimate(first)) return ofEstimate(first);
  return hasTexts(first) ? ofTexts(values) : ofBenchmark(values);
}

/**
 * The rows of anybody's file. Throws an Error with a line where it has none.
 * @type {(text: string) => LengthRow[]}
 */
function opened(text) {
  const isTrace = /^\s*\{\s*"trace_version"/.test(text);
  const lines = isTrace ? [text] : text.trim().split("\n");
  const values = lines.flatMap((line) => (line.trim() ? JSON.parse(line) : []));
  const rows = gathered(isTrace ? ofTrace(values[0]) : ofLines(values));
  if (!rows.length) throw new Error(`it has no drafts by both rules: open ${OPENS}`);
  return rows;
}

export { answer, costsOf, even, further, gathered, OPENS, opened, points, RULES, scaled };

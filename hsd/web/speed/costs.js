// Should drafting be switched on? What two rules give per pass at every draft length, times what passes cost. Pure.
import { facts } from "../kit/facts.js";
import { student } from "../kit/format.js";
import { chances } from "../step/again.js";
import { plain, say } from "../step/fill.js";
import { readAlone } from "../step/model.js";

const OPENS = "a trace, or a benchmark's file with vanilla and HSD at one draft length or more";
const RULES = [facts.vanilla, facts.usual];
const sum = (/** @type {number[]} */ numbers) => numbers.reduce((total, x) => total + x, 0);
/** Tokens per pass of some texts together. @param {Given[]} given */
const rate = (given) => sum(given.map(([tokens]) => tokens)) / sum(given.map(([, passes]) => passes));

// ---- what a call costs, in passes over one token

/** Passes that grow by as much with each further token. @type {(more: number, drafted: number) => Costs} */
const even = (more, drafted) => ({ drafted, pass: (width) => 1 + more * (width - 1) });

/** Costs from milliseconds by width, on straight lines between them, and of a drafted token ("draft"). @type {(times: Record<string, number>) => Costs} */
function costsOf({ draft, ...widths }) {
  const known = Object.keys(widths).map(Number); // whole numbers stand in their order
  const pass = (/** @type {number} */ width) => {
    const next = known.find((own) => own >= width && own > 1) ?? known[known.length - 1];
    const last = known[known.indexOf(next) - 1];
    const slope = (widths[next] - widths[last]) / (next - last);
    return (widths[last] + slope * (width - last)) / widths[1];
  };
  return { drafted: draft / widths[1], pass };
}

/** What a further token of a pass costs on average, up to nine. @param {Costs} costs */
const further = ({ pass }) => (pass(9) - 1) / 8;

/** How many times as fast as plain decoding. @type {(tokens: number, gamma: number, costs: Costs) => number} */
const speedup = (tokens, gamma, costs) => tokens / (costs.pass(gamma + 1) + gamma * costs.drafted);

// ---- two rules at one draft length

/** One ratio of tokens per pass over another with its 95 % interval over texts, by leaving out each in turn. @type {(above: Given[], below: Given[]) => Interval} */
function over(above, below) {
  const value = rate(above) / rate(below);
  const count = above.length;
  const without = above.map((_, i) => rate(above.toSpliced(i, 1)) / rate(below.toSpliced(i, 1)));
  const middle = sum(without) / count;
  const error = Math.sqrt(((count - 1) / count) * sum(without.map((x) => (x - middle) ** 2)));
  const half = count > 1 ? student(count - 1) * error : 0;
  return [value, value - half, value + half];
}

/** Every draft length with both rules' speed-ups and the ratio of their tokens per pass. @type {(rows: LengthRow[], costs: Costs) => CalculatorPoint[]} */
const points = (rows, costs) =>
  rows.map(({ gamma, given }) => {
    const speeds = RULES.map((name) => speedup(rate(given[name]), gamma, costs));
    return { gamma, speeds, ratio: over(given[facts.usual], given[facts.vanilla]) };
  });

/** The answer in one sentence. costs: their name in the sentence. @type {(points: CalculatorPoint[], costs: string) => string} */
function answer(points, costs) {
  const best = RULES.map((_, i) => points.reduce((top, point) => (point.speeds[i] > top.speeds[i] ? point : top)));
  const [vanilla, usual] = best.map((point, i) => ({ gamma: point.gamma, speed: point.speeds[i].toFixed(2) }));
  const apart = points.filter(({ ratio: [, low, high] }) => low > 1 || high < 1);
  const level = points.filter((point) => !apart.includes(point)).map(({ gamma }) => gamma);
  const most = apart.reduce((top, point) => (point.ratio[0] > top.ratio[0] ? point : top), apart[0]);
  const [ratio, low, high] = (most?.ratio ?? []).map((x) => x.toFixed(2));
  const pays = Math.max(best[0].speeds[0], best[1].speeds[1]) > 1;
  const known = { pays, costs, vanilla, usual, none: !apart.length, all: !level.length, level: level.join(", ") };
  return plain(say("calculator", { ...known, gamma: most?.gamma, ratio, low, high }));
}

// ---- where the rows come from: samples of one rule at one draft length on one text

/** Rows of the draft lengths that both rules have, their samples summed by text. @type {(samples: Sample[]) => LengthRow[]} */
function gathered(samples) {
  const given = (/** @type {Sample[]} */ own, /** @type {string} */ name) => {
    const texts = [...Map.groupBy(own, ({ rule, text }) => rule === name && text)].filter(([text]) => text !== false);
    const total = (/** @type {Sample[]} */ all, /** @type {"tokens" | "passes"} */ what) =>
      sum(all.map((one) => one[what]));
    return texts.map(([, all]) => /** @type {Given} */ ([total(all, "tokens"), total(all, "passes")]));
  };
  return [...Map.groupBy(samples, ({ gamma }) => gamma)]
    .map(([gamma, own]) => ({ gamma, given: Object.fromEntries(RULES.map((name) => [name, given(own, name)])) }))
    .filter((row) => RULES.every((name) => row.given[name].length && rate(row.given[name]) > 0))
    .sort((one, other) => one.gamma - other.gamma);
}

/** The mean number that a rule keeps of the first t tokens of a step's draft, over all coins. @type {(step: Step, options: StepOptions, t: number, rule: string) => number} */
function keptOf(step, options, t, rule) {
  const verdict = { rule, kept: 0, decisions: [], changes: [], residual: null, next: null };
  const [nodes, branches] = [step.nodes.slice(0, t), step.branches.filter(({ node }) => node <= t)];
  const cut = { ...step, nodes, branches, verdict, shadow: null, kept_law: {}, drafted: t, depth: t };
  const law = chances(readAlone(/** @type {any} */ (cut), options), rule);
  return law ? sum(law.map((chance, kept) => kept * chance)) : Number.NaN;
}

/** What both rules keep of a run's drafts, and of these cut to fewer tokens; each draft is a text. @type {(trace: Trace) => Sample[]} */
const ofTrace = ({ steps, setup: { options } }) =>
  steps
    .filter(({ nodes, paths }) => nodes.length && paths.length === 1)
    .flatMap((step, text) =>
      step.nodes.flatMap((_, i) =>
        RULES.map((rule) => ({ gamma: i + 1, rule, text, tokens: 1 + keptOf(step, options, i + 1, rule), passes: 1 })),
      ),
    );

/** What a benchmark measured. @type {(lines: Values[]) => Sample[]} */
function ofBenchmark([{ cases = [] }, ...records]) {
  const known = new Map(cases.map((/** @type {Values} */ { name, options }) => [name, options]));
  const chain = { drafts: 1, proposer: "model", system: "speculative" };
  return records.flatMap(({ case: name, prompt: text, new_tokens: tokens, target_calls: passes }) => {
    const { rule, gamma, ...own } = known.get(name) ?? {};
    const one = Object.entries(chain).every(([option, value]) => (own[option] ?? value) === value);
    return one && RULES.includes(rule) && Number.isInteger(gamma) ? [{ gamma, rule, text, tokens, passes }] : [];
  });
}

/** The rows of anybody's file. Throws an Error with a line where it has none. @type {(text: string) => LengthRow[]} */
function opened(text) {
  const trace = /^\s*\{\s*"trace_version"/.test(text);
  const lines = (trace ? "" : text.trim()).split("\n").flatMap((line) => (line ? JSON.parse(line) : []));
  const rows = gathered(trace ? ofTrace(JSON.parse(text)) : ofBenchmark(lines));
  if (!rows.length) throw new Error(`it has no drafts by both rules: open ${OPENS}`);
  return rows;
}

export { answer, costsOf, even, further, gathered, OPENS, opened, over, points, RULES, speedup };

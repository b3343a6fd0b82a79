// Both rules over a whole run, in numbers: what each keeps of the drafts, with these coins and over
// all coins, and where two texts part. Pure.
import { rule as ruleInfo } from "../kit/facts.js";
import { number } from "../kit/format.js";
import { student, sum } from "../kit/statistics.js";
import { plain, say } from "./sentences.js";

/** The tokens that a step wrote. @param {Step} step */
const ids = (step) => step.committed.map(({ token }) => token);

/**
 * How many tokens of these drafts a rule keeps on average over all coins; null where a step does
 * not tell.
 * @type {(steps: Step[], rule: string) => number | null}
 */
function mean(steps, rule) {
  const means = steps.map((step) => (step.drafted ? step.expected_kept[rule] : 0));
  return steps.length && means.every((kept) => kept !== undefined) ? sum(means) : null;
}

/**
 * Half the width of the 95 % interval of how many tokens one rule keeps per step more than the
 * other, over all coins; null for fewer than ten steps.
 * @type {(steps: Step[], sides: {rule: string}[]) => number | null}
 */
function spread(steps, [{ rule: own }, { rule: second }]) {
  const count = steps.length;
  if (count < 10) return null;
  const gaps = steps.map(({ drafted, expected_kept: kept }) =>
    drafted ? kept[own] - kept[second] : 0,
  );
  const center = sum(gaps) / count;
  const squares = gaps.map((gap) => (gap - center) ** 2);
  const variance = sum(squares) / (count - 1);
  return student(count - 1) * Math.sqrt(variance / count);
}

/**
 * What the steps of a run came to; mean: of a rule.
 * @type {(steps: Step[], rule?: string) => RuleSums}
 */
const ran = (steps, rule = "") => ({
  rule,
  drafted: sum(steps.map((step) => step.drafted)),
  kept: sum(steps.map((step) => step.kept)),
  mean: mean(steps, rule),
  tokens: sum(steps.map((step) => step.committed.length)),
  calls: sum(steps.map((step) => step.target_calls)),
});

/**
 * A run and, where a second rule judged its steps too, what that one would have kept and drawn at
 * each, in one target call. more: steps in which it keeps more than the other.
 * @type {(run: Pick<Trace, "steps">) => RuleSums[]}
 */
function compare({ steps }) {
  const both = steps.flatMap(({ shadow, ...step }) => (shadow ? { ...step, shadow } : []));
  if (!both.length) return [];
  const own = both[0].verdict?.rule ?? "";
  const second = both[0].shadow.rule;
  const shadowed = both.map(({ shadow: { kept, next }, ...step }) => ({
    ...step,
    kept,
    committed: new Array(next ? kept + 1 : kept),
    target_calls: 1,
    shadow: null,
  }));
  /** @type {(a: Step[], b: Step[]) => number} */
  const more = (a, b) => a.filter(({ kept }, i) => kept > b[i].kept).length;
  const run = { ...ran(both, own), more: more(both, shadowed) };
  if (own === second) return [run];
  const shadow = { ...ran(shadowed, second), more: more(shadowed, both) };
  return [run, shadow];
}

/**
 * What the steps of a run by this rule came to; null before its first step.
 * @type {(run: Pick<Trace, "steps">, rule: string) => RuleSums | null}
 */
const alone = ({ steps }, rule) => (steps.length ? ran(steps, rule) : null);

/**
 * The first step that two runs make after different texts; null while there is none.
 * @type {(a: Pick<Trace, "steps">, b: Pick<Trace, "steps">) => number | null}
 */
function parting(a, b) {
  const both = Math.min(a.steps.length, b.steps.length);
  for (let i = 1; i < both; i += 1) {
    const before = ids(a.steps[i - 1]).join();
    if (before !== ids(b.steps[i - 1]).join()) return i;
  }
  return null;
}

/**
 * Whether both runs wrote the same tokens.
 * @type {(a: Pick<Trace, "steps">, b: Pick<Trace, "steps">) => boolean}
 */
function sameText(a, b) {
  const text = (/** @type {Pick<Trace, "steps">} */ run) => run.steps.flatMap(ids).join();
  return text(a) === text(b);
}

/**
 * Why both rules kept the same in every step of a run; nothing for a run by one rule.
 * @param {Trace} trace
 */
function alike({ steps, setup }) {
  const average = (/** @type {number | null} */ total) =>
    total === null ? null : number(total / steps.length);
  const sums = compare({ steps }).map(({ rule, mean }) => ({
    name: ruleInfo(rule).short,
    mean: average(mean),
  }));
  const cold = setup.options.sampling.temperature === 0;
  return plain(
    say("equal", {
      cold,
      own: sums[0],
      other: sums[1],
    }),
  );
}

export { alike, alone, compare, parting, ran, sameText, spread };

// Both rules over a whole run, in numbers: what each keeps of the drafts, with these coins and over all coins, and where two
// texts part. Pure.
import { rule as ruleInfo } from "../kit/facts.js";
import { number, student } from "../kit/format.js";
import { plain, say } from "./fill.js";

const add = (/** @type {number[]} */ numbers) => numbers.reduce((a, b) => a + b, 0);
const ids = (/** @type {Step} */ step) => step.committed.map(({ token }) => token);

/** How many tokens of these drafts a rule keeps on average over all coins; null where a step does not tell. @type {(steps: Step[], rule: string) => number | null} */
function mean(steps, rule) {
  const means = steps.map((step) => (step.drafted ? step.expected_kept[rule] : 0));
  return steps.length && means.every((kept) => kept !== undefined) ? add(means) : null;
}

/** Half of a 95 % interval of what one rule keeps more than the other per step, over all coins; null of fewer than ten steps. @type {(steps: Step[], sides: {rule: string}[]) => number | null} */
function spread(steps, [{ rule: own }, { rule: other }]) {
  const gaps = steps.map((step) => (step.drafted ? step.expected_kept[own] - step.expected_kept[other] : 0));
  const center = add(gaps) / gaps.length;
  const variance = add(gaps.map((gap) => (gap - center) ** 2)) / (gaps.length - 1);
  return gaps.length < 10 ? null : student(gaps.length - 1) * Math.sqrt(variance / gaps.length);
}

/** What the steps of a run came to; mean: of a rule. @type {(steps: Step[], rule?: string) => RuleSums} */
const ran = (steps, rule = "") => ({
  rule,
  drafted: add(steps.map((step) => step.drafted)),
  kept: add(steps.map((step) => step.kept)),
  mean: mean(steps, rule),
  tokens: add(steps.map((step) => step.committed.length)),
  calls: add(steps.map((step) => step.target_calls)),
});

/** A run and, where a second rule judged its steps too, what that one would have kept and drawn at each, in one target call. more: steps in which it keeps more than the other. @type {(run: Pick<Trace, "steps">) => RuleSums[]} */
function compare({ steps }) {
  const both = steps.flatMap(({ shadow, ...step }) => (shadow ? [{ ...step, shadow }] : []));
  if (!both.length) return [];
  const [own, other] = [both[0].verdict?.rule ?? "", both[0].shadow.rule];
  const shadowed = both.map(({ shadow: { kept, next }, ...step }) => {
    return { ...step, kept, committed: new Array(kept + (next ? 1 : 0)), target_calls: 1, shadow: null };
  });
  /** @type {(a: Step[], b: Step[]) => number} */
  const more = (a, b) => a.filter(({ kept }, i) => kept > b[i].kept).length;
  const run = { ...ran(both, own), more: more(both, shadowed) };
  return own === other ? [run] : [run, { ...ran(shadowed, other), more: more(shadowed, both) }];
}

/** The same of a run by this rule; null before its first step. @type {(run: Pick<Trace, "steps">, rule: string) => RuleSums | null} */
const alone = ({ steps }, rule) => (steps.length ? ran(steps, rule) : null);

/** The first step that two runs make after different texts; null while there is none. @type {(a: Pick<Trace, "steps">, b: Pick<Trace, "steps">) => number | null} */
function parting(a, b) {
  const both = Math.min(a.steps.length, b.steps.length);
  for (let i = 1; i < both; i += 1) if (ids(a.steps[i - 1]).join() !== ids(b.steps[i - 1]).join()) return i;
  return null;
}

/** Whether both runs wrote the same tokens. @type {(a: Pick<Trace, "steps">, b: Pick<Trace, "steps">) => boolean} */
const sameText = (a, b) => a.steps.flatMap(ids).join() === b.steps.flatMap(ids).join();

/** Why both rules kept the same in every step of a run; nothing for a run by one rule. @param {Trace} trace */
function alike({ steps, setup }) {
  const average = (/** @type {number | null} */ total) => number((total ?? 0) / steps.length);
  const sums = compare({ steps }).map(({ rule, mean }) => ({ name: ruleInfo(rule).short, mean: average(mean) }));
  return plain(say("equal", { cold: setup.options.sampling.temperature === 0, own: sums[0], other: sums[1] }));
}

export { alike, alone, compare, parting, ran, sameText, spread };

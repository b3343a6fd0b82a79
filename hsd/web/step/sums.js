// Both rules over a whole run, in numbers: what each keeps of the drafts, with these coins and over all coins, and where two
// texts part. Pure.
import { student } from "../kit/format.js";

const sum = (steps, of) => steps.reduce((total, step) => total + of(step), 0);
const ids = (step) => step.committed.map(({ token }) => token);

/** How many tokens of these drafts a rule keeps on average over all coins; null where a step does not tell. */
function mean(steps, rule) {
  const means = steps.map((step) => (step.drafted ? step.expected_kept[rule] : 0));
  return steps.length && !means.includes(undefined) ? means.reduce((a, b) => a + b, 0) : null;
}

/** Half of a 95 % interval of what one rule keeps more than the other per step, over all coins; null of fewer than ten steps. */
function spread(steps, [{ rule: own }, { rule: other }]) {
  const gaps = steps.map((step) => (step.drafted ? step.expected_kept[own] - step.expected_kept[other] : 0));
  const center = gaps.reduce((a, b) => a + b, 0) / gaps.length;
  const variance = gaps.reduce((total, gap) => total + (gap - center) ** 2, 0) / (gaps.length - 1);
  return gaps.length < 10 ? null : student(gaps.length - 1) * Math.sqrt(variance / gaps.length);
}

/** What the steps of a run came to. */
const ran = (steps, rule) => ({
  rule,
  drafted: sum(steps, (step) => step.drafted),
  kept: sum(steps, (step) => step.kept),
  mean: mean(steps, rule),
  tokens: sum(steps, (step) => step.committed.length),
  calls: sum(steps, (step) => step.target_calls),
});

/**
 * A run and, where its steps were judged by a second rule too, what that one would have kept and drawn at each of them, in
 * one target call: [{rule, drafted, kept, mean, more, tokens, calls}]. more: steps in which it keeps more than the other.
 */
function compare({ steps }) {
  const both = steps.filter((step) => step.shadow);
  if (!both.length) return [];
  const [own, other] = [both[0].verdict.rule, both[0].shadow.rule];
  const run = { ...ran(both, own), more: both.filter((step) => step.kept > step.shadow.kept).length };
  if (own === other) return [run];
  const shadow = {
    rule: other,
    drafted: run.drafted,
    kept: sum(both, (step) => step.shadow.kept),
    mean: mean(both, other),
    more: both.filter((step) => step.kept < step.shadow.kept).length,
    tokens: sum(both, ({ shadow }) => shadow.kept + (shadow.next ? 1 : 0)),
    calls: both.length,
  };
  return [run, shadow];
}

/** The same of a run by this rule; null before its first step. */
const alone = ({ steps }, rule) => (steps.length ? ran(steps, rule) : null);

/** The first step that two runs make after different texts; null while there is none. */
function parting(a, b) {
  const both = Math.min(a.steps.length, b.steps.length);
  for (let i = 1; i < both; i += 1) if (ids(a.steps[i - 1]).join() !== ids(b.steps[i - 1]).join()) return i;
  return null;
}

/** Whether both runs wrote the same tokens. */
const sameText = (a, b) => a.steps.flatMap(ids).join() === b.steps.flatMap(ids).join();

export { alone, compare, parting, sameText, spread };

// A run that records only its times, for a race: hsd/bench/race.py and measure.py.
import { median, sum } from "../../kit/statistics.js";
import { Decoding } from "./decoding.js";

/**
 * Return the seconds of a model's passes by how many tokens they read: count, sum and median. The
 * first pass, which reads the prompt, stands alone.
 * @type {(times: PassTime[]) => PassSummary}
 */
function summary([first, ...others]) {
  const groups = Object.entries(Object.groupBy(others, ([width]) => width));
  const widths = groups.map(([width, passes = []]) => {
    const all = passes.map(([, seconds]) => seconds);
    return [width, [all.length, sum(all), median(all)]];
  });
  return { first: first?.[1] ?? 0, widths: Object.fromEntries(widths) };
}

/**
 * Begin a run for a race: its messages have the times of its steps, and the last one the record
 * from which numbers come.
 * @type {MakeRun}
 */
function timedRun(pair, request) {
  const decoding = new Decoding(pair, { ...request, bare: true });
  /** @type {Step[]} */
  const steps = [];
  return {
    decoding,
    first: {},
    message(step) {
      const { committed, kept, target_calls: calls } = step;
      steps.push(step);
      const all = committed.map(({ bytes }) => bytes);
      return {
        end: decoding.seconds,
        calls,
        kept,
        last: committed[committed.length - 1].origin,
        tokens: committed.map(({ token }) => token),
        pieces: committed.map(({ piece }) => piece),
        ...(all.some(Boolean) && { bytes: all }),
      };
    },
    last: () => ({ record: recordOf(steps, decoding) }),
  };
}

/** @type {(steps: Step[], decoding: Decoding) => RunRecord} */
function recordOf(steps, { seconds, target, proposer }) {
  const all = (/** @type {(step: Step) => number} */ count) => sum(steps.map(count));
  const parts = /** @type {const} */ (["draft", "target", "verify", "rest"]);
  const time = parts.map((part) => [part, all(({ times }) => times[part])]);
  const byKept = Object.entries(Object.groupBy(steps, ({ kept }) => kept));
  const histogram = byKept.map(([kept, same]) => [kept, same?.length ?? 0]);
  return {
    new_tokens: all(({ committed }) => committed.length),
    target_calls: all(({ target_calls: calls }) => calls),
    steps: steps.length,
    drafted: all(({ drafted }) => drafted),
    kept: all(({ kept }) => kept),
    seconds,
    time: Object.fromEntries(time),
    kept_histogram: Object.fromEntries(histogram),
    calls: { target: summary(target.times), draft: summary(proposer.text?.times ?? []) },
  };
}

export { timedRun };

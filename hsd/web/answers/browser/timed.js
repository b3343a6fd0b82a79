// A run that records only its times, for a race: hsd/bench/race.py and measure.py.
import { sum } from "../../rules/law.js";
import { Decoding } from "./decoding.js";
import { median } from "./report.js";

/** Seconds of a model's passes by how many tokens they read; the first, which reads the prompt, is kept apart. @type {(times: PassTime[]) => PassSummary} */
function summary([first, ...others]) {
  const widths = Object.entries(Object.groupBy(others, ([width]) => width)).map(([width, passes = []]) => {
    const all = passes.map(([, seconds]) => seconds);
    return [width, [all.length, sum(all), median(all)]];
  });
  return { first: first?.[1] ?? 0, widths: Object.fromEntries(widths) };
}

/** What a race hears of a run: the times of its steps, and at its end the record that numbers come from. @type {MakeRun} */
function timedRun(pair, request) {
  const decoding = new Decoding(pair, { ...request, bare: true });
  const steps = /** @type {Step[]} */ ([]);
  return {
    decoding,
    first: {},
    message(step) {
      const { committed, kept, target_calls: calls } = step;
      steps.push(step);
      return {
        ...{ end: decoding.seconds, calls, kept, last: committed[committed.length - 1].origin },
        tokens: committed.map(({ token }) => token),
        pieces: committed.map(({ piece }) => piece),
        ...(committed.some(({ bytes }) => bytes) && { bytes: committed.map(({ bytes }) => bytes) }),
      };
    },
    last: () => ({ record: recordOf(steps, decoding) }),
  };
}

/** @type {(steps: Step[], decoding: Decoding) => RunRecord} */
function recordOf(steps, { seconds, target, proposer }) {
  const all = (/** @type {(step: Step) => number} */ count) => sum(steps.map(count));
  const histogram = Object.entries(Object.groupBy(steps, ({ kept }) => kept));
  const parts = /** @type {const} */ (["draft", "target", "verify", "rest"]);
  return {
    new_tokens: all(({ committed }) => committed.length),
    target_calls: all(({ target_calls: calls }) => calls),
    steps: steps.length,
    drafted: all(({ drafted }) => drafted),
    kept: all(({ kept }) => kept),
    seconds,
    time: Object.fromEntries(parts.map((part) => [part, all(({ times }) => times[part])])),
    kept_histogram: Object.fromEntries(histogram.map(([kept, same]) => [kept, same?.length ?? 0])),
    calls: { target: summary(target.times), draft: summary(proposer.text?.times ?? []) },
  };
}

export { timedRun };

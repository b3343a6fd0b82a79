// A run that records only its times, for a race: hsd/bench/race.py and measure.py.
import { sum } from "../../rules/law.js";
import { Decoding } from "./decoding.js";
import { median } from "./report.js";

const [NEWS, SELDOM] = [0.05, 0.5]; // seconds between two messages: while lanes warm up, and while times count
const NOBODY = { first: 0, widths: {} };

/** Seconds of a model's passes by how many tokens they read; the first, which reads the prompt, is kept apart. @type {(times: PassTime[]) => PassSummary} */
function summary([first, ...others]) {
  const widths = Object.entries(Object.groupBy(others, ([width]) => width)).map(([width, passes = []]) => {
    const all = passes.map(([, seconds]) => seconds);
    return [width, [all.length, sum(all), median(all)]];
  });
  return { first: first?.[1] ?? 0, widths: Object.fromEntries(widths) };
}

/** A run of which times alone are kept. */
class Timed {
  first = {};
  steps = /** @type {Pick<Step, "committed" | "target_calls" | "drafted" | "kept" | "times">[]} */ ([]);

  constructor(/** @type {Pair} */ pair, /** @type {RunRequest} */ request) {
    this.decoding = new Decoding(pair, { ...request, bare: true });
  }

  /** The steps of a moment; with the last of them the result, and the record that numbers come from. @param {{calmly?: boolean}} how */
  next({ calmly }) {
    const steps = /** @type {Values[]} */ ([]);
    const over = this.decoding.some(calmly ? SELDOM : NEWS, (step) => {
      const { committed, kept, target_calls: calls } = step;
      this.steps.push(step);
      steps.push({
        ...{ end: this.decoding.seconds, calls, kept, last: committed[committed.length - 1].origin },
        tokens: committed.map(({ token }) => token),
        pieces: committed.map(({ piece }) => piece),
        ...(committed.some(({ bytes }) => bytes) && { bytes: committed.map(({ bytes }) => bytes) }),
      });
    });
    return over ? { steps, record: this.record(), ...this.end() } : { steps };
  }

  /** @returns {RunRecord} */
  record() {
    const { steps, decoding } = this;
    const all = (/** @type {(step: typeof steps[0]) => number} */ count) => sum(steps.map(count));
    const histogram = /** @type {Record<string, number>} */ ({});
    for (const { kept } of steps) histogram[kept] = (histogram[kept] ?? 0) + 1;
    const parts = /** @type {const} */ (["draft", "target", "verify", "rest"]);
    const [target, drafter] = [decoding.target, decoding.proposer.text];
    return {
      new_tokens: all(({ committed }) => committed.length),
      target_calls: all(({ target_calls: calls }) => calls),
      steps: steps.length,
      drafted: all(({ drafted }) => drafted),
      kept: all(({ kept }) => kept),
      seconds: decoding.seconds,
      time: Object.fromEntries(parts.map((part) => [part, all(({ times }) => times[part])])),
      kept_histogram: histogram,
      calls: { target: summary(target.times), draft: drafter ? summary(drafter.times) : NOBODY },
    };
  }

  end() {
    const result = this.decoding.result();
    this.decoding.close();
    return { result };
  }
}

export { Timed };

// A recorded run that is run again: where the new text departs from the old.
import { plural } from "../kit/format.js";

/** As in files of any age. @type {(model: ModelInfo) => unknown[]} */
const modelOf = ({ name, revision, parameters, dtype }) => [name, revision, parameters, dtype];
/** What made a run, as a text to compare. @type {(trace: Trace) => string} */
const origin = ({ setup, prompt }) =>
  JSON.stringify([setup.options, setup.pair, setup.models.map(modelOf), prompt.ids]);
/** @type {(trace: Trace) => number[]} */
const tokens = ({ steps }) => steps.flatMap(({ committed }) => committed.map(({ token }) => token));

/**
 * One sentence where `run` has the same options as `recorded` and wrote another text; "" otherwise.
 * @type {(recorded: Trace, run: Trace) => string}
 */
function parting(recorded, run) {
  if (origin(recorded) !== origin(run)) return "";
  const before = tokens(recorded);
  const place = tokens(run).findIndex((token, i) => token !== before[i]);
  if (place < 0) return "";
  return (
    `The recorded run has the same first ${plural(place, "token")} and goes on in another way: another processor or ` +
    "library rounds differently, and a number that lay that near to its threshold fell on the other side."
  );
}

export { parting };

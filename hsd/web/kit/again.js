// A recorded run that is run again: where the new text departs from the old.
import { plural } from "./format.js";

const model = ({ name, revision, parameters, dtype }) => [name, revision, parameters, dtype]; // as in files of any age
const asked = ({ setup, prompt }) => JSON.stringify([setup.options, setup.pair, setup.models.map(model), prompt.ids]);
const tokens = ({ steps }) => steps.flatMap(({ committed }) => committed.map(({ token }) => token));

/** One sentence where `run` was asked for the same as `recorded` and wrote another text; "" otherwise. */
function parting(recorded, run) {
  if (asked(recorded) !== asked(run)) return "";
  const before = tokens(recorded);
  const place = tokens(run).findIndex((token, i) => token !== before[i]);
  if (place < 0) return "";
  return (
    `The recorded run has the same first ${plural(place, "token")} and goes on in another way: another processor or ` +
    "library rounds differently, and a number that lay that near to its threshold fell on the other side."
  );
}

export { parting };

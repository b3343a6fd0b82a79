// A recorded run that is asked for again: where the new one leaves it.
import { plural } from "./format.js";

const asked = ({ setup, prompt }) => JSON.stringify([setup.options, setup.pair, setup.models, prompt.ids]);
const tokens = ({ steps }) => steps.flatMap(({ committed }) => committed.map(({ token }) => token));

/** One sentence where `run` was asked for the same as `recorded` and wrote another text; "" otherwise. */
function parting(recorded, run) {
  if (asked(recorded) !== asked(run)) return "";
  const before = tokens(recorded);
  const place = tokens(run).findIndex((token, i) => token !== before[i]);
  if (place < 0) return "";
  return (
    `The recorded run has the same first ${plural(place, "token")} and goes on in another way: processors round ` +
    "differently, and here a coin or a draw lay within that rounding of its threshold. Both texts are right."
  );
}

export { parting };

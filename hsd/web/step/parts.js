// The parts of a step that only some runs have, beside those that every step has. README.md says
// how one is written.
import * as divergence from "./divergence.js";
import * as exits from "./exits.js";
import * as growth from "./growth.js";
import * as levels from "./levels.js";

/** @type {StepPart[]} In the order in which their cards stand. */
const PARTS = [divergence, levels, exits, growth];

export { PARTS };

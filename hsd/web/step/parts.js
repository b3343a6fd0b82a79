// The parts of a step that only some runs have, beside those that every step has. README.md says how one is written.
import * as divergence from "./divergence.js";
import * as exits from "./exits.js";
import * as growth from "./growth.js";
import * as levels from "./levels.js";

/**
 * @typedef {object} Card
 * @property {HTMLElement} [drawing] the main drawing of a step: stands above the transport, the board then below it
 * @property {HTMLElement} [picture] what of it is exported, where that is not all
 * @property {HTMLElement} [below] a card under the board or the tree
 * @property {(view: View, state: {plan: Plan, selected: number}) => void} draw a step, whole
 * @property {(place: Beat, last: boolean) => void} [beat] how far the step has come, see `phases.at`
 * @property {(node: number) => void} [select] another drafted token is selected
 */

/**
 * @typedef {object} Part
 * @property {(view: View) => boolean} shows whether a step has what this part draws
 * @property {(view: View, usual: Move[]) => Move[]} [moves] the phases of such a step, made from the usual ones
 * @property {Record<string, (view: View, i: number) => [sentence: string, facts: SentenceFacts]>} [beats] of each phase of
 *   its own: the sentence of hsd/trace/sentences.yaml that tells its i-th beat, and the facts put in; || parts headline and detail
 * @property {(actions: {selectNode: (node: number) => void}) => Card} create its cards, once per player
 */

/** @type {Part[]} In the order in which their cards stand. */
const PARTS = [divergence, levels, exits, growth];

export { PARTS };

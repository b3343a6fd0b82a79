// The only way by which a screen gets data. Who answers is written on the page (`data-answers` of
// <html>), and no other room needs to know it. A maker of answers is a module with the three
// functions below; one more maker is one more line in MAKERS.
import { Refusal } from "./refusal.js";

const MAKERS = /** @type {Record<string, () => Promise<Maker>>} */ ({
  server: () => import("./server.js"),
  files: () => import("./files.js"),
  file: () => import("./file.js"),
  browser: () => import("./browser.js"),
});
const maker = await MAKERS[document.documentElement.dataset.answers ?? "files"]();

/**
 * Return "" if this page can answer `name`; else one line that says what to do instead.
 * @param {string} name
 */
const why = (name) => maker.why(name);

/**
 * Resolve to the answer, plain data. Throws Refusal.
 * @param {string} name
 * @param {Values} argument
 */
const ask = (name, argument = {}) => maker.ask(name, argument);

/**
 * The messages of a run or a race as they come, as hsd/app has them. Throws Refusal where it fails,
 * also in the middle. signal: aborting it ends the stream without an error, and the work on the
 * server. status({place, seconds}): number in the queue while it waits, and about how long that
 * takes, or null.
 * @type {(name: string, options: Values, ways?: Partial<StreamOptions>) => AsyncGenerator<Values>}
 */
const stream = (name, options, { signal, status = () => {} } = {}) =>
  maker.stream(name, options, { signal, status });

export { ask, Refusal, stream, why };

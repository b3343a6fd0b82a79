// Answers from files (files.js), and runs by a model in the visitor's browser, which is loaded when
// the first of them is wanted: see browser/. What it cannot do is left to the app.
import { hasWorkers, takesModule } from "../kit/features.js";
import * as files from "./files.js";
import { Refusal } from "./refusal.js";

// The smallest module with a vector instruction: a browser that takes it can run the engine.
const VECTORS = Uint8Array.from(atob("AGFzbQEAAAABBQFgAAF7AwIBAAoKAQgAQQD9D/1iCw=="), (sign) =>
  sign.charCodeAt(0),
);
const LACKS = [
  takesModule(VECTORS) ? "" : "WebAssembly's vector instructions",
  hasWorkers() ? "" : "threads for pages",
].filter(Boolean);
const RUN = LACKS.length
  ? `this browser lacks ${LACKS.join(" and ")}: recorded runs work, and a newer browser decodes`
  : "";
const LINES = /** @type {Record<string, string>} */ ({
  run: RUN,
  pair: RUN,
  race: RUN,
  race_plan: RUN,
});
const OWN = /** @type {Record<string, (argument: Values) => Promise<any>>} */ ({
  pair: async () => (await files.ask("page")).browser.chip,
  race_plan: async (given) => {
    const { plan } = await import("./browser/race.js");
    return plan(given, await files.ask("page")).header;
  },
  downloads: async () => {
    const { name, title } = (await files.ask("page")).browser;
    return { lines: [], here: [{ name, title }], coming: false };
  },
});

const why = (/** @type {string} */ name) => LINES[name] ?? files.why(name);

/** @type {(name: string, argument: Values) => Promise<any>} */
const ask = (name, argument) =>
  OWN[name] && !why(name) ? OWN[name](argument) : files.ask(name, argument);

/**
 * @param {string} name
 * @param {Values} options
 * @param {StreamOptions} ways
 * @returns {AsyncGenerator<Values>}
 */
async function* stream(name, options, ways) {
  if (why(name)) throw new Refusal(why(name));
  const client = await import("./browser/client.js");
  yield* client.stream(name, await files.ask("page"), options, ways);
}

export { ask, stream, why };

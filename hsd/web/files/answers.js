// What the app's server would answer, from files that python -m hsd space export has written: one for each answer.
import { NO_MODEL } from "../kit/source.js";
import { check } from "./check.js";

/** The name of the file that answers this, as in hsd/ui/export.py. */
const keyOf = (argument) =>
  Object.values(typeof argument === "string" && argument ? [argument] : argument || ["all"])
    .join(" ")
    .replace(/[^\w.-]+/g, "-");

async function json(path) {
  const response = await fetch(new URL(path, document.baseURI));
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.json();
}

/**
 * An object with the server's functions. known: for each that is answered, {keys: for which arguments, error: for any
 * other, with a “?” in place of it}; schema: where the JSON Schema of a trace is; most: bytes of a trace.
 */
function answers({ known, schema, most }) {
  async function read(name, argument) {
    const { keys, error = NO_MODEL } = known[name] ?? { keys: [] };
    const key = keyOf(argument);
    if (!keys.includes(key)) return { error: error.replace("?", () => String(argument).slice(0, 40)) };
    return json(`data/${name}/${key}.json`);
  }
  const own = {
    check_trace: async (text) => check(text, await json(schema), most),
    read_opened: () => ({}),
    pair_facts: () => ({}),
  };
  return new Proxy(own, { get: (_, name) => own[name] ?? ((argument) => read(name, argument)) });
}

export { answers };

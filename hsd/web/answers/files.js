// Answers from files: data/NAME/KEY.json for everything that is recorded, and what a browser can
// work out itself. A server serves the same files; see hsd/app/site.py.
import { Refusal, refused } from "./refusal.js";

const NO_MODEL = "this page is made of files and has no model: its foot says how to run one";
const NO_PYTHON =
  "this page is made of files and cannot compute that: its foot says how to run it live";
const LINES = /** @type {Record<string, string>} */ ({
  run: NO_MODEL,
  race: NO_MODEL,
  race_plan: NO_MODEL,
  request: NO_MODEL,
  pair: NO_MODEL,
  plan_stack:
    "this page is made of files and plans nothing: " +
    "python -m hsd plan does, and its foot says how to run it",
  open_benchmark: NO_PYTHON,
});
const OWN = /** @type {Record<string, (argument: Values) => any>} */ ({
  check: ({ text }) => checked(text),
  opened: () => null,
  downloads: () => ({ lines: [], here: [], coming: false }),
});

const why = (/** @type {string} */ name) => LINES[name] ?? "";

/**
 * Return the name of the file with the answer to a question, as in hsd/app/site.py.
 * @param {Values} argument
 */
function keyOf(argument) {
  const words = Object.values(argument).join(" ");
  return (words || "all").replace(/[^\w.-]+/g, "-");
}

/** Resolve to the content of a JSON file beside the page. @param {string} path */
async function json(path) {
  try {
    const response = await fetch(new URL(path, document.baseURI));
    if (response.ok) return await response.json();
  } catch {
    // refused below
  }
  throw new Refusal(`no answer (${path}): check the connection, or reload the page`);
}

/** @type {Promise<any> | null} of data/page.json, which everything else begins with */
let first = null;

/**
 * Resolve to what the page is made with: presets, pairs, limits, and in `recorded` which questions
 * have an answer in a file.
 */
function page() {
  first ??= json("data/page.json").catch((refusal) => {
    first = null; // so that the next call tries again
    throw refusal;
  });
  return first;
}

/**
 * The recorded answer, or undefined where nothing of that name is recorded. Throws Refusal for a
 * wrong argument.
 * @type {(name: string, argument: Values) => Promise<any>}
 */
async function recorded(name, argument) {
  if (name === "page") return page();
  const answers = (await page()).recorded[name];
  if (!answers) return undefined;
  const key = keyOf(argument);
  if (answers.keys.includes(key)) return json(`data/${name}/${key}.json`);
  const words = Object.values(argument).join(" ").slice(0, 40);
  throw new Refusal((answers.error ?? NO_MODEL).replace("?", () => words));
}

/** Resolve to the trace that a visitor opens, and its step to begin with. @param {string} text */
async function checked(text) {
  const { check } = await import("./check.js");
  const { schema, bytes } = await page();
  const answer = check(text, await json(schema), bytes);
  if (answer.error !== undefined) throw new Refusal(answer.error);
  return answer;
}

/** @type {(name: string, argument?: Values) => Promise<any>} */
async function ask(name, argument = {}) {
  if (why(name)) throw new Refusal(why(name));
  if (OWN[name]) return OWN[name](argument);
  const answer = await recorded(name, argument);
  if (answer === undefined) throw new Refusal(NO_PYTHON);
  return answer;
}

const stream = (/** @type {string} */ name) => refused(why(name) || NO_MODEL);

export { ask, recorded, stream, why };

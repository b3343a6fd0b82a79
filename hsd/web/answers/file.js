// Answers of a page that is one recorded run: it has the run in itself, and nothing else.
import { find } from "../kit/dom.js";
import { ruleInfo, ruleOf } from "../step/model.js";
import { Refusal, refused } from "./refusal.js";

const ALONE =
  "this page is one recorded run and has no model: pass the file on, or open its trace in the app";
const PROMPT = 200; // characters of it that are named
const run = /** @type {{trace: Trace, title: string, from: string}} */ (
  JSON.parse(find("#hsd-one-run").textContent)
);

function heading(/** @type {typeof run} */ { title, trace: { setup } }) {
  const rule =
    setup.options.system === "plain" ? "Plain decoding" : ruleInfo(ruleOf(setup.options)).title;
  return title || `${rule}, step by step`;
}

const inOneLine = (/** @type {string} */ text) => text.replace(/\s+/g, " ").trim();

/** Say in a line what this file is. @param {typeof run} run */
function about({ trace: { prompt } }) {
  const characters = [...prompt.text];
  const start = inOneLine(characters.slice(0, PROMPT).join(""));
  const dots = start < inOneLine(prompt.text) ? " …" : "";
  return `A file with one recorded run, which needs no network. Prompt: “${start}${dots}”`;
}

const page = {
  heading: heading(run),
  about: about(run),
  from: run.from,
  pairs: [],
  limits: {},
  credits: [],
};
const ANSWERS = /** @type {Record<string, object>} */ ({ page, opened: { ...run, title: "" } });

const why = (/** @type {string} */ name) => (ANSWERS[name] ? "" : ALONE);

async function ask(/** @type {string} */ name) {
  if (why(name)) throw new Refusal(why(name));
  return ANSWERS[name];
}

const stream = () => refused(ALONE);

export { ask, stream, why };

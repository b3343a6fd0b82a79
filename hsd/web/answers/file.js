// Answers of a page that is one recorded run: it has the run in itself, and nothing else.
import { ruleInfo, ruleOf } from "../step/model.js";
import { Refusal } from "./refusal.js";

const ALONE = "this page is one recorded run and has no model: pass the file on, or open its trace in the app";
const run = JSON.parse(document.getElementById("hsd-one-run").textContent);

function heading({ title, trace: { setup } }) {
  const rule = setup.options.system === "plain" ? "Plain decoding" : ruleInfo(ruleOf(setup.options)).title;
  return title || `${rule}, step by step`;
}

const ANSWERS = { page: { heading: heading(run), presets: [], credits: [] }, opened: { ...run, title: "" } };

const why = (name) => (ANSWERS[name] ? "" : ALONE);

async function ask(name) {
  if (why(name)) throw new Refusal(why(name));
  return ANSWERS[name];
}

/** Nothing is decoded here: the first message is a Refusal. */
// biome-ignore lint/correctness/useYield: a stream that has no message
async function* stream() {
  throw new Refusal(ALONE);
}

export { ask, stream, why };

// What the screen says of itself: how it compares, why there is nothing to compare, how the second run gets on. Pure.
import { plural } from "../kit/format.js";
import { ruleInfo } from "../player/model.js";
import { capital } from "./explain.js";
import { inexactNote } from "./parts.js";
import { sameText } from "./totals.js";

const PLAIN =
  "Plain decoding drafts nothing, so there is nothing to compare: open a preset with a draft, or choose Speculative under More options and press Run.";
const BARE =
  "This run was recorded without the second rule's decisions, so there is nothing to pair: run it again here.";
const CHOOSE = "choose another rule at “Compared with” under More options and press Run.";
const name = (rule) => ruleInfo(rule).short;

const hint = (mode, [own]) =>
  mode === "free"
    ? "Each rule goes on with its own text, from the same seed and with all other options equal: two real runs."
    : `Both rules judge the same draft with the same coins at every step; the text goes on with the tokens of ${name(own)}.`;

const same = ([rule]) => `Both rows are ${name(rule)}: ${CHOOSE}`;

/** Why there is nothing to compare; empty if there is. */
function problem({ setup, steps }, mode, rules) {
  if (setup.system === "plain") return PLAIN;
  if (!steps.length) return "";
  if (!steps.some((step) => step.shadow)) return BARE;
  return mode === "free" && rules[0] === rules[1]
    ? `Both rows would be ${name(rules[0])}, on the same text: ${CHOOSE}`
    : "";
}

/** What there is to say of a step whose rows have different drafts. over: one of the texts has no such step. */
function apart({ over, running, parted }) {
  if (over) return running ? "The second run is not there yet." : "One of the texts has ended.";
  return `The texts differ since step ${parted + 1}, so each rule judges a draft of its own here: compare the totals, not this step.`;
}

/** Up to where both texts agree. parted: the first step after different texts, from 0, or null. */
function agreement({ parted, run, other, running }) {
  if (!other || !other.steps.length) return "The second text is not there yet.";
  if (parted !== null)
    return `The rules part in step ${parted}: up to it they have the same text, drafts and coins. From step ${parted + 1} on each goes on from a text of its own.`;
  if (running) return "The texts agree so far.";
  return sameText(run, other)
    ? "The texts agree to the end."
    : "The texts agree in all steps that both have, but for what the last one added.";
}

/** How the second run is getting on; empty when there is nothing to say. live: the first run still goes on. */
function progress(second, live, rules) {
  if (live) return "The second run starts when the first one has ended.";
  if (!second) return "";
  const { message, state, place, ended, trace } = second;
  if (message) return capital(message);
  if (state === "waiting" && place > 0)
    return `Another run is using the model; the run of ${name(rules[1])} is number ${place} in line.`;
  if (state === "cancelled") return `The run of ${name(rules[1])} was cancelled: this is what there was.`;
  if (ended) return "";
  return `Running ${name(rules[1])} on the same prompt and seed: ${plural(trace ? trace.steps.length : 0, "step")} so far.`;
}

function freeNote(rules, running) {
  const inexact = inexactNote(rules, "is not lossless");
  return `${running ? "So far. " : ""}Two runs with one seed: which is ahead here is partly luck.${inexact}`;
}

export { hint, same, problem, apart, agreement, progress, freeNote };

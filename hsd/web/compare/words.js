// What the screen says of itself: how it compares, why there is nothing to compare, how the second run gets on. Pure.
import { rule } from "../kit/facts.js";
import { plural } from "../kit/format.js";
import { sameLaw } from "../step/sentences.js";
import { sameText } from "./totals.js";

const PLAIN =
  "Plain decoding drafts nothing, so there is nothing to compare: open a preset with a draft, or choose Speculative under More options and press Run.";
const BARE =
  "This run was recorded without the second rule's decisions, so there is nothing to pair: run it again here.";
const CHOOSE = "choose another rule at “Compared with” under More options and press Run.";
const name = (asked) => rule(asked).short;

const hint = (mode, [own]) =>
  mode === "free"
    ? "Each rule goes on with its own text, from the same seed and with all other options equal: two real runs."
    : `Both rules judge the same draft with the same coins at every step; the text goes on with the tokens of ${name(own)}.`;

const same = ([one]) => `Both rows are ${name(one)}: ${CHOOSE}`;

/** Why there is nothing to compare; empty if there is. */
function problem({ setup, steps }, mode, rules) {
  if (setup.options.system === "plain") return PLAIN;
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
function agreement({ parted, running }, run, other) {
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
  const { message, state, place, ended, items } = second;
  if (message) return message[0].toUpperCase() + message.slice(1);
  if (state === "waiting" && place > 0)
    return `Another run is using the model; the run of ${name(rules[1])} is number ${place} in line.`;
  if (state === "cancelled") return `The run of ${name(rules[1])} was cancelled: this is what there was.`;
  if (ended) return "";
  return `Running ${name(rules[1])} on the same prompt and seed: ${plural(items.length, "step")} so far.`;
}

/** A sentence on each of the rules that is not lossless; empty if all are. */
const inexact = (rules, words) =>
  [...new Set(rules)].map((one) => (rule(one).lossless === false ? ` ${name(one)} ${words}.` : "")).join("");

/** What the totals mean. rules: of the run, and the other one; running: whether there is more to come. */
function pairedNote(rules, steps, running) {
  const [ran, judged] = rules.map(name);
  const unread = "The further target calls that naive HSD makes after a rejection, and their tokens, are left out.";
  return [
    `${running ? "So far: the" : "The"} text is that of ${ran}, and its column is what the run did.`,
    ` The column of ${judged} says: if each of these ${plural(steps, "step")} had been judged by ${judged},`,
    " it would have kept these tokens and drawn one after them, for one target call each.",
    rules[1] === "naive-hsd" ? ` ${unread}` : "",
    inexact(rules, "keeps more than it may: it is not lossless"),
    sameLaw(...rules) ? " Both are the same law, so their numbers are always equal." : "",
  ].join("");
}

const freeNote = (rules, running) =>
  `${running ? "So far. " : ""}Two runs with one seed: which is ahead here is partly luck.` +
  inexact(rules, "is not lossless");

export { agreement, apart, freeNote, hint, pairedNote, problem, progress, same };

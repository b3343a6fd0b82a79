// The options of a visitor's run, checked as the app checks them, and as a trace and a link record them. What only the app can do
// is refused here, before anything is loaded.
import { facts } from "../../kit/facts.js";
import { CHAINS, exactWith, SETTINGS, usesDivergence } from "../../rules/law.js";
import { recipeOf } from "../../rules/tests.js";
import { Refusal } from "../refusal.js";
import { leastOf } from "./stopping.js";

const KNOWN = facts.options.properties;
const APP = "run the app, as this page's foot says";
const { systems, proposers } = facts;

const byDivergence = ({ rule, shadow }) => [rule, shadow].some((name) => name && usesDivergence(recipeOf(name)));
const words = ({ anyOf }) => (anyOf ?? []).filter((one) => "const" in one);
/** How many tokens a draft has at most. */
const longest = (gamma) => words(KNOWN.gamma).find((one) => one.const === gamma)?.maximum ?? gamma;
const levelled = (name) => systems.find((one) => one.name === name)?.levels;

/** What this page leaves to the app: [whether it is asked for, one line]. */
const LEFT = [
  [({ target, draft }) => target || draft, () => `this page has one pair of models: for models of your own, ${APP}`],
  [({ system }) => levelled(system), ({ system }) => `this page has no levels: for system ${system} ${APP}`],
  [({ drafts }) => drafts > 1, () => `this page judges one draft at a time: choose drafts 1, or ${APP}`],
  [
    ({ rule }) => !CHAINS.has(rule),
    ({ rule }) => `rule ${rule} is for several drafts, which need the app: choose another`,
  ],
  [
    ({ shadow }) => shadow && !CHAINS.has(shadow),
    ({ shadow }) => `rule ${shadow} is for several drafts: compare another`,
  ],
  [
    (asked) => asked.divergence_on === "raw" && byDivergence(asked),
    () => `divergences of raw rows need the app: choose those as sampled from, or ${APP}`,
  ],
  [
    ({ gamma, rule, system }) => gamma === "auto" && system !== "plain" && CHAINS.get(rule).resamples,
    ({ rule }) =>
      `rule ${rule} needs drafts of a fixed length: choose gamma as a number, or tokenwise, blockwise or hsd`,
  ],
];

/** A value as the option wants it. */
function read(name, value, most) {
  const { type, title, minimum, maximum, oneOf, default: usual } = { ...KNOWN[name].anyOf?.[0], ...KNOWN[name] };
  const called = title[0].toLowerCase() + title.slice(1);
  if (type === "array" || type === "boolean") return usual;
  if (type === "string") {
    const names = oneOf?.map(({ const: one }) => one);
    if (!names || names.includes(value)) return String(value);
    throw new Refusal(`unknown ${called} '${String(value).slice(0, 40)}': choose one of ${names.join(", ")}`);
  }
  const whole = type === "integer";
  const high = Math.min(maximum ?? Infinity, most[name] ?? Infinity);
  const need = `choose ${whole ? "a whole number" : "a number"}${minimum === undefined ? "" : ` from ${minimum} to ${high}`}`;
  const text = String(value).trim();
  if (words(KNOWN[name]).some((one) => one.const === text && one.maximum <= high)) return text;
  const number = text === "" ? Number.NaN : Number(text);
  const fits = (whole ? Number.isInteger(number) : Number.isFinite(number)) && !(number < minimum) && number <= high;
  if (!fits) throw new Refusal(`${called} ${text.slice(0, 40) || "is empty"}: ${need}`);
  return whole && minimum === undefined && !Number.isSafeInteger(number) ? text : number; // a seed with all its digits
}

/**
 * {prompt, options, settings}: what is asked for, all options with their values, and those of rules alone. told: of the
 * page, see hsd/app/site.py. Throws Refusal for the first thing that is wrong.
 */
function asked(given, { limits, browser }) {
  const { prompt = "", pair = "", ...rest } = given;
  const most = limits.prompt_characters;
  if (!prompt.trim()) throw new Refusal("the prompt is empty: type some text to continue");
  if (prompt.length > most)
    throw new Refusal(`the prompt has ${prompt.length} characters, at most ${most} are allowed: shorten it`);
  if (pair && pair !== browser.name)
    throw new Refusal(`this page has the pair ${browser.name} alone: for ${pair} ${APP}`);
  const options = {};
  for (const [name, { default: usual }] of Object.entries(KNOWN)) {
    const value = rest[name] ?? (name === "gamma" ? browser.gamma : usual);
    options[name] = read(name, value, limits);
  }
  if (options.top_p <= 0) throw new Refusal("top-p 0: choose a number above 0, up to 1 (1 keeps every token)");
  for (const [holds, line] of LEFT) if (holds({ ...rest, ...options })) throw new Refusal(line(options));
  const sure = options.gamma === "auto" && options.system !== "plain" && options.proposer === "model";
  options.confidence = sure ? leastOf(browser.pair.config.stopping, options.confidence) : 0;
  const knobs = Object.keys(SETTINGS).filter((name) => name in options);
  const { fuzzy_mode: mode, temperature } = options;
  const settings = { ...Object.fromEntries(knobs.map((name) => [name, options[name]])), mode, temperature };
  return { prompt, options: { ...options, engine: browser.engine }, settings };
}

/** What the setup of a trace has of the options: in groups, those of plain decoding without a draft. */
function recorded(options) {
  const plain = options.system === "plain";
  const found = { knobs: {} };
  for (const [name, { at }] of Object.entries(KNOWN)) {
    if (!at) continue;
    const [group, inner] = at.includes(".") ? at.split(".") : ["", at];
    const value = plain && name === "proposer" ? proposers.at(-1).name : plain && name === "gamma" ? 0 : options[name];
    if (group) (found[group] ??= {})[inner] = value;
    else found[inner] = value;
  }
  found.seed = Number(found.seed);
  return found;
}

/** What a reader of a run must know of its rule. */
function notes({ system, rule, temperature, ...options }) {
  const { lossless, greedy, knob } = CHAINS.get(rule);
  if (system === "plain" || lossless || (greedy && temperature === 0)) return [];
  const exact = knob && exactWith(rule, { ...SETTINGS, ...options });
  if (exact) return [`At ${knob.title.toLowerCase()} ${knob.exact} rule ${rule} is exact.`];
  return [`Rule ${rule} is not lossless: the text does not follow the target exactly.`];
}

/** The parameters of a link that asks for the run again. */
function link(prompt, options, { name }) {
  const said = ([key, { always, default: usual }]) => always || String(options[key]) !== String(usual);
  const query = Object.entries(KNOWN).filter((one) => said(one) && one[1].type !== "array");
  return { pair: name, prompt, ...Object.fromEntries(query.map(([key]) => [key, String(options[key])])) };
}

export { asked, link, longest, notes, recorded };

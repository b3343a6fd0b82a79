// The options of a visitor's run, checked as the app checks them, and as a trace and a link record
// them. What only the app can do is refused here, before anything is loaded.
import { facts } from "../../kit/facts.js";
import { CHAINS, chain, exactWith, SETTINGS, usesDivergence } from "../../rules/law.js";
import { recipeOf } from "../../rules/tests.js";
import { Refusal } from "../refusal.js";
import { leastOf } from "./stopping.js";

const KNOWN = facts.options.properties;
const APP = "run the app, as this page's foot says";
const { systems, proposers } = facts;
const FOREIGN = new Set(
  proposers.filter((one) => one.copies && !one.longest).map(({ name }) => name),
);

/** What a number may be besides. @param {OptionSchema} option */
const words = ({ anyOf }) => (anyOf ?? []).filter((one) => "const" in one);
/** How many tokens a draft has at most. @type {(gamma: number | "auto") => number} */
const longest = (gamma) =>
  words(KNOWN.gamma).find((one) => one.const === gamma)?.maximum ?? Number(gamma);

/**
 * What is asked for and this page leaves to the app, in one line; "" where there is nothing.
 * @param {Values} options
 */
function leftToApp({
  target,
  draft,
  system,
  proposer: by,
  drafts,
  rule,
  shadow,
  divergence_on: rows,
  gamma,
}) {
  const rules = shadow ? [rule, shadow] : [rule];
  const several = rules.find((name) => !CHAINS.has(name));
  const clipped = rules.find((name) => recipeOf(name)?.clipped);
  if (target || draft) return `this page has one pair of models: for models of your own, ${APP}`;
  if (systems.find(({ name }) => name === system)?.levels)
    return `this page has no levels: for system ${system} ${APP}`;
  if (FOREIGN.has(by)) return `proposer ${by} needs the app: choose another`;
  if (drafts > 1) return `this page judges one draft at a time: choose drafts 1, or ${APP}`;
  if (several) return `rule ${several} is for several drafts, which need the app: choose another`;
  if (clipped) return `rule ${clipped} needs the app: choose another, or ${APP}`;
  if (rows === "raw" && rules.some((name) => usesDivergence(chain(name).recipe)))
    return `divergences of raw rows need the app: choose those as sampled from, or ${APP}`;
  if (gamma === "auto" && system !== "plain" && chain(rule).resamples)
    return `rule ${rule} needs drafts of a fixed length: choose gamma as a number, or tokenwise, blockwise or hsd`;
  return "";
}

/**
 * A value as the option wants it. most: lower limits.
 * @type {(name: string, value: unknown, most: Record<string, number>) => unknown}
 */
function read(name, value, most) {
  const {
    type,
    title,
    minimum,
    maximum,
    oneOf,
    default: usual,
  } = { ...KNOWN[name].anyOf?.[0], ...KNOWN[name] };
  const called = title[0].toLowerCase() + title.slice(1);
  if (name === "forced") return String(value).match(/\d+/g)?.map(Number) ?? [];
  if (type === "array" || type === "boolean") return usual;
  if (type === "string") {
    const names = oneOf?.map(({ const: one }) => one);
    if (!names || names.includes(String(value))) return String(value);
    throw new Refusal(
      `unknown ${called} '${String(value).slice(0, 40)}': choose one of ${names.join(", ")}`,
    );
  }
  const whole = type === "integer";
  const high = Math.min(maximum ?? Infinity, most[name] ?? Infinity);
  const need = `choose ${whole ? "a whole number" : "a number"}${minimum === undefined ? "" : ` from ${minimum} to ${high}`}`;
  const text = String(value).trim();
  if (words(KNOWN[name]).some((one) => one.const === text && one.maximum <= high)) return text;
  const number = text === "" ? Number.NaN : Number(text);
  const fits =
    (whole ? Number.isInteger(number) : Number.isFinite(number)) &&
    !(number < (minimum ?? number)) &&
    number <= high;
  if (!fits) throw new Refusal(`${called} ${text.slice(0, 40) || "is empty"}: ${need}`);
  // a seed with all its digits
  return whole && minimum === undefined && !Number.isSafeInteger(number) ? text : number;
}

/**
 * What is asked for: all options with their values, and those of rules alone. page: what it is made
 * with, see hsd/app/site.py. Throws Refusal for the first thing that is wrong.
 * @type {(given: Values, page: Values) => RunRequest}
 */
function readRequest(given, { limits, browser }) {
  const { prompt = "", pair = "", ...rest } = given;
  const most = limits.prompt_characters;
  if (!prompt.trim()) throw new Refusal("the prompt is empty: type some text to continue");
  if (prompt.length > most)
    throw new Refusal(
      `the prompt has ${prompt.length} characters, at most ${most} are allowed: shorten it`,
    );
  if (pair && pair !== browser.name)
    throw new Refusal(`this page has the pair ${browser.name} alone: for ${pair} ${APP}`);
  const options = /** @type {FlatOptions} */ ({});
  for (const [name, { default: usual }] of Object.entries(KNOWN)) {
    const value = rest[name] ?? (name === "gamma" ? browser.gamma : usual);
    options[name] = read(name, value, limits);
  }
  if (options.top_p <= 0)
    throw new Refusal("top-p 0: choose a number above 0, up to 1 (1 keeps every token)");
  const line = leftToApp({ ...rest, ...options });
  if (line) throw new Refusal(line);
  const sure =
    options.gamma === "auto" && options.system !== "plain" && options.proposer === "model";
  options.confidence = sure ? leastOf(browser.pair.config.stopping, options.confidence) : 0;
  const { fuzzy_mode: mode, temperature } = options;
  const own = Object.entries(SETTINGS).map(([name, usual]) => [name, options[name] ?? usual]);
  const settings = { ...SETTINGS, ...Object.fromEntries(own), mode, temperature };
  return { prompt, options: { ...options, engine: browser.engine }, settings };
}

/**
 * What the setup of a trace has of the options: in groups, those of plain decoding without a draft.
 * @param {Values} options
 */
function recorded(options) {
  const undrafted = { proposer: proposers[proposers.length - 1].name, gamma: 0 };
  const values = options.system === "plain" ? { ...options, ...undrafted } : options;
  const groups = /** @type {Values} */ ({ knobs: {} });
  for (const [name, { at }] of Object.entries(KNOWN)) {
    const [group, inner] = at?.split(".") ?? [];
    if (inner) (groups[group] ??= {})[inner] = values[name];
    else if (group) groups[group] = values[name];
  }
  groups.seed = Number(groups.seed);
  return groups;
}

/** What a reader of a run must know of its rule. @type {(options: Values) => string[]} */
function notes({ system, rule, temperature, forced, ...options }) {
  const { lossless, greedy, knob } = chain(rule);
  const inexact = system !== "plain" && !lossless && !(greedy && temperature === 0);
  const words = exactWith(rule, { ...SETTINGS, ...options })
    ? `At ${knob?.title.toLowerCase()} ${knob?.exact} rule ${rule} is exact.`
    : `Rule ${rule} is not lossless: the text does not follow the target exactly.`;
  const start = `Forced tokens at the start of the text: ${forced.length}. The rest follows from them.`;
  return [...(inexact ? [words] : []), ...(forced.length ? [start] : [])];
}

/**
 * The parameters of a link that asks for the run again.
 * @type {(prompt: string, options: Values, pair: Values) => Record<string, string>}
 */
function link(prompt, options, { name }) {
  const query = Object.entries(KNOWN).flatMap(([key, { always, default: usual }]) => {
    const value = String(options[key]).replaceAll(",", "_");
    return always || value !== String(usual) ? [[key, value]] : [];
  });
  return { pair: name, prompt, ...Object.fromEntries(query) };
}

export { link, longest, notes, readRequest, recorded };

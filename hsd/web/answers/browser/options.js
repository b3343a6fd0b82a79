// The options of a visitor's run, checked as the app checks them, and as a trace and a link record
// them. What only the app can do is refused here, before anything is loaded.
import { facts } from "../../kit/facts.js";
import { CHAINS, chain, exactWith, SETTINGS, usesDivergence } from "../../rules/law.js";
import { recipeOf } from "../../rules/tests.js";
import { Refusal } from "../refusal.js";
import { LEAST } from "./stopping.js";

const KNOWN = facts.options.properties;
const APP = "run the app, as this page's foot says";
const { systems, proposers } = facts;
// proposers that copy from files, which only the app has
const foreign = proposers.filter((proposer) => proposer.copies && !proposer.longest);
const FOREIGN = new Set(foreign.map(({ name }) => name));

/**
 * The words that may stand in place of a number, with their maximum.
 * @param {OptionSchema} option
 */
const words = ({ anyOf = [] }) => anyOf.filter((choice) => "const" in choice);
/** How many tokens a draft has at most. @type {(gamma: number | "auto") => number} */
const longest = (gamma) =>
  words(KNOWN.gamma).find((word) => word.const === gamma)?.maximum ?? Number(gamma);

/**
 * Return one line about an option that this page leaves to the app; "" where there is none.
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
  if (gamma === "auto" && system !== "plain" && chain(rule).resamples) {
    const need = `rule ${rule} needs drafts of a fixed length`;
    return `${need}: choose gamma as a number, or tokenwise, blockwise or hsd`;
  }
  return "";
}

/**
 * Return a value as its option takes it; throws Refusal where it does not. most: limits of the
 * page, by name.
 * @type {(name: string, value: unknown, most: Record<string, number>) => unknown}
 */
function read(name, value, most) {
  const option = { ...KNOWN[name].anyOf?.[0], ...KNOWN[name] };
  const { type, title, minimum, maximum, oneOf, default: usual } = option;
  const called = title[0].toLowerCase() + title.slice(1);
  if (name === "forced") {
    const numbers = String(value).match(/\d+/g) ?? [];
    return numbers.map(Number);
  }
  if (type === "array" || type === "boolean") return usual;
  if (type === "string") {
    const names = oneOf?.map((choice) => choice.const);
    if (!names || names.includes(String(value))) return String(value);
    const known = names.filter(Boolean).join(", ");
    throw new Refusal(`unknown ${called} '${String(value).slice(0, 40)}': choose one of ${known}`);
  }
  const whole = type === "integer";
  const high = Math.min(maximum ?? Infinity, most[name] ?? Infinity);
  const range = minimum === undefined ? "" : ` from ${minimum} to ${high}`;
  const need = `choose ${whole ? "a whole number" : "a number"}${range}`;
  const text = String(value).trim();
  const word = words(option).find((choice) => choice.const === text);
  if (word && word.maximum <= high) return text;
  const number = text === "" ? Number.NaN : Number(text);
  const isNumber = whole ? Number.isInteger(number) : Number.isFinite(number);
  const fits = isNumber && !(number < (minimum ?? number)) && number <= high;
  if (!fits) throw new Refusal(`${called} ${text.slice(0, 40) || "is empty"}: ${need}`);
  // a seed keeps all its digits
  return whole && minimum === undefined && !Number.isSafeInteger(number) ? text : number;
}

/**
 * Return the request for a run: all options with their values, and those of rules alone. page: what
 * it is made with, see hsd/app/site.py. Throws Refusal for the first value that is wrong.
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
  const free = sure && !options.confidence;
  options.confidence = sure ? options.confidence || LEAST : 0;
  const settings = { ...SETTINGS };
  for (const name of Object.keys(SETTINGS)) {
    settings[name] = options[name] ?? SETTINGS[name];
  }
  settings.mode = options.fuzzy_mode;
  settings.temperature = options.temperature;
  return { prompt, options: { ...options, engine: browser.engine }, settings, free };
}

/**
 * Return the options as the setup of a trace has them: in groups, and those of plain decoding
 * without a draft.
 * @param {Values} options
 */
function recorded(options) {
  const undrafted = { proposer: proposers[proposers.length - 1].name, gamma: 0 };
  const values = options.system === "plain" ? { ...options, ...undrafted } : options;
  /** @type {Values} */
  const groups = { knobs: {} };
  for (const [name, { at }] of Object.entries(KNOWN)) {
    const [group, inner] = at?.split(".") ?? [];
    if (inner) {
      groups[group] ??= {};
      groups[group][inner] = values[name];
    } else if (group) {
      groups[group] = values[name];
    }
  }
  groups.seed = Number(groups.seed);
  return groups;
}

/**
 * Return the lines that a reader of a run must know of its rule and its forced tokens.
 * @type {(options: Values) => string[]}
 */
function notes({ system, rule, temperature, forced, ...options }) {
  const { lossless, greedy, knob } = chain(rule);
  const lines = [];
  if (system !== "plain" && !lossless && !(greedy && temperature === 0)) {
    const line = exactWith(rule, { ...SETTINGS, ...options })
      ? `At ${knob?.title.toLowerCase()} ${knob?.exact} rule ${rule} is exact.`
      : `Rule ${rule} is not lossless: the text does not follow the target exactly.`;
    lines.push(line);
  }
  if (forced.length) {
    const count = `Forced tokens at the start of the text: ${forced.length}.`;
    lines.push(`${count} The rest follows from them.`);
  }
  return lines;
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

// Says the sentences of hsd/trace/sentences.yaml: puts facts into the slots of their templates, as
// parts for dom.prose. The head of that file explains how a template is written, and `Said` has the
// facts of each sentence. hsd/trace/sentences.py is the same for Python. Pure.
import { facts } from "../kit/facts.js";
import { exact, pair as apart, plural, real } from "../kit/format.js";

/** @typedef {Record<string, any>} Scope - facts by name, inner ones over outer ones */

const { sentences } = facts;
const CUT = 80; // characters of a token, or of a draft's text
const CONDITION = /^(not )?([\w.]+)(?: (=|>) (.+))?$/;
const MARK = /(\*\*|\[|\]\([\w-]+\)|\{[^{}]*\})/;
const SLOT = /^\{([\w.]+)(?:([|?])(.*))?\}$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is made visible
const UNSEEN = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
/** @type {Record<string, string>} */
const SIGNS = { "\t": "⇥", "\n": "⏎", "\r": "⏎" };

/**
 * The parts of a sentence with these facts: its first wording whose conditions hold; none where
 * none does.
 * @template {keyof Said} Name
 * @param {Name} name
 * @param {Said[Name]} known
 */
const say = (name, known) => joined(wording(name, known));

/** @type {(name: string, scope: Scope) => Filled[]} */
function wording(name, scope) {
  const ways = Object.entries(sentences[name]);
  const way = ways.find(([conditions]) => fits(conditions, scope));
  return way ? filled(way[1], scope) : [];
}

/**
 * A template with the facts in place of its slots, as parts.
 * @type {(text: string, scope: Scope) => Filled[]}
 */
function filled(text, scope) {
  const parts = /** @type {Filled[]} */ ([]);
  let from = -1; // where what is strong, or explained, begins
  for (const bit of text.split(MARK)) {
    if (bit.startsWith("{")) parts.push(...put(bit, scope));
    else if (bit.startsWith("](")) {
      const words = plain(parts.splice(from));
      parts.push({ words, term: bit.slice(2, -1) });
      from = -1;
    } else if (bit === "**" && from >= 0) {
      const strong = plain(parts.splice(from));
      parts.push({ strong });
      from = -1;
    } else if (bit === "[" || bit === "**") from = parts.length;
    else parts.push(bit);
  }
  return parts;
}

/**
 * Whether all conditions of a wording hold.
 * @type {(conditions: string, scope: Scope) => boolean}
 */
function fits(conditions, scope) {
  if (conditions === "else") return true;
  return conditions.split(", ").every((condition) => holds(condition, scope));
}

/** @type {(condition: string, scope: Scope) => boolean} */
function holds(condition, scope) {
  const [, negated, path, sign, value] = CONDITION.exec(condition) ?? [];
  const [inner, name] = reach(path, scope);
  const fact = inner[name];
  let held = Array.isArray(fact) ? fact.length > 0 : Boolean(fact);
  if (sign === "=") held = String(fact) === value;
  if (sign === ">") held = (fact ?? 0) > Number(value);
  return held !== Boolean(negated);
}

/**
 * The facts that a dotted path leads to, laid over the outer ones, and its last name. There are
 * none where a record on the way is missing.
 * @type {(path: string, scope: Scope) => [scope: Scope, name: string]}
 */
function reach(path, scope) {
  const way = path.split(".");
  const name = way.splice(-1)[0];
  let inner = scope;
  for (const step of way) {
    const record = inner[step];
    inner = record ? { ...inner, ...record } : {};
  }
  return [inner, name];
}

/**
 * What stands in the place of {path}, {path|noun} or {path?singular:plural}.
 * @type {(slot: string, scope: Scope) => Filled[]}
 */
function put(slot, scope) {
  const [, path, sign, words] = SLOT.exec(slot) ?? [];
  const [inner, name] = reach(path, scope);
  const fact = inner[name];
  if (sign === "|") return [plural(fact ?? 0, words)];
  if (sign === "?") {
    const [singular, other] = words.split(":");
    return [fact === 1 ? singular : other];
  }
  if (Array.isArray(fact)) {
    const end = fact.at(-1);
    const scopes = fact.map((item) => ({ ...inner, ...item, last: item === end }));
    return scopes.flatMap((each) => wording(name, each));
  }
  if (name in sentences) {
    const isMissing = Object.keys(inner).length === 0;
    return isMissing ? [] : wording(name, inner);
  }
  if (typeof fact === "object") return fact ? [fact] : [];
  return [String(fact ?? "")];
}

/** Neighbouring texts as one. @param {Filled[]} parts */
function joined(parts) {
  const out = /** @type {Filled[]} */ ([]);
  for (const part of parts) {
    const last = out.at(-1);
    const isText = typeof part === "string" && typeof last === "string";
    if (isText) out[out.length - 1] = last + part;
    else if (part !== "") out.push(part);
  }
  return out;
}

/** Parts as one plain text, tokens quoted. @param {Filled[]} parts */
const plain = (parts) => parts.map(inWords).join("");

const inWords = (/** @type {Filled} */ part) => {
  if (typeof part === "string") return part;
  if (part.piece !== undefined) return quoted(part.piece);
  return part.strong ?? part.words;
};

/** A token in quotation marks on one line, its ends visible. @param {string} piece */
function quoted(piece) {
  const visible = piece.replace(UNSEEN, (sign) => SIGNS[sign] ?? "�");
  const shown = [...visible];
  const cut = shown.length > CUT ? "…" : "";
  return `“${shown.slice(0, CUT).join("")}${cut}”`;
}

// ---- how numbers and lists are written in a sentence

/**
 * A number with so many digits, one below 0.001 with `tiny` and a power of ten.
 * @param {Real | null} x
 */
const number = (x, digits = 3, tiny = 2) => exact(real(x), digits, tiny);

/**
 * Both numbers with as many digits, at least `start`, as it takes to see which one is larger.
 * @type {(a: Real | null, b: Real | null, start?: number) => string[]}
 */
const pair = (a, b, start = 2) => apart(real(a), real(b), 2, start);

/** "1, 2 and 3". @param {(string | number)[]} words */
function listing(words) {
  const [end = "", ...before] = words.toReversed();
  return before.length ? `${before.reverse().join(", ")} and ${end}` : String(end);
}

export { filled, listing, number, pair, plain, say };

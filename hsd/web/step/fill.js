// Sentences as data: from a name and the facts to words, as parts for dom.prose. How they are
// written is explained in hsd/trace/sentences.yaml; hsd/trace/fill.py is the same for Python. Pure.
import { facts } from "../kit/facts.js";
import { exact, pair as apart, plural, real } from "../kit/format.js";

// Of each name its ways to be said: a text, after conditions where it has some.
const sentences = /** @type {Record<string, (string | string[])[]>} */ (facts.sentences);
const CUT = 80; // characters of a token, or of a draft's text
const CONDITION = /^(not )?([^=>]+?)(?: (=|>) (.+))?$/;
const MARK = /(\*\*|\[|\]\([\w-]+\)|\{[^{}]*\})/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is made visible
const UNSEEN = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/**
 * Sentence parts: the first way to say `name` whose conditions hold, filled in; none where none
 * does.
 * @type {(name: string, known: SentenceFacts) => Filled[]}
 */
function say(name, known) {
  for (const way of sentences[name] ?? []) {
    const [text, ...conditions] = [way].flat().reverse();
    if (conditions.every((condition) => holds(condition, known)))
      return joined(filled(text, known));
  }
  return [];
}

/**
 * A way to say something, its slots filled.
 * @type {(text: string, known: SentenceFacts) => Filled[]}
 */
function filled(text, known) {
  const parts = /** @type {Filled[]} */ ([]);
  let from = -1; // where what is strong, or explained, begins
  for (const bit of text.split(MARK)) {
    if (bit === "[" || (bit === "**" && from < 0)) from = parts.length;
    else if (bit === "**" || bit.startsWith("](")) {
      const words = plain(parts.splice(from));
      parts.push(bit === "**" ? { strong: words } : { words, term: bit.slice(2, -1) });
      from = -1;
    } else if (bit.startsWith("{")) parts.push(...put(bit.slice(1, -1), known));
    else parts.push(bit);
  }
  return parts;
}

/** @type {(condition: string, known: SentenceFacts) => boolean} */
function holds(condition, known) {
  const [, negated, path, sign, value] = CONDITION.exec(condition) ?? [];
  const [scope, key] = reach(path, known);
  const fact = scope[key];
  const held =
    sign === undefined
      ? Boolean(fact)
      : sign === "="
        ? String(fact) === value
        : (fact || 0) > value;
  return held !== Boolean(negated);
}

/**
 * The facts that a dotted path leads to, over those on its way, and its last name.
 * @type {(path: string, known: SentenceFacts) => [SentenceFacts, string]}
 */
function reach(path, known) {
  const way = path.split(".");
  const key = way.pop() ?? "";
  const scopes = way.map((step) => known[step]);
  return [scopes.every(Boolean) ? Object.assign({}, known, ...scopes) : {}, key];
}

/** What stands in the place of {slot}. @type {(slot: string, known: SentenceFacts) => Filled[]} */
function put(slot, known) {
  const [, path, sign, noun] = /^([^|?]*)([|?])?(.*)$/.exec(slot) ?? [];
  const [scope, key] = reach(path, known);
  const value = scope[key];
  if (sign === "?") return [noun.split(":")[value === 1 ? 0 : 1]];
  if (sign) return [plural(value || 0, noun)];
  if (value === undefined || value === null)
    return Object.keys(scope).length ? say(key, scope) : [];
  if (Array.isArray(value)) return value.flatMap((item) => say(key, { ...scope, ...item }));
  return [typeof value === "object" ? value : String(value)];
}

/** Neighbouring strings as one. @param {Filled[]} parts */
function joined(parts) {
  const out = /** @type {Filled[]} */ ([]);
  for (const part of parts) {
    const last = out.at(-1);
    if (typeof part === "string" && typeof last === "string") out[out.length - 1] = last + part;
    else if (part !== "") out.push(part);
  }
  return out;
}

/** Parts as one plain string, tokens quoted. @param {Filled[]} parts */
const plain = (parts) => parts.map(inWords).join("");

const inWords = (/** @type {Filled} */ part) => {
  if (typeof part === "string") return part;
  return part.piece === undefined ? (part.strong ?? part.words) : quoted(part.piece);
};

/** Text on one line, its ends visible. @param {string} piece */
function quoted(piece) {
  const shown = [
    ...piece.replace(UNSEEN, (sign) => (sign === "\t" ? "⇥" : "\n\r".includes(sign) ? "⏎" : "�")),
  ];
  return shown.length > CUT ? `“${shown.slice(0, CUT).join("")}…”` : `“${shown.join("")}”`;
}

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

/** "1, 2 and 3". @param {(string | number)[]} all */
const listing = (all) =>
  [all.slice(0, -1).join(", "), ...all.slice(-1)].filter(String).join(" and ");

export { filled, listing, number, pair, plain, say };

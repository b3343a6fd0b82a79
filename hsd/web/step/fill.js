// Sentences as data: from a name and the facts to words, as parts for dom.prose. How they are written
// is explained in hsd/trace/sentences.yaml; hsd/trace/fill.py is the same for Python. Pure.
import { facts } from "../kit/facts.js";
import { count, exact, number as usual, pair as apart, real } from "../kit/format.js";

const { sentences } = facts;
const CUT = 80; // characters of a token, or of a draft's text
const CONDITION = /^(not )?([^=>]+?)(?: (=|>) (.+))?$/;
const MARK = /(\*\*|\[|\]\([\w-]+\)|\{[^{}]*\})/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is made visible
const UNSEEN = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Sentence parts: the first way to say `name` whose conditions hold, filled in; none where none does. */
function say(name, known) {
  for (const way of sentences[name] || []) {
    const conditions = Array.isArray(way) ? way.slice(0, -1) : [];
    const text = Array.isArray(way) ? way[way.length - 1] : way;
    if (conditions.every((condition) => holds(condition, known))) return joined(filled(text, known));
  }
  return [];
}

function filled(text, known) {
  const parts = [];
  let from = null; // where what is strong, or explained, begins
  for (const bit of text.split(MARK)) {
    if (bit === "[" || (bit === "**" && from === null)) from = parts.length;
    else if (bit === "**") parts.push({ strong: plain(parts.splice(from)) });
    else if (bit.startsWith("](")) parts.push({ words: plain(parts.splice(from)), term: bit.slice(2, -1) });
    else if (bit.startsWith("{")) parts.push(...put(bit.slice(1, -1), known));
    else parts.push(bit);
    if (parts.length && (parts[parts.length - 1].strong || parts[parts.length - 1].term)) from = null;
  }
  return parts;
}

function holds(condition, known) {
  const [, negated, path, sign, value] = CONDITION.exec(condition);
  const [scope, key] = reach(path, known);
  const found = scope[key];
  const held = sign === undefined ? Boolean(found) : sign === "=" ? String(found) === value : (found || 0) > value;
  return held !== Boolean(negated);
}

/** The facts that a dotted path leads to, over those on its way, and its last name. */
function reach(path, known) {
  const way = path.split(".");
  const key = way.pop();
  const scopes = way.map((step) => known[step]);
  return [scopes.every(Boolean) ? Object.assign({}, known, ...scopes) : {}, key];
}

/** What stands in the place of {slot}. */
function put(slot, known) {
  const [, path, sign, noun] = /^([^|?]*)([|?])?(.*)$/.exec(slot);
  const [scope, key] = reach(path, known);
  const value = scope[key];
  if (sign === "?") return [noun.split(":")[value === 1 ? 0 : 1]];
  if (sign) return [`${count(value || 0)} ${noun}${value === 1 ? "" : "s"}`];
  if (value === undefined || value === null) return Object.keys(scope).length ? say(key, scope) : [];
  if (Array.isArray(value)) return value.flatMap((item) => say(key, { ...scope, ...item }));
  return [typeof value === "object" ? value : String(value)];
}

/** Neighbouring strings as one. */
function joined(parts) {
  const out = [];
  for (const part of parts) {
    const last = out.length - 1;
    if (typeof part === "string" && typeof out[last] === "string") out[last] += part;
    else if (part !== "") out.push(part);
  }
  return out;
}

/** Parts as one plain string, tokens quoted. */
const plain = (parts) =>
  parts.map((part) => (part.piece === undefined ? (part.strong ?? part.words ?? part) : quoted(part.piece))).join("");

/** Text on one line, its ends visible. */
function quoted(piece) {
  const shown = [...piece.replace(UNSEEN, (sign) => ({ "\n": "⏎", "\r": "⏎", "\t": "⇥" })[sign] ?? "�")];
  return shown.length > CUT ? `“${shown.slice(0, CUT).join("")}…”` : `“${shown.join("")}”`;
}

/** A number with so many digits, one below 0.001 with `tiny` and a power of ten. */
const number = (x, digits = 3, tiny = 2) => (x === null ? usual(x) : exact(real(x), digits, tiny));

/** Both numbers with as many digits, at least `start`, as it takes to see which one is larger. */
const pair = (a, b, start = 2) => apart(real(a), real(b), 2, start);

export { filled, number, pair, plain, quoted, say };

// The text of tokens in a row: a character that several of them spell is whole, as is a sign of
// several characters. A token has a piece, and bytes in hexadecimal where it is not whole
// characters. hsd/trace/format.py is the same for Python.
import { signBegin } from "./features.js";

const NEXT = "[89AB].";
// two of the bytes of a character that has three
const THREE = "(?:E0[AB].|E[1-9A-CEF][89AB].|ED[89].)";
const FOUR = `(?:F0[9AB].|F[1-3][89AB].|F48.)${NEXT}`;
const CHARACTERS = new RegExp(
  `[0-7].|(?:C[2-9A-F]|D.)${NEXT}|(?:${THREE}|${FOUR})${NEXT}|(..)`,
  "g",
);
const HEXADECIMAL = /^(?:[\dA-F]{2})*$/;
const ASCII = /^[ -~]/;
const INSIDE = /^(?:[89AB]|$)/; // bytes that do not begin a character
const NEAR = 32; // tokens back to where new ones may change the text

/**
 * Return the spans that each token adds to their text. A span has bytes where it makes no
 * character. A whole character belongs to the last of its tokens.
 * @param {Token[]} tokens
 * @returns {Span[][]}
 */
function written(tokens) {
  /** @type {Span[][]} */
  const parts = tokens.map(() => []);
  let hex = "";
  let owners = /** @type {number[]} */ ([]);
  /** @type {(i: number, text: string, bytes: boolean) => void} */
  const add = (i, text, bytes) => {
    const last = parts[i].at(-1);
    if (last?.bytes === bytes) last.text += (bytes ? " " : "") + text;
    else parts[i].push({ text, bytes });
  };
  const ended = [...tokens, { piece: "" }];
  for (const [i, { piece, bytes }] of ended.entries()) {
    if (typeof bytes === "string" && HEXADECIMAL.test(bytes)) {
      hex += bytes;
      owners.push(...Array(bytes.length / 2).fill(i));
      continue;
    }
    for (const { 0: digits, 1: loose, index } of hex.matchAll(CHARACTERS)) {
      const owner = owners[(index + digits.length) / 2 - 1];
      const text = loose ?? decodeURIComponent(digits.replace(/../g, "%$&"));
      add(owner, text, !!loose);
    }
    hex = "";
    owners = [];
    if (piece) add(i, piece, false);
  }
  joinSigns(parts.flat());
  return parts.map((own) => own.filter(({ text }) => text));
}

/**
 * Move the beginning of a sign to where it ends: a letter to its vowel, half a flag to its other
 * half.
 * @param {Span[]} parts
 */
function joinSigns(parts) {
  let before = { text: "", bytes: true };
  for (const part of parts) {
    if (!before.bytes && !part.bytes && !ASCII.test(part.text)) {
      const index = signBegin(before.text + part.text, before.text.length);
      part.text = before.text.slice(index) + part.text;
      before.text = before.text.slice(0, index);
    }
    before = part;
  }
}

/**
 * Return the text of tokens. Bytes that make no character are in hexadecimal: "F0 9F", or beside
 * text "a⟨F0 9F⟩".
 * @param {Token[]} tokens
 */
function together(tokens) {
  const parts = written(tokens).flat();
  const [open, close] = parts.every(({ bytes }) => bytes) ? ["", ""] : "⟨⟩";
  return parts
    .map(({ text, bytes }, i) => {
      if (!bytes) return text;
      const before = parts[i - 1]?.bytes ? " " : open;
      const after = parts[i + 1]?.bytes ? "" : close;
      return before + text + after;
    })
    .join("");
}

/**
 * Return the last place, `far` tokens or more before the end, at which a character begins.
 * @type {(tokens: Token[], far: number) => number}
 */
function begin(tokens, far) {
  let at = Math.max(tokens.length - far, 0);
  const goesOn = (/** @type {Token | undefined} */ token) =>
    token !== undefined && INSIDE.test(token.bytes ?? "-");
  while (at > 0 && goesOn(tokens[at])) at -= 1;
  return at;
}

/** A text that grows. */
class Running {
  tokens = /** @type {Token[]} */ ([]);
  /** @type {string[]} what each token adds, as JSON */
  shown = [];

  /**
   * Add tokens. Returns the place and the spans of each of them, and of those before them whose
   * spans have changed.
   * @param {Token[]} more
   */
  add(more) {
    const known = this.tokens.length;
    const from = begin(this.tokens, 2 * NEAR);
    for (const token of more) this.tokens.push(token);
    const changed = /** @type {[number, Span[]][]} */ ([]);
    for (const [i, parts] of written(this.tokens.slice(from)).entries()) {
      const place = from + i;
      const now = JSON.stringify(parts);
      const settled = from > 0 && place < known - NEAR;
      if (settled || now === this.shown[place]) continue;
      this.shown[place] = now;
      changed.push([place, parts]);
    }
    return changed;
  }
}

export { begin, Running, together, written };

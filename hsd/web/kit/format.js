// Numbers and token text as they are shown to a reader. Knows nothing of the page and nothing of
// traces. Token text is hostile: everything here returns plain strings, for textContent and
// attributes only.
import { signsOf } from "./features.js";

const MISSING = "–";
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";
/**
 * A number of a trace, in which infinity is a text.
 * @template {Real | null | undefined} X
 * @param {X} x
 * @returns {Exclude<X, string> | number}
 */
function real(x) {
  if (x === "Infinity") return Infinity;
  if (x === "-Infinity") return -Infinity;
  return /** @type {Exclude<X, string>} */ (x);
}

/** @param {Maybe} x @returns {x is number} */
const known = (x) => x !== null && x !== undefined && !Number.isNaN(x);

/**
 * Return a number as text: "0.413", "1", "0", "<.001", ">.999", "<1.001".
 * @type {(x: Maybe, digits?: number) => string}
 */
function number(x, digits = 3) {
  if (!known(x)) return MISSING;
  if (x < 0) return `−${number(-x, digits)}`;
  if (x > 0 && x < 0.001) return "<.001";
  const looksLikeOne = x < 1.001 && Number(x.toPrecision(digits)) === 1;
  if (x !== 1 && looksLikeOne) return x < 1 ? ">.999" : "<1.001";
  return exact(x, digits);
}

/**
 * As `number`, but tiny values keep digits: inside a formula "<.001" would say nothing.
 * @type {(x: Maybe, digits?: number, tiny?: number) => string}
 */
function exact(x, digits = 3, tiny = 2) {
  if (!known(x)) return MISSING;
  if (x < 0) return `−${exact(-x, digits, tiny)}`;
  if (x === Infinity) return "∞";
  const shown = rounded(x, digits, tiny);
  return shown && (x < 1e-3 || x >= 1e4) ? scientific(shown) : String(shown);
}

/**
 * Round x to `digits` significant digits, to `tiny` below 0.001. Below 10,000 keep all digits
 * before the point; where the result would look like 1, keep more, up to nine.
 * @type {(x: number, digits?: number, tiny?: number) => number}
 */
function rounded(x, digits = 3, tiny = 2) {
  const size = Math.abs(x);
  let count = digits;
  if (size < 1e-3) {
    count = tiny;
  } else if (size < 1e4) {
    const before = String(Math.trunc(size)).length;
    count = Math.max(digits, before);
  }
  const result = Number(x.toPrecision(count));
  const looksLikeOne = Math.abs(result) === 1 && size !== 1;
  return looksLikeOne && count < 9 ? rounded(x, count + 1) : result;
}

/** "1.2·10⁻⁵". @param {number} x */
function scientific(x) {
  const [mantissa, exponent] = x.toExponential().split("e");
  const signs = [...String(Number(exponent))];
  const raised = signs.map((sign) => SUPERSCRIPTS[Number(sign)] ?? "⁻").join("");
  return `${Number(mantissa)}·10${raised}`;
}

/**
 * For tight places: at most two significant digits, no leading zero: ".41", ".004", "1".
 * @param {number} x
 */
function short(x) {
  let digits = 2;
  if (x >= 0.995 && x < 1.05) digits = 3;
  else if (Math.abs(x) < 0.01) digits = 1;
  return number(x, digits).replace(/^(−?)0\./, "$1.");
}

/** "41 %", with at most two digits. @param {Maybe} x */
function percent(x) {
  if (!known(x)) return MISSING;
  if (x > 0 && x < 0.001) return "<0.1 %";
  if (x >= 0.9995 && x < 1) return ">99.9 %";
  const digits = x >= 0.995 && x < 1 ? 3 : 2;
  return `${Number((100 * x).toPrecision(digits))} %`;
}

const total = (/** @type {number[]} */ numbers) => numbers.reduce((a, b) => a + b, 0);

/**
 * Return shares that add up to 1 as texts that do so too: [".11", ".59", ".3"]. Where one is small,
 * all get up to five places; fixed: how many they get in any case.
 * @type {(shares: number[], fixed?: number) => string[]}
 */
function adding(shares, fixed) {
  const enough = (/** @type {number} */ n) => shares.every((x) => x <= 0 || x >= 0.5 * 10 ** -n);
  const places = fixed ?? ([2, 3, 4].find(enough) || 5);
  const units = shares.map((x) => x * 10 ** places);
  const shown = units.map(Math.floor);
  const dropped = (/** @type {number} */ i) => units[i] % 1;
  const order = [...units.keys()].sort((a, b) => dropped(b) - dropped(a));
  const left = Math.round(total(units)) - total(shown);
  for (const i of order.slice(0, left)) shown[i] += 1;
  return shown.map((n) => {
    const share = Number((n / 10 ** places).toFixed(places));
    return String(share).replace(/^0\./, ".");
  });
}

/**
 * Return how many digits it takes to see which of two numbers is larger: of all numbers, and of
 * those below 0.001. At least `start` and `tiny`.
 * @type {(a: Maybe, b: Maybe, start?: number, tiny?: number) => [number, number]}
 */
function apart(a, b, start = 2, tiny = 2) {
  for (let digits = start; digits < 19; digits += 1) {
    const counts = /** @type {[number, number]} */ ([digits, Math.max(digits - 2, tiny)]);
    if (a === b) return counts;
    if (exact(a, ...counts) !== exact(b, ...counts)) return counts;
  }
  return [19, 19];
}

/**
 * Both numbers with as many digits as it takes to see which one is larger.
 * @type {(a: Maybe, b: Maybe, tiny?: number, start?: number) => string[]}
 */
function pair(a, b, tiny = 2, start = 2) {
  const digits = apart(a, b, start, tiny);
  return [a, b].map((x) => exact(x, ...digits));
}

/**
 * Return one text for two numbers that agree in four significant digits, or in five; null where
 * they do not.
 * @type {(a: Maybe, b: Maybe) => string | null}
 */
function same(a, b) {
  for (const digits of [4, 5]) {
    const text = exact(a, digits, digits);
    if (text === exact(b, digits, digits)) return text;
  }
  return null;
}

/**
 * Return the numbers of a formula as texts, with the fewest digits, `start` at least, that keep it
 * true, and whether there is such a count of digits. holds(numbers): whether the formula is true
 * for rounded numbers. Values that are no numbers have no text.
 * @template {Record<string, unknown>} N
 * @param {N} numbers
 * @param {(numbers: N) => unknown} holds
 */
function shortest(numbers, holds, start = 3) {
  const given = Object.entries(numbers).flatMap(([name, x]) =>
    typeof x === "number" ? [{ name, x }] : [],
  );
  /**
   * @template X
   * @param {number} digits
   * @param {(x: number, digits: number, tiny: number) => X} change
   * @returns {Record<string, X>}
   */
  const each = (digits, change) => {
    const entries = given.map(({ name, x }) => [name, change(x, digits, digits - 1)]);
    return Object.fromEntries(entries);
  };
  for (let digits = start; digits < 16; digits += 1) {
    if (holds({ ...numbers, ...each(digits, rounded) }))
      return { texts: each(digits, exact), holds: true };
  }
  return { texts: each(start, exact), holds: false };
}

/**
 * Return with how many places after the point two numbers and their difference add up as printed,
 * the difference not as 0.
 * @type {(a: number, b: number) => number}
 */
function placesOf(a, b) {
  const adds = (/** @type {number} */ n) => {
    const difference = (a - b).toFixed(n);
    const printed = Number(a.toFixed(n)) - Number(b.toFixed(n));
    return Number(difference) && printed.toFixed(n) === difference;
  };
  return [2, 3, 4, 5, 6].find(adds) ?? 9;
}

const THOUSANDS = /\B(?=(\d{3})+$)/g;
/** "12,345". @param {number} n */
const count = (n) => String(Math.round(n)).replace(THOUSANDS, ",");
/** "1 token", "2 tokens". @type {(n: number, noun: string) => string} */
const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

/** "₁₂". @param {number | string} n */
function subscript(n) {
  const digits = [...String(n)];
  return digits.map((digit) => SUBSCRIPTS[Number(digit)]).join("");
}

/** @type {Record<string, string>} */
const MARKS = { " ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍", "\u00a0": "⍽", "\u3000": "⍽" };
// Characters that show nothing, or that reorder what stands around them.
const HIDDEN = new RegExp(
  "[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5" +
    "\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u3164\\ufeff\\uffa0" +
    "\\ufff0-\\ufffb\\ud800-\\udfff]|[\\u{e0000}-\\u{e0fff}]",
  "u",
);

// A letter: an emoji joined from several signs, a letter whose form a joiner chooses, or any
// character.
const SIGN = "\\p{Extended_Pictographic}";
const LETTERS = new RegExp(
  `${SIGN}(?:[\\ufe0f\\u{1f3fb}-\\u{1f3ff}]|\\u200d${SIGN})*` +
    "|(?!\\p{Script=Latin})[\\p{L}\\p{M}][\\u200c\\u200d](?=[\\p{L}\\p{M}])" +
    "|[\\s\\S]",
  "gu",
);
// One of several characters: what it hides belongs to it.
const JOINED = /^[\p{Extended_Pictographic}\p{L}\p{M}]./u;
const BYTES = /^[89A-F][\dA-F]( [89A-F][\dA-F])+$/; // a piece that makes no character

/**
 * A sign in place of a character that shows nothing; null for all others.
 * @param {string} character
 */
function mark(character) {
  if (MARKS[character]) return MARKS[character];
  if (!HIDDEN.test(character) || JOINED.test(character)) return null;
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return code === 0x7f ? "␡" : `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/**
 * Return the runs of a piece, in order. mark: it stands for something invisible, but for the spaces
 * between bytes; line: it ends a line.
 * @param {string} piece
 */
function runs(piece) {
  const out = /** @type {{text: string, mark: boolean, line: boolean}[]} */ ([]);
  const isBytes = BYTES.test(piece);
  for (const character of piece.match(LETTERS) || []) {
    const sign = isBytes && character === " " ? null : mark(character);
    const line = character === "\n";
    const last = out.at(-1);
    if (sign !== null) out.push({ text: sign, mark: true, line });
    else if (last && !last.mark) last.text += character;
    else out.push({ text: character, mark: false, line: false });
  }
  for (const run of out) {
    const begun = run.text.replace(/^\p{M}/u, "◌$&");
    run.text = begun.replace(/(\p{M}{5})\p{M}+/gu, "$1…");
  }
  return out;
}

/** A piece as a reader sees it. @param {string} piece */
const visible = (piece) =>
  piece === ""
    ? "∅"
    : runs(piece)
        .map((run) => run.text)
        .join("");

const WIDE = new RegExp(
  "[\\u1100-\\u115f\\u2e80-\\u303e\\u3041-\\ua4cf\\uac00-\\ud7a3\\uf900-\\ufaff" +
    "\\ufe30-\\ufe6f\\uff00-\\uff60]|[\\u{1f000}-\\u{3ffff}]",
  "u",
);

/**
 * The visible text cut to `cells` monospace cells, with an ellipsis; towers of accents are cut as
 * well.
 * @type {(piece: string, cells: number) => string}
 */
function shorten(piece, cells) {
  const text = visible(piece).slice(0, 8 * cells);
  const letters = signsOf(text);
  let out = "";
  let used = 0;
  for (const [i, letter] of letters.entries()) {
    const width = WIDE.test(letter) ? 2 : 1;
    const isLast = i === letters.length - 1;
    const most = isLast ? cells : cells - 1;
    if (used + width > most) return out + "…";
    out += Array.from(letter).slice(0, 16).join("");
    used += width;
  }
  return out;
}

/** How many parameters a model has: 3.9 M, 135 M, 7.62 B. @param {number} n */
function size(n) {
  if (n >= 1e9) return `${(n / 1e9).toPrecision(3)} B`;
  const digits = n < 1e7 ? 2 : 3;
  return `${(n / 1e6).toPrecision(digits)} M`;
}

/**
 * A date as a reader sees it, such as 25 Nov 2026; of one that cannot be read its first letters.
 * @param {string} created
 */
function day(created) {
  const date = new Date(created);
  const format = /** @type {const} */ ({ dateStyle: "medium", timeZone: "UTC" });
  return Number.isNaN(date.getTime())
    ? String(created).slice(0, 20)
    : date.toLocaleDateString("en-GB", format);
}

export { number, exact, short, percent, pair, apart, same, shortest, placesOf, adding, count };
export { day, plural, real, subscript, runs, visible, shorten, size };

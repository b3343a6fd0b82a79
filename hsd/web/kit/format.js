// Numbers and token text as they are shown to a reader. Knows nothing of the page and nothing of traces.
// Token text is hostile: everything here returns plain strings, for textContent and attributes only.
const MISSING = "–";
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";
/** A number of a trace, in which infinity is a text. @template {Real | null | undefined} X @param {X} x @returns {Exclude<X, string> | number} */
const real = (x) =>
  x === "Infinity" ? Infinity : x === "-Infinity" ? -Infinity : /** @type {Exclude<X, string>} */ (x);

/** @param {Maybe} x @returns {x is number} */
const known = (x) => x !== null && x !== undefined && !Number.isNaN(x);

/** "0.413", "1", "0", "<.001", ">.999", "<1.001": three significant digits unless told otherwise. @type {(x: Maybe, digits?: number) => string} */
function number(x, digits = 3) {
  if (!known(x)) return MISSING;
  if (x < 0) return `−${number(-x, digits)}`;
  if (x > 0 && x < 0.001) return "<.001";
  if (x !== 1 && x < 1.001 && Number(x.toPrecision(digits)) === 1) return x < 1 ? ">.999" : "<1.001";
  return exact(x, digits);
}

/** As `number`, but tiny values keep digits: inside a formula "<.001" would say nothing. @type {(x: Maybe, digits?: number, tiny?: number) => string} */
function exact(x, digits = 3, tiny = 2) {
  if (!known(x)) return MISSING;
  if (x < 0) return `−${exact(-x, digits, tiny)}`;
  if (x === Infinity) return "∞";
  const told = rounded(x, digits, tiny);
  return told && (x < 1e-3 || x >= 1e4) ? scientific(told) : String(told);
}

/**
 * Round x to `digits` significant digits, to `tiny` below 0.001. Below 10,000 keep all digits before the point; where
 * the result would look like 1, keep more, up to nine.
 * @type {(x: number, digits?: number, tiny?: number) => number}
 */
function rounded(x, digits = 3, tiny = 2) {
  const size = Math.abs(x);
  const count = size < 1e-3 ? tiny : size < 1e4 ? Math.max(digits, String(Math.trunc(size)).length) : digits;
  const told = Number(x.toPrecision(count));
  return Math.abs(told) === 1 && size !== 1 && count < 9 ? rounded(x, count + 1) : told;
}

function scientific(/** @type {number} */ x) {
  const [mantissa, exponent] = x.toExponential().split("e");
  const raised = [...String(Number(exponent))].map((sign) => SUPERSCRIPTS[Number(sign)] ?? "⁻").join("");
  return `${Number(mantissa)}·10${raised}`;
}

/** For tight places: at most two significant digits, no leading zero: ".41", ".004", "1". @param {number} x */
function short(x) {
  const digits = x >= 0.995 && x < 1.05 ? 3 : Math.abs(x) < 0.01 ? 1 : 2;
  return number(x, digits).replace(/^(−?)0\./, "$1.");
}

/** "41 %", with at most two digits. @param {Maybe} x */
function percent(x) {
  if (!known(x)) return MISSING;
  if (x > 0 && x < 0.001) return "<0.1 %";
  if (x >= 0.9995 && x < 1) return ">99.9 %";
  return `${Number((100 * x).toPrecision(x >= 0.995 && x < 1 ? 3 : 2))} %`;
}

/**
 * Shares that add up to 1, rounded so that what is shown does too: [".11", ".59", ".3"]. Small ones get up to five
 * places.
 * @param {number[]} shares
 */
function adding(shares) {
  const places = [2, 3, 4].find((n) => shares.every((x) => x <= 0 || x >= 0.5 * 10 ** -n)) || 5;
  const units = shares.map((x) => x * 10 ** places);
  const found = units.map(Math.floor);
  const order = units.map((_, i) => i).sort((a, b) => (units[b] % 1) - (units[a] % 1));
  const left = Math.round(units.reduce((a, b) => a + b, 0)) - found.reduce((a, b) => a + b, 0);
  for (const i of order.slice(0, left)) found[i] += 1;
  return found.map((n) => String(Number((n / 10 ** places).toFixed(places))).replace(/^0\./, "."));
}

/** How many digits, of small numbers too, it takes to see which of both is larger; at least `start`. @type {(a: Maybe, b: Maybe, start?: number, tiny?: number) => [number, number]} */
function apart(a, b, start = 2, tiny = 2) {
  for (let digits = start; digits < 19; digits += 1) {
    const found = /** @type {[number, number]} */ ([digits, Math.max(digits - 2, tiny)]);
    if (a === b || exact(a, ...found) !== exact(b, ...found)) return found;
  }
  return [19, 19];
}

/** Both numbers with as many digits as it takes to see which one is larger. @type {(a: Maybe, b: Maybe, tiny?: number, start?: number) => string[]} */
function pair(a, b, tiny = 2, start = 2) {
  const digits = apart(a, b, start, tiny);
  return [a, b].map((x) => exact(x, ...digits));
}

/** One text for both numbers, where they agree in every digit of it: in four, or five; null where they do not. @type {(a: Maybe, b: Maybe) => string | null} */
function same(a, b) {
  const texts = [4, 5].map((digits) => [a, b].map((x) => exact(x, digits, digits)));
  return texts.find(([one, other]) => one === other)?.[0] ?? null;
}

/**
 * The numbers of a formula as texts, with the fewest digits, `start` at least, that keep it true, and whether any number
 * did. holds(numbers): whether the formula is true for rounded numbers. Other values are left out.
 * @template {Record<string, unknown>} N @param {N} numbers @param {(numbers: N) => unknown} holds
 */
function shortest(numbers, holds, start = 3) {
  const given = Object.entries(numbers).flatMap(([name, x]) => (typeof x === "number" ? [{ name, x }] : []));
  /** @template X @param {number} digits @param {(x: number, digits: number, tiny: number) => X} one */
  const each = (digits, one) => Object.fromEntries(given.map(({ name, x }) => [name, one(x, digits, digits - 1)]));
  for (let digits = start; digits < 16; digits += 1)
    if (holds({ ...numbers, ...each(digits, rounded) })) return { texts: each(digits, exact), holds: true };
  return { texts: each(start, exact), holds: false };
}

/** With how many places after the point two numbers and their difference, which is then not 0, add up as printed. @type {(a: number, b: number) => number} */
function placesOf(a, b) {
  const adds = (/** @type {number} */ n) =>
    Number((a - b).toFixed(n)) && (Number(a.toFixed(n)) - Number(b.toFixed(n))).toFixed(n) === (a - b).toFixed(n);
  return [2, 3, 4, 5, 6].find(adds) ?? 9;
}

const STUDENT = [Infinity, 12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.306]; // of 0 … 8

/** How many standard errors a 95 % interval reaches to each side, by Student's t with these degrees of freedom. @param {number} freedom */
function student(freedom) {
  if (freedom < STUDENT.length) return STUDENT[Math.floor(freedom)];
  const z = 1.959963984540054;
  const terms = [
    (z ** 3 + z) / 4,
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
    (79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / 92160,
  ];
  return terms.reduce((total, term, i) => total + term / freedom ** (i + 1), z);
}

/** "12,345". @param {number} n */
const count = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
/** "1 token", "2 tokens". @type {(n: number, noun: string) => string} */
const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
/** @param {number | string} n */
const subscript = (n) => [...String(n)].map((digit) => SUBSCRIPTS[Number(digit)]).join("");

/** @type {Record<string, string>} */
const MARKS = { " ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍", "\u00a0": "⍽", "\u3000": "⍽" };
// Characters that show nothing, or that reorder what stands around them.
const HIDDEN = new RegExp(
  "[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f" +
    "\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\ud800-\\udfff]" +
    "|[\\u{e0000}-\\u{e0fff}]",
  "u",
);

// An emoji joined from several signs is one letter, as is one whose form a joiner chooses; the rest goes by characters.
const LETTERS =
  /\p{Extended_Pictographic}(?:[\ufe0f\u{1f3fb}-\u{1f3ff}]|\u200d\p{Extended_Pictographic})*|(?!\p{Script=Latin})[\p{L}\p{M}][\u200c\u200d](?=[\p{L}\p{M}])|[\s\S]/gu;

/** A sign in place of a character that shows nothing; null for all others. @param {string} character */
function mark(character) {
  if (MARKS[character]) return MARKS[character];
  if (!HIDDEN.test(character) || /^[\p{Extended_Pictographic}\p{L}\p{M}]./u.test(character)) return null;
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return code === 0x7f ? "␡" : `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** Runs of a piece, in order: {text, mark: for something invisible (not between bytes), line: ends one}. @param {string} piece */
function runs(piece) {
  const out = /** @type {{text: string, mark: boolean, line: boolean}[]} */ ([]);
  for (const character of piece.match(LETTERS) || []) {
    const sign = character === " " && /^[89A-F][\dA-F]( [89A-F][\dA-F])+$/.test(piece) ? null : mark(character);
    const last = out.at(-1);
    if (sign !== null) out.push({ text: sign, mark: true, line: character === "\n" });
    else if (last && !last.mark) last.text += character;
    else out.push({ text: character, mark: false, line: false });
  }
  for (const run of out) run.text = run.text.replace(/^\p{M}/u, "◌$&").replace(/(\p{M}{5})\p{M}+/gu, "$1…");
  return out;
}

/** A piece as a reader sees it. @param {string} piece */
const visible = (piece) =>
  piece === ""
    ? "∅"
    : runs(piece)
        .map((run) => run.text)
        .join("");

const segmenter = typeof Intl === "object" && Intl.Segmenter ? new Intl.Segmenter("und") : null;
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]|[\u{1f000}-\u{3ffff}]/u;

/** The visible text cut to `cells` monospace cells, with an ellipsis; towers of accents are cut as well. @type {(piece: string, cells: number) => string} */
function shorten(piece, cells) {
  const text = visible(piece).slice(0, 8 * cells);
  const letters = segmenter ? Array.from(segmenter.segment(text), (part) => part.segment) : Array.from(text);
  let out = "";
  let used = 0;
  for (const [i, letter] of letters.entries()) {
    const width = WIDE.test(letter) ? 2 : 1;
    const isLast = i === letters.length - 1;
    if (used + width > cells - (isLast ? 0 : 1)) return out + "…";
    out += Array.from(letter).slice(0, 16).join("");
    used += width;
  }
  return out;
}

/** How many parameters a model has: 3.9 M, 135 M, 7.62 B. @param {number} n */
function size(n) {
  return n >= 1e9 ? `${(n / 1e9).toPrecision(3)} B` : `${(n / 1e6).toPrecision(n < 1e7 ? 2 : 3)} M`;
}

/** A date as a reader sees it, such as 25 Nov 2026; of one that cannot be read its first letters. @param {string} created */
function day(created) {
  const date = new Date(created);
  const format = /** @type {const} */ ({ dateStyle: "medium", timeZone: "UTC" });
  return Number.isNaN(date.getTime()) ? String(created).slice(0, 20) : date.toLocaleDateString("en-GB", format);
}

export { number, exact, short, percent, pair, apart, same, shortest, student, placesOf, adding, count };
export { day, plural, real, subscript, runs, visible, shorten, size };

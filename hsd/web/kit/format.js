// Numbers and token text as they are shown to a reader. Knows nothing of the page and nothing of traces.
// Token text is hostile: everything here returns plain strings, for textContent and attributes only.
const MISSING = "–";
const SUPERSCRIPTS = {
  "-": "⁻",
  "0": "⁰",
  "1": "¹",
  "2": "²",
  "3": "³",
  "4": "⁴",
  "5": "⁵",
  "6": "⁶",
  "7": "⁷",
  "8": "⁸",
  "9": "⁹",
};
const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";
/** A number of a trace, in which infinity is a text. */
const real = (x) => (x === "Infinity" ? Infinity : x === "-Infinity" ? -Infinity : x);

const shown = (x) => x !== null && x !== undefined && !Number.isNaN(x);

/** "0.413", "1", "0", "<.001": three significant digits unless told otherwise. */
function number(x, digits = 3) {
  if (!shown(x)) return MISSING;
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  if (x === 0) return "0";
  if (x < 0) return "−" + number(-x, digits);
  if (x < 0.001) return "<.001";
  return x >= 1e4 ? scientific(x, digits) : String(Number(x.toPrecision(digits)));
}

/** As `number`, but tiny values keep digits: inside a formula "<.001" would say nothing. */
function exact(x, digits = 3, tinyDigits = 2) {
  if (!shown(x) || !Number.isFinite(x) || x === 0 || Math.abs(x) >= 0.001) return number(x, digits);
  return scientific(x, tinyDigits);
}

function scientific(x, digits) {
  const [mantissa, exponent] = x.toExponential(digits - 1).split("e");
  const raised = [...String(Number(exponent))].map((sign) => SUPERSCRIPTS[sign]).join("");
  return `${Number(mantissa)}·10${raised}`;
}

/** For tight places: at most two significant digits, no leading zero: ".41", ".004", "1". */
function short(x) {
  if (!shown(x)) return MISSING;
  const digits = x >= 0.995 && x < 1 ? 3 : Math.abs(x) < 0.01 ? 1 : 2;
  return number(x, digits).replace(/^(−?)0\./, "$1.");
}

function percent(x) {
  if (!shown(x)) return MISSING;
  if (x > 0 && x < 0.001) return "<0.1 %";
  return `${Number((100 * x).toPrecision(x >= 0.995 && x < 1 ? 3 : 2))} %`;
}

/**
 * Shares that add up to 1, rounded so that what is shown does too: [".11", ".59", ".3"]. Small ones get up to five
 * places.
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

/** Both numbers with as many digits as it takes to see which one is larger. */
function pair(a, b, tinyDigits = 2) {
  for (const digits of [2, 3, 4, 6, 9]) {
    const texts = [a, b].map((x) => exact(x, digits, Math.max(digits - 2, tinyDigits)));
    if (texts[0] !== texts[1] || a === b) return texts;
  }
  return [String(a), String(b)];
}

/** With as many digits as it takes to have four of 1 − x as well. */
function nearOne(x) {
  const nines = x > 0 && x < 1 ? Math.max(0, Math.floor(-Math.log10(1 - x))) : 0;
  return exact(x, Math.min(4 + nines, 12), 4);
}

const count = (n) =>
  Math.round(n)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
const subscript = (n) => [...String(n)].map((digit) => SUBSCRIPTS[digit]).join("");

const MARKS = new Map([
  [" ", "␣"],
  ["\n", "⏎"],
  ["\t", "⇥"],
  ["\r", "␍"],
  ["\u00a0", "⍽"],
  ["\u3000", "⍽"],
]);
// Characters that show nothing, or that reorder what stands around them.
const HIDDEN = new RegExp(
  "[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f" +
    "\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\ud800-\\udfff]" +
    "|[\\u{e0000}-\\u{e0fff}]",
  "u",
);

// An emoji joined from several signs is one letter; everything else goes character by character.
const LETTERS = /\p{Extended_Pictographic}(?:[\ufe0f\u{1f3fb}-\u{1f3ff}]|\u200d\p{Extended_Pictographic})*|[\s\S]/gu;

function mark(character) {
  if (MARKS.has(character)) return MARKS.get(character);
  if (!HIDDEN.test(character) || /^\p{Extended_Pictographic}/u.test(character)) return null;
  const code = character.codePointAt(0);
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return code === 0x7f ? "␡" : `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** Runs of a piece, in order: {text, mark: stands for something invisible, line: ends a line}. */
function runs(piece) {
  const out = [];
  for (const character of String(piece).match(LETTERS) || []) {
    const sign = mark(character);
    const last = out[out.length - 1];
    if (sign !== null) out.push({ text: sign, mark: true, line: character === "\n" });
    else if (last && !last.mark) last.text += character;
    else out.push({ text: character, mark: false, line: false });
  }
  for (const run of out) run.text = run.text.replace(/^\p{M}/u, "◌$&").replace(/(\p{M}{3})\p{M}+/gu, "$1…");
  return out;
}

const visible = (piece) =>
  piece === ""
    ? "∅"
    : runs(piece)
        .map((run) => run.text)
        .join("");

const segmenter = typeof Intl === "object" && Intl.Segmenter ? new Intl.Segmenter("und") : null;
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]|[\u{1f000}-\u{3ffff}]/u;

/** The visible text cut to `cells` monospace cells, with an ellipsis; towers of accents are cut as well. */
function shorten(piece, cells) {
  const text = visible(piece).slice(0, 8 * cells);
  const letters = segmenter ? Array.from(segmenter.segment(text), (part) => part.segment) : Array.from(text);
  let out = "";
  let used = 0;
  for (const [i, letter] of letters.entries()) {
    const width = WIDE.test(letter) ? 2 : 1;
    const isLast = i === letters.length - 1;
    if (used + width > cells - (isLast ? 0 : 1)) return out + "…";
    out += Array.from(letter).slice(0, 4).join("");
    used += width;
  }
  return out;
}

/** How many parameters a model has: 3.9 M, 135 M, 7.62 B. */
function size(n) {
  return n >= 1e9 ? `${(n / 1e9).toPrecision(3)} B` : `${(n / 1e6).toPrecision(n < 1e7 ? 2 : 3)} M`;
}

export {
  number,
  exact,
  short,
  percent,
  pair,
  adding,
  nearOne,
  count,
  plural,
  real,
  subscript,
  runs,
  visible,
  shorten,
  size,
};

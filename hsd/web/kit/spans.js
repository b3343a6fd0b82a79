// Tokens that stand together: a character that several of them spell is whole, as is a sign of several characters.
// A token is {piece, bytes: in hexadecimal where it is not whole characters}; hsd/trace/fill.py is the same for Python.
const NEXT = "[89AB].";
const THREE = "(?:E0[AB].|E[1-9A-CEF][89AB].|ED[89].)"; // two of the bytes of a character that has three
const FOUR = `(?:F0[9AB].|F[1-3][89AB].|F48.)${NEXT}`;
const CHARACTERS = new RegExp(`[0-7].|(?:C[2-9A-F]|D.)${NEXT}|(?:${THREE}|${FOUR})${NEXT}|(..)`, "g");
const NEAR = 32; // tokens back to where new ones may change what stands
const signs = new Intl.Segmenter("und");

/** What each token adds to their text: [{text, bytes: they make no character}]. What is whole stands with its last token. @param {Token[]} tokens @returns {Span[][]} */
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
  for (const [i, { piece, bytes }] of [...tokens, { piece: "" }].entries()) {
    if (typeof bytes === "string" && /^(?:[\dA-F]{2})*$/.test(bytes)) {
      hex += bytes;
      owners.push(...Array(bytes.length / 2).fill(i));
      continue;
    }
    for (const { 0: found, 1: loose, index } of hex.matchAll(CHARACTERS))
      add(owners[(index + found.length) / 2 - 1], loose ?? decodeURIComponent(found.replace(/../g, "%$&")), !!loose);
    [hex, owners] = ["", []];
    if (piece) add(i, piece, false);
  }
  joinSigns(parts.flat());
  return parts.map((own) => own.filter(({ text }) => text));
}

/** Move the beginning of a sign to where it ends: a letter to its vowel, half a flag to its other half. @param {Span[]} parts */
function joinSigns(parts) {
  let before = { text: "", bytes: true };
  for (const part of parts) {
    if (!before.bytes && !part.bytes && !/^[ -~]/.test(part.text)) {
      const { index = 0 } = signs.segment(before.text + part.text).containing(before.text.length) ?? {};
      part.text = before.text.slice(index) + part.text;
      before.text = before.text.slice(0, index);
    }
    before = part;
  }
}

/** Join the tokens' text; bytes of no character in hexadecimal: "F0 9F", beside text "a⟨F0 9F⟩". @param {Token[]} tokens */
function together(tokens) {
  const parts = written(tokens).flat();
  const [open, close] = parts.every(({ bytes }) => bytes) ? ["", ""] : "⟨⟩";
  return parts
    .map(({ text, bytes }, i) => {
      if (!bytes) return text;
      return (parts[i - 1]?.bytes ? " " : open) + text + (parts[i + 1]?.bytes ? "" : close);
    })
    .join("");
}

/** The last place, `far` tokens or more before the end, at which a character begins. @type {(tokens: Token[], far: number) => number} */
function begin(tokens, far) {
  let at = Math.max(tokens.length - far, 0);
  while (at > 0 && at < tokens.length && /^(?:[89AB]|$)/.test(tokens[at].bytes ?? "-")) at -= 1;
  return at;
}

/** A text that grows. */
class Running {
  tokens = /** @type {Token[]} */ ([]);
  /** @type {string[]} what each token adds, as JSON */
  shown = [];

  /** More tokens: [place, what it adds] of each of them, and of those before them that now add something else. @param {Token[]} more */
  add(more) {
    const [known, from] = [this.tokens.length, begin(this.tokens, 2 * NEAR)];
    for (const token of more) this.tokens.push(token);
    const changed = /** @type {[number, Span[]][]} */ ([]);
    for (const [i, parts] of written(this.tokens.slice(from)).entries()) {
      const [place, now] = [from + i, JSON.stringify(parts)];
      if (now === this.shown[place] || (from > 0 && place < known - NEAR)) continue;
      this.shown[place] = now;
      changed.push([place, parts]);
    }
    return changed;
  }
}

export { begin, Running, together, written };

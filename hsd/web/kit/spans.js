// Tokens that stand together: a character that several of them spell is whole, as is a sign of several characters.
// A token is {piece, bytes: in hexadecimal where it is not whole characters}; hsd/trace/spelling.py is the same for Python.
const NEXT = "[89AB].";
const THREE = "(?:E0[AB].|E[1-9A-CEF][89AB].|ED[89].)"; // two of the bytes of a character that has three
const FOUR = `(?:F0[9AB].|F[1-3][89AB].|F48.)${NEXT}`;
const CHARACTERS = new RegExp(`[0-7].|(?:C[2-9A-F]|D.)${NEXT}|(?:${THREE}|${FOUR})${NEXT}|(..)`, "g");
const NEAR = 32; // tokens back to where new ones may change what stands
const signs = new Intl.Segmenter("und");

/** What each token adds to their text: [{text, bytes: they make no character}]. What is whole stands with its last token. */
function written(tokens) {
  const parts = tokens.map(() => []);
  let [hex, owners] = ["", []];
  const add = (i, text, bytes) => {
    const last = parts[i].at(-1);
    if (last?.bytes === bytes) last.text += (bytes ? " " : "") + text;
    else parts[i].push({ text, bytes });
  };
  for (const [i, { piece, bytes }] of [...tokens, { piece: "" }].entries()) {
    if (/^(?:[\dA-F]{2})*$/.test(bytes ?? "-")) {
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

/** Move the beginning of a sign to where it ends: a letter to its vowel, half a flag to its other half. */
function joinSigns(parts) {
  let before = { bytes: true };
  for (const part of parts) {
    if (!before.bytes && !part.bytes && !/^[ -~]/.test(part.text)) {
      const { index } = signs.segment(before.text + part.text).containing(before.text.length);
      part.text = before.text.slice(index) + part.text;
      before.text = before.text.slice(0, index);
    }
    before = part;
  }
}

/** Their text, with bytes that make no character in hexadecimal: "F0 9F", and beside text "a⟨F0 9F⟩". */
function together(tokens) {
  const parts = written(tokens).flat();
  const [open, close] = parts.every(({ bytes }) => bytes) ? ["", ""] : "⟨⟩";
  const first = (i) => (parts[i - 1]?.bytes ? " " : open);
  const mark = (text, i) => first(i) + text + (parts[i + 1]?.bytes ? "" : close);
  return parts.map(({ text, bytes }, i) => (bytes ? mark(text, i) : text)).join("");
}

/** The last place, `far` tokens or more before the end, at which a character begins. */
function begin(tokens, far) {
  let at = Math.max(tokens.length - far, 0);
  while (at > 0 && at < tokens.length && /^(?:[89AB]|$)/.test(tokens[at].bytes ?? "-")) at -= 1;
  return at;
}

/** A text that grows. */
class Running {
  tokens = [];
  shown = []; // what each token adds, as JSON

  /** More tokens: [place, what it adds] of each of them, and of those before them that now add something else. */
  add(more) {
    const [known, from] = [this.tokens.length, begin(this.tokens, 2 * NEAR)];
    for (const token of more) this.tokens.push(token);
    const changed = [];
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

// The tokens of a trace as kit/spans.js wants them, those of older traces too, which have � for bytes.
const utf8 = new TextEncoder();

const tokensOf = ({ pieces, bytes = {} }) => pieces.map((piece, i) => ({ piece, bytes: bytes[i] }));

/** How much of the end of one text another one begins with. */
function overlap(before, text) {
  let length = Math.min(before.length, text.length);
  while (!text.startsWith(before.slice(before.length - length))) length -= 1;
  return length;
}

/** Return the tokens, each piece with � replaced by its part of `text`, which they spell; unchanged if any has bytes. */
function mended(tokens, text = "") {
  const lost = ({ piece }) => piece.includes("�");
  const first = tokens.findIndex(lost);
  if (first < 0 || !text || tokens.some(({ bytes }) => bytes)) return tokens;
  const before = tokens.slice(0, first).map(({ piece }) => piece);
  let at = overlap(before.join(""), text);
  return tokens.map((token, i) => {
    if (i < first) return token;
    if (!lost(token)) {
      if (text.startsWith(token.piece, at)) at += token.piece.length;
      return token;
    }
    const next = tokens[i + 1];
    if (next && lost(next)) return { ...token, bytes: "" };
    const found = next ? text.indexOf(next.piece, at) : -1;
    const [from, end] = [at, found < 0 ? text.length : found];
    at = end;
    const bytes = [...utf8.encode(text.slice(from, end))].map((byte) => byte.toString(16).padStart(2, "0"));
    return { ...token, bytes: bytes.join("").toUpperCase() };
  });
}

export { mended, tokensOf };

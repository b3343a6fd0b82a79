// The tokens of a trace as kit/spans.js wants them, those of older traces too, which have � for bytes.
const utf8 = new TextEncoder();

/** @type {(prompt: Pick<Prompt, "pieces" | "bytes">) => Token[]} */
const tokensOf = ({ pieces, bytes = {} }) => pieces.map((piece, i) => ({ piece, bytes: bytes[i] }));

/** How much of the end of one text another one begins with. @type {(before: string, text: string) => number} */
function overlap(before, text) {
  let length = Math.min(before.length, text.length);
  while (!text.startsWith(before.slice(before.length - length))) length -= 1;
  return length;
}

/** Return the tokens, each piece with � replaced by its part of `text`, which they spell; unchanged if any has bytes. @param {Token[]} tokens */
function mended(tokens, text = "") {
  const lost = (/** @type {Token} */ { piece }) => piece?.includes("�");
  const first = tokens.findIndex(lost);
  if (first < 0 || !text || tokens.some(({ bytes }) => bytes)) return tokens;
  const before = tokens.slice(0, first).map(({ piece }) => piece);
  let at = overlap(before.join(""), text);
  return tokens.map((token, i) => {
    if (i < first) return token;
    const { piece = "" } = token;
    if (!lost(token)) {
      if (text.startsWith(piece, at)) at += piece.length;
      return token;
    }
    const next = tokens[i + 1];
    if (next && lost(next)) return { ...token, bytes: "" };
    const end = next ? text.indexOf(next.piece ?? "", at) : -1;
    const own = text.slice(at, end < 0 ? text.length : end);
    at += own.length;
    const bytes = [...utf8.encode(own)].map((byte) => byte.toString(16).padStart(2, "0"));
    return { ...token, bytes: bytes.join("").toUpperCase() };
  });
}

export { mended, tokensOf };

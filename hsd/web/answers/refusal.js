// What a screen hears where something cannot be answered.

/** `message` is one line for the reader, and says what to do instead. */
class Refusal extends Error {}

/** A stream without a message. @param {string} line @returns {AsyncGenerator<Values>} */
// biome-ignore lint/correctness/useYield: it has none
async function* refused(line) {
  throw new Refusal(line);
}

export { Refusal, refused };

// The error of a question that cannot be answered.

/** An error whose `message` is one line for the reader, and says what to do instead. */
class Refusal extends Error {}

/** A stream that fails at once. @param {string} line @returns {AsyncGenerator<Values>} */
// biome-ignore lint/correctness/useYield: it has none
async function* refused(line) {
  throw new Refusal(line);
}

export { Refusal, refused };

// What a screen hears where something cannot be answered.

/** `message` is one line for the reader, and says what to do instead. */
class Refusal extends Error {}

export { Refusal };

// What a lane is: plain data, {rule, gamma, drafts, tree}, and where a draft model does not draft, what does; a server's
// lane has {url, model}. Fields of other drafters stay with it, so that nothing is lost while one tries them.

/** What a lane drafts unless told otherwise. */
const drafting = (gamma) => ({ gamma, drafts: 1, tree: "paths" });

/** The lanes that a race has before anyone chooses others. gamma: the pair's own. */
const usual = (gamma) => ["tokenwise", "hsd"].map((rule) => ({ rule, ...drafting(gamma) }));

/** Who drafts: "speculative" (a draft model), "ngram" (the text itself), "stack", "hispec" or "server". */
const drafter = ({ system = "speculative", proposer }) => (proposer === "ngram" ? "ngram" : system);

/** The fields that say so. The text has one continuation to copy. */
const draftedBy = (name) =>
  name === "ngram" ? { system: "speculative", proposer: "ngram", drafts: 1 } : { system: name, proposer: "model" };

export { drafting, usual, drafter, draftedBy };

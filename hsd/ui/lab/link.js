// The state as a link's `lab` parameter: version*kind*V*γ*rule*draft*coins*seed*rows of p*rows of q, and back.
// What comes in is hostile: every part is checked, and what is wrong is told in one line.
(function (lab) {
  "use strict";

  const { RULES } = lab.rules;
  const { LETTERS, NUMBER, PAPER, problems, tooLarge } = lab.state;
  const PAPER_GAMMA = PAPER.tokens.length;
  const VERSION = "1";
  const rowsText = (rows) => rows.map((cells) => cells.map((x) => String(x).trim()).join("_")).join("--");

  function encode({ kind, vocab, gamma, rule, draft, coins, seed, p, q }) {
    const letters = draft.map((x) => LETTERS[x]).join("");
    return [VERSION, kind, vocab, gamma, rule, letters, coins.join("_"), seed, rowsText(p), rowsText(q)].join("*");
  }

  class LinkError extends Error {}

  function need(condition, words) {
    if (!condition) throw new LinkError(words);
  }

  function whole(text, low, high, what) {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : NaN;
    need(value >= low && value <= high, `${what} must be a whole number from ${low} to ${high}`);
    return value;
  }

  /** The state that a link's `lab` parameter stands for. Throws LinkError with one line. */
  function decode(text) {
    need(text.length <= 8000, "it is too long");
    const parts = text.split("*");
    need(parts.length === 10 && parts[0] === VERSION, "it is not one that this page makes");
    const [, kind, vocabText, gammaText, rule, letters, coinTexts, seedText, p, q] = parts;
    need(["same", "own", "step"].includes(kind), "its kind is none of same, own, step");
    need(Object.hasOwn(RULES, rule), `its rule is none of ${Object.keys(RULES).join(", ")}`);
    const vocab = whole(vocabText, 2, LETTERS.length, "the number of tokens");
    const gamma = whole(gammaText, 1, 12, "γ");
    const state = { kind, vocab, gamma, rule, seed: whole(seedText, 0, 4294967295, "the seed") };
    need(kind !== "step" || (vocab === 2 && gamma === PAPER_GAMMA), `the paper's step has γ = ${PAPER_GAMMA}`);
    need(!tooLarge(state), tooLarge(state));
    return checked({ ...state, ...readDraft(state, letters, coinTexts), ...readRows(state, p, q) });
  }

  function readDraft({ kind, vocab, gamma }, letters, coinTexts) {
    const draft = [...letters].map((x) => LETTERS.indexOf(x));
    need(draft.length === gamma && draft.every((x) => x >= 0 && x < vocab), `its draft is not ${gamma} of the tokens`);
    const coins = coinTexts.split("_").map((x) => (NUMBER.test(x) ? Number(x) : NaN));
    need(kind !== "step" || draft.every((x) => x === 0), "the paper's step has one draft only");
    need(
      coins.length === gamma && coins.every((x) => x >= 0 && x < 1),
      `its coins are not ${gamma} numbers from 0 to below 1`,
    );
    return { draft, coins };
  }

  function readRows({ kind, vocab, gamma }, p, q) {
    const rows = (text, count, side) => {
      const found = text.split("--").map((row) => row.split("_"));
      const wanted = kind === "same" ? 1 : count;
      need(
        found.length === wanted && found.every((row) => row.length === vocab),
        `its ${side} is not ${wanted} ${wanted === 1 ? "row" : "rows"} of ${vocab} numbers`,
      );
      return found;
    };
    return { p: rows(p, gamma + 1, "p"), q: rows(q, gamma, "q") };
  }

  function checked(state) {
    const [first] = problems(state);
    need(!first, first && first.message);
    return state;
  }

  lab.link = { encode, decode, LinkError };
})(window.hsdLab);

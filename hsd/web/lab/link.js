// The state as a link's `lab` parameter: version*kind*V*γ*rule*draft*coins*1*rows of p*rows of
// q*settings, and back. settings: the fuzzy rule's, then the numbers of others, then what follows
// kept tokens where that is not drawn; older links lack these, or all of it, and those of version
// 0.2 may end in "keys", for a card that is gone. What comes in is hostile: every part is checked,
// and an error is one line.
import { facts } from "../kit/facts.js";
import { plural } from "../kit/format.js";
import { CHAINS, SETTINGS } from "../rules/law.js";
import { LETTERS, NUMBER, PAPER_GAMMA, problems, tooLarge } from "./state.js";

const VERSION = "1";
const UNUSED = "1"; // older links have a number in this place, which nothing needs
/** @type {LabKind[]} */
const KINDS = ["same", "own", "step"];
const CARD_GONE = /\*keys$/;
const DIVERGENCES = facts.divergences.map(({ name }) => name);
const MODES = facts.modes.map(({ name }) => name);
const FOLLOWERS = facts.options.properties.after_kept.oneOf ?? [];
const AFTERS = FOLLOWERS.map((choice) => choice.const);
/** @type {Map<string, Knob>} */
const BY_OPTION = new Map();
for (const { knob } of CHAINS.values()) if (knob) BY_OPTION.set(knob.option, knob);
const KNOBS = [...BY_OPTION.values()]; // a link has them in this order, the first before the mode
const MORE = KNOBS.slice(1);
const rowText = (/** @type {string[]} */ cells) => cells.map((x) => x.trim()).join("_");
const rowsText = (/** @type {string[][]} */ rows) => rows.map(rowText).join("--");

/** The `lab` parameter that stands for a state. @param {LabState} state */
function encode({ kind, vocab, gamma, rule, draft, coins, p, q, settings }) {
  const letters = draft.map((x) => LETTERS[x]).join("");
  const { divergence, tolerance, mode, after_kept: after } = settings;
  const own = [divergence, tolerance, mode, ...MORE.map(({ option }) => settings[option])];
  if (after !== SETTINGS.after_kept) own.push(after);
  const parts = [VERSION, kind, vocab, gamma, rule, letters, coins.join("_"), UNUSED];
  parts.push(rowsText(p), rowsText(q), own.join("_"));
  return parts.join("*");
}

class LinkError extends Error {}

/** @type {(condition: unknown, words: string) => asserts condition} */
function need(condition, words) {
  if (!condition) throw new LinkError(words);
}

/** @type {(text: string, low: number, high: number, what: string) => number} */
function whole(text, low, high, what) {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : NaN;
  need(value >= low && value <= high, `${what} must be a whole number from ${low} to ${high}`);
  return value;
}

/**
 * The state that a link's `lab` parameter stands for. Throws LinkError with one line.
 * @type {(text: string) => LabState}
 */
function decode(text) {
  need(text.length <= 8000, "it is too long");
  const parts = text.replace(CARD_GONE, "").split("*");
  const ours = [10, 11].includes(parts.length) && parts[0] === VERSION;
  need(ours, "it is not one that this page makes");
  const [, kindText, vocabText, gammaText, rule, letters, coinTexts, , p, q, last] = parts;
  const kind = KINDS.find((name) => name === kindText);
  need(kind, "its kind is none of same, own, step");
  need(CHAINS.has(rule), `its rule is none of ${[...CHAINS.keys()].join(", ")}`);
  const vocab = whole(vocabText, 2, LETTERS.length, "the number of tokens");
  const gamma = whole(gammaText, 1, 12, "γ");
  const settings = last === undefined ? { ...SETTINGS } : readSettings(last);
  const state = { kind, vocab, gamma, rule, settings };
  const fits = kind !== "step" || (vocab === 2 && gamma === PAPER_GAMMA);
  need(fits, `the paper's step has γ = ${PAPER_GAMMA}`);
  need(!tooLarge(state), tooLarge(state) ?? "");
  const drafted = readDraft(state, letters, coinTexts);
  const linked = { ...state, ...drafted, ...readRows(state, p, q) };
  const [wrong] = problems(linked);
  need(!wrong, wrong?.message ?? "");
  return linked;
}

/** @type {(text: string) => Settings} */
function readSettings(text) {
  const [divergence, tolerance = "", mode, ...rest] = text.split("_");
  const more = rest.slice(0, MORE.length);
  const [after = SETTINGS.after_kept, ...beyond] = rest.slice(MORE.length);
  /** @type {(digits: string, knob: Knob) => [string, number]} */
  const number = (digits, { option, low, high }) => {
    const value = NUMBER.test(digits.replace(/^-/, "")) ? Number(digits) : NaN;
    const name = option.replace("_", " ");
    need(value >= low && value <= high, `its ${name} must be a number from ${low} to ${high}`);
    return [option, value];
  };
  need(DIVERGENCES.includes(divergence), `its divergence is none of ${DIVERGENCES.join(", ")}`);
  const complete = [0, MORE.length].includes(more.length);
  need(MODES.includes(mode) && complete, `its mode is none of ${MODES.join(", ")}`);
  const follows = AFTERS.includes(after) && !beyond.length;
  need(follows, `what follows its kept tokens is none of ${AFTERS.join(", ")}`);
  const knobs = [tolerance, ...more].map((digits, i) => number(digits, KNOBS[i]));
  return {
    ...SETTINGS,
    divergence,
    mode,
    after_kept: after,
    ...Object.fromEntries(knobs),
  };
}

/**
 * The drafted tokens and the coins of a link.
 * @param {LabShape} shape
 * @param {string} letters
 * @param {string} coinTexts
 */
function readDraft({ kind, vocab, gamma }, letters, coinTexts) {
  const draft = [...letters].map((x) => LETTERS.indexOf(x));
  const known = draft.every((x) => x >= 0 && x < vocab);
  need(draft.length === gamma && known, `its draft is not ${gamma} of the tokens`);
  need(kind !== "step" || draft.every((x) => x === 0), "the paper's step has one draft only");
  const texts = coinTexts.split("_");
  const coins = texts.map((text) => (NUMBER.test(text) ? Number(text) : NaN));
  const within = coins.every((x) => x >= 0 && x < 1);
  need(coins.length === gamma && within, `its coins are not ${gamma} numbers from 0 to below 1`);
  return { draft, coins };
}

/**
 * The rows of both sides of a link, as texts.
 * @type {(shape: LabShape, p: string, q: string) => Pick<LabState, "p" | "q">}
 */
function readRows({ kind, vocab, gamma }, p, q) {
  /** @type {(text: string, count: number, side: string) => string[][]} */
  const read = (text, count, side) => {
    const rows = text.split("--").map((row) => row.split("_"));
    const wanted = kind === "same" ? 1 : count;
    const full = rows.every((row) => row.length === vocab);
    const words = `its ${side} is not ${plural(wanted, "row")} of ${vocab} numbers`;
    need(rows.length === wanted && full, words);
    return rows;
  };
  return { p: read(p, gamma + 1, "p"), q: read(q, gamma, "q") };
}

export { encode, decode, LinkError };

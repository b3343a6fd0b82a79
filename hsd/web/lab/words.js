// The lab's sentences. Every one is made from the numbers it speaks of; nothing here touches the
// page.
import { divergence as divergenceOf, rule as known } from "../kit/facts.js";
import { count, exact, pair, plural, same } from "../kit/format.js";
import { apart, ROUNDING } from "../rules/audit.js";
import { DIVERGENCES, entropy } from "../rules/divergence.js";
import { evaluate } from "../rules/expression.js";
import { range, USUAL, VANILLA } from "../rules/law.js";
import { LETTERS } from "./state.js";

/** @typedef {Record<string, Audit>} LabAudits */
/** @typedef {{title: string, text: string}} LabNote */

/** A number with four places; a tiny one with three digits. @param {number} x */
const four = (x) => (x > 0 && x < 0.001 ? exact(x) : x.toFixed(4));
/** @param {string} name - of a rule */
const short = (name) => known(name).short;
/** @param {string} name - of a divergence */
const formulaOf = (name) => divergenceOf(name).formula;
const capital = (/** @type {string} */ text) => text[0].toUpperCase() + text.slice(1);

/** A total variation: 0 where only rounding is left. @param {number} x */
function distance(x) {
  if (x < ROUNDING) return "0 (exact)";
  return x < 0.00005 ? exact(x, 2) : four(x);
}

/**
 * Whether a rule is lossless: a sign and a word, a longer line, and the class that colours it.
 * @param {Audit} audit
 */
function verdict(audit) {
  const { lossless, knob } = known(audit.name);
  if (!audit.exact)
    return { words: "✕ no", title: "its output does not follow the target", css: "is-bad" };
  if (lossless)
    return { words: "✓ yes", title: "its output follows the target exactly", css: "is-good" };
  if (audit.strict && knob) {
    const sign = knob.low < Number(knob.exact) ? "≤" : "=";
    const words = `✓ yes, at ${knob.sign} ${sign} ${knob.exact}`;
    return { words, title: "with this number it is exact", css: "is-good" };
  }
  const title = "exact on these numbers; others show a difference";
  return { words: "✓ here, not always", title, css: "is-here" };
}

// ---- about all rules

/**
 * The sentences under the table of rules.
 * @type {(exact: LabExact, model: LabModel) => LabNote[]}
 */
function findings(exact, model) {
  const { rules } = exact;
  const certain = model.q.every((row) => row.includes(1)) ? [oneHot(rules)] : [];
  const byRule = Object.values(rules).flatMap((audit) => about(audit, exact, model));
  return [...certain, gain(rules, model), ...byRule];
}

/**
 * The notes on one rule: at most one.
 * @type {(audit: Audit, exact: LabExact, model: LabModel) => LabNote[]}
 */
function about(audit, { rules, ideal }, model) {
  const { law, lossless, resamples, by_divergence: byDivergence, knob } = known(audit.name);
  if (law !== audit.name) return [sameLaw(rules[law], audit, model)];
  if (resamples) return [openPositions(audit, rules, ideal)];
  if (lossless) return [];
  if (byDivergence) return [near(audit, model)];
  return [knob ? relaxed(audit, knob, model) : lossy(audit)];
}

/** The note on a draft that is certain: every lossless rule is one. @param {LabAudits} rules */
function oneHot(rules) {
  const lossless = Object.values(rules).filter(({ name }) => known(name).lossless);
  const { stop, kept } = rules[VANILLA];
  const apart = (/** @type {Audit} */ audit) =>
    Math.max(...audit.stop.map((chance, t) => Math.abs(chance - stop[t])));
  const gap = Math.max(...lossless.map(apart));
  const why =
    "q is 1 on one token, so p/q is p and never above 1: there is nothing to cap, and the masses " +
    "telescope to token-wise tests.";
  const keep = `So all ${lossless.length} lossless rules keep ${four(kept)}`;
  const rounding = gap ? ` (up to rounding, ${exact(gap)})` : "";
  const text = `${why} ${keep}, and each number of tokens with the same chance${rounding}.`;
  return { title: "The draft is certain.", text };
}

/**
 * The note on what a rule with one number gives up.
 * @type {(audit: Audit, knob: Knob, model: LabModel) => LabNote}
 */
function relaxed(audit, knob, { settings }) {
  const { capitalised_name } = known(audit.name);
  const keeps = `With ${knob.sign} = ${settings[knob.option]} it keeps ${four(audit.kept)}`;
  if (audit.exact)
    return { title: `${capitalised_name}.`, text: `${keeps}, and on these numbers it is exact.` };
  const title = `${capitalised_name} gives up exactness.`;
  const off = `what it writes differs from the target by ${distance(audit.distance)}`;
  return { title, text: `${keeps}; ${off}.` };
}

/**
 * The note on two rules that write down the same law in two ways.
 * @type {(first: Audit, second: Audit, model: LabModel) => LabNote}
 */
function sameLaw(first, second, { vocab, gamma }) {
  const title = `${known(first.name).capitalised_name} and ${short(second.name)} are the same law.`;
  const drafts = `, and over all ${count(vocab ** gamma)} drafts`;
  const gap = apart(first, second);
  let thresholds = "";
  if (gap === 0) thresholds = `${drafts} every threshold is equal`;
  else if (gap < ROUNDING)
    thresholds = `${drafts} no threshold differs by more than rounding (${exact(gap)})`;
  const kept = four(second.kept);
  const both = kept === four(first.kept) ? "" : ` and ${four(first.kept)}`;
  return { title, text: `Both keep ${kept}${both}${thresholds}.` };
}

/**
 * The note on how much more the usual rule keeps than the vanilla one.
 * @type {(rules: LabAudits, model: LabModel) => LabNote}
 */
function gain({ [VANILLA]: vanilla, [USUAL]: usual }, { gamma }) {
  const more = usual.kept - vanilla.kept;
  const level = same(usual.kept, vanilla.kept);
  const title = `${known(USUAL).capitalised_name} against ${short(VANILLA)}.`;
  if (level && more <= ROUNDING * usual.kept) {
    const why =
      gamma === 1
        ? "With one drafted token there is nothing to judge together: "
        : "On these numbers judging the draft as a whole gains nothing: ";
    return { title, text: `${why}both keep ${level} of ${gamma}.` };
  }
  const share = vanilla.kept > 0 ? ` (${percentMore(more / vanilla.kept)} more)` : "";
  const [own, least] = pair(usual.kept, vanilla.kept, 4, 4);
  const tokens = plural(gamma, "drafted token");
  const amount = `It keeps ${own} of ${tokens}, ${short(VANILLA)} ${least}${share}`;
  return { title, text: `${amount}: one weak token need not cost the tokens after it.` };
}

const percentMore = (/** @type {number} */ x) =>
  x < 0.0095 ? "less than 1 %" : `${Math.round(100 * x)} %`;

/**
 * The note on a rule that is not lossless and has no number that could make it so.
 * @param {Audit} audit
 */
function lossy(audit) {
  const { capitalised_name, loses } = known(audit.name);
  if (audit.exact)
    return {
      title: `${capitalised_name}.`,
      text: "On these numbers it is exact, but not in general.",
    };
  const keeps = `It keeps ${four(audit.kept)}`;
  const off = `what it writes differs from the target by ${distance(audit.distance)}`;
  const why = loses ? `: ${loses}` : ".";
  return { title: `${capitalised_name} accepts too much.`, text: `${keeps}, but ${off}${why}` };
}

/**
 * The note on a rule that draws the rest of a block anew.
 * @type {(audit: Audit, rules: LabAudits, ideal: number) => LabNote}
 */
function openPositions(audit, { [USUAL]: usual }, ideal) {
  const { capitalised_name } = known(audit.name);
  const isIdeal = Math.abs(audit.kept - ideal) < 1e-9 * ideal;
  const reaches = isIdeal ? `keeps the ideal ${four(ideal)}` : `keeps ${four(audit.kept)}`;
  if (audit.extra < ROUNDING) {
    const text = `${reaches}, and on these numbers it needs no further target call.`;
    return { title: capitalised_name, text };
  }
  const rate = ({ committed, calls } = audit) => four(committed / calls);
  const price = `but needs ${four(audit.extra)} further target calls a step`;
  const against = `${rate()} tokens per target call against ${rate(usual)} for ${short(USUAL)}`;
  return {
    title: `${capitalised_name} pays for it.`,
    text: `It ${reaches}, ${price}: ${against}.`,
  };
}

/**
 * The note on what FSD gives up, with the bound where there is one: tolerance · E[kept], by the
 * chain rule.
 * @type {(audit: Audit, model: LabModel) => LabNote}
 */
function near(audit, { settings: { divergence, tolerance } }) {
  const { capitalised_name } = known(audit.name);
  const keeps = `With ${formulaOf(divergence)} up to ${tolerance} it keeps ${four(audit.kept)}`;
  if (audit.exact) {
    const why = audit.strict
      ? "at a tolerance of 0 or less nothing passes that could change what is written"
      : "no position that it reaches has a divergence above 0 and within the tolerance";
    return {
      title: `${capitalised_name}.`,
      text: `${keeps}, and on these numbers it is exact: ${why}.`,
    };
  }
  const most = tolerance * audit.kept;
  const bounded = divergence === "kl" || (divergence === "tv" && most < 1);
  const bound = bounded ? `, at most T · E[τ] = ${four(most)}` : "";
  const off = distance(audit.distance);
  const nats = `KL(output‖target) is ${four(audit.divergence)} nats${bound}`;
  const amount =
    divergence === "kl"
      ? `${nats}; the total variation is ${off}`
      : `what it writes differs from the target by ${off}${bound}`;
  return { title: `${capitalised_name} gives up exactness.`, text: `${keeps}; ${amount}.` };
}

// ---- about the settings of the fuzzy rule

/**
 * The sentence about the positions of this model whose rows are near enough.
 * @type {(model: LabModel, kind: LabKind) => string}
 */
function nearWords({ gamma, p, q, settings: { divergence, tolerance, mode } }, kind) {
  const name = formulaOf(divergence);
  const values = q.map((row, t) => DIVERGENCES[divergence](p[t], row));
  const text = (/** @type {number} */ x) => (x === Infinity ? "∞" : exact(x, 4));
  const inside = values.flatMap((x, t) => (x <= tolerance ? [t + 1] : []));
  const noun = inside.length === 1 ? "position" : "positions";
  const several = `${noun} ${inside.join(", ")}`;
  const where = inside.length === gamma ? "every position" : several;
  const lets = inside.length
    ? `so tokens pass by D at ${where}`
    : "so no token passes by D, and the rule is exact here";
  const rows = kind === "step" ? " of the lumped rows" : "";
  const apart =
    kind === "same"
      ? `Here ${name} is ${text(values[0])}`
      : `${name}${rows} by position: ${values.map(text).join(", ")}`;
  const exactly =
    mode === "exact-first"
      ? "vanilla, token by token"
      : "plain decoding, as every draft ends at its first token";
  if (tolerance < 0) return `${apart}. A tolerance below 0 lets nothing pass: this is ${exactly}.`;
  return `${apart}, ${lets}.`;
}

/** The sentence about a token outside the tolerance. @param {LabModel} model */
function modeWords({ settings: { mode } }) {
  return mode === "exact-first"
    ? "Where D > T the exact test decides, p/q against the coin, and a correction is drawn from " +
        "max(p − q, 0)."
    : "The first D > T stops the draft whatever the coin, and the next token is drawn from the " +
        "whole of p: the paper's form.";
}

/** The sentence about tokens with p = 0. @param {LabModel} model */
function excludedWords({ settings: { divergence } }) {
  const never = "A token that the target never says";
  return divergence === "kl"
    ? `${never} cannot pass: where q may draft one, KL(q‖p) is infinite.`
    : `${never} (p = 0) can pass: ${formulaOf(divergence)} does not rule it out.`;
}

// ---- about the settings of the rules with one number

/**
 * The sentence about how far the mixture is from the target where a token is tested.
 * @type {(model: LabModel, kind: LabKind) => string}
 */
function mixtureWords({ p, q, settings: { draft_weight: w } }, kind) {
  if (w === 0) return "At w = 0 the draft has no share: this is vanilla, token by token.";
  const apart = q.map((row, t) => DIVERGENCES.tv(p[t], row));
  const four = (/** @type {number} */ x) => exact(x, 4);
  const text = (/** @type {number[]} */ values) =>
    kind === "same" ? four(values[0]) : values.map(four).join(", ");
  const where = kind === "same" ? "Here" : "By position";
  const rows = `${where} p and q are ${text(apart)} apart (total variation)`;
  return `${rows}, and the mixture w times that from p: ${text(apart.map((x) => w * x))}.`;
}

/**
 * The sentence about a test that throws no coin: what p must exceed, and which tokens do.
 * @param {LabModel} model
 * @param {LabKind} kind
 * @param {Expression | null} when - the condition of the test
 */
function barWords({ q, p, settings }, kind, when) {
  const least = Array.isArray(when) ? when[2] : 0;
  const bar = (/** @type {number[]} */ row) =>
    Number(evaluate(least, { ...settings, entropy: entropy(row) }));
  const text = (/** @type {number[]} */ row) =>
    `${exact(bar(row), 4)} (H = ${exact(entropy(row), 4)} nats)`;
  const rows = p.slice(0, q.length);
  if (kind !== "same") return `What p must exceed, by position: ${rows.map(text).join(", ")}.`;
  const [row] = rows;
  const pass = range(row.length).filter((i) => row[i] > bar(row));
  const names = pass.map((i) => LETTERS[i]).join(", ");
  let who = names ? `these pass: ${names}` : "no token passes";
  if (pass.length === row.length) who = "every token passes";
  return `Here p must exceed ${text(row)}: ${who}, however often the draft proposes it.`;
}

// ---- about the output law

/**
 * The sentence about what the bars show. shown: how many tokens of a sequence.
 * @type {(vocab: number, gamma: number, shown: number) => string}
 */
function lawHint(vocab, gamma, shown) {
  const sequences = `${count(vocab ** shown)} sequences of ${plural(shown, "token")}`;
  if (shown === gamma + 1)
    return `All ${sequences} that one step and the target after it can write.`;
  return `All ${sequences}: the first ${shown} of ${gamma + 1}. What comes after them is added up.`;
}

/**
 * The sentence about how far a rule is from the target.
 * @param {Audit} audit
 * @param {number} shownDistance - the total variation of the first tokens
 * @param {number} shown - how many these are
 * @param {number} gamma
 */
function lawSentence(audit, shownDistance, shown, gamma) {
  const name = capital(short(audit.name));
  const total = "total variation";
  if (audit.exact)
    return `${name} writes every sequence exactly as often as the target: ${total} 0 (exact).`;
  const first = `in the first ${plural(shown, "token")}`;
  const part = shown > gamma ? "" : `, and ${distance(shownDistance)} of it shows ${first}`;
  const off = `${name} misses the target by a ${total} of ${distance(audit.distance)}${part}`;
  return `${off}: hatched / is too often, hatched \\ too rarely.`;
}

// ---- about the paper’s step

const PAPER_TEXT = [
  "One step of §5.4 of the HSD paper: ten drafted tokens of a GSM8K answer, with the target's " +
    "and the draft's probability of each.",
  "The paper lists only the drafted token at each position, so the rest of each row is lumped " +
    "into one token, “anything else”. That leaves r, m, r* and c as they are; inner " +
    "thresholds and residuals are those of the lumped rows.",
  "It is one draft, so there is nothing to enumerate: what the models would say after other " +
    "tokens is not known.",
];

/**
 * The sentence about what the paper's step shows; null where the numbers do not show it any more.
 * usual, vanilla: each rule's chance of keeping 0, 1, … tokens.
 * @type {(usual: number[], vanilla: number[]) => string | null}
 */
function paperSentence(usual, vanilla) {
  const sure = usual.findIndex((chance) => chance > 1 - ROUNDING);
  if (sure < 1 || vanilla[0] < ROUNDING) return null;
  const tokens = plural(sure, "token");
  const survive = `Under ${short(USUAL)} the first ${tokens} survive whatever the coins`;
  const risk = `${known(VANILLA).capitalised_name} already risks the whole draft at its first token`;
  const none = `with probability ${four(vanilla[0])} it keeps none`;
  return `${survive}: the threshold there is 1, and every later one is 0. ${risk}: ${none}.`;
}

export {
  four,
  distance,
  verdict,
  findings,
  barWords,
  mixtureWords,
  nearWords,
  modeWords,
  excludedWords,
  lawHint,
  lawSentence,
  paperSentence,
  capital,
  PAPER_TEXT,
};

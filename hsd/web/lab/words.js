// The lab's sentences. Every one is made from the numbers it speaks of; nothing here touches the page.
import { divergence as divergenceOf, rule as known } from "../kit/facts.js";
import { count, exact, pair, plural, same } from "../kit/format.js";
import { apart, ROUNDING } from "../rules/audit.js";
import { DIVERGENCES, entropy } from "../rules/divergence.js";
import { evaluate } from "../rules/expression.js";
import { range, USUAL, VANILLA } from "../rules/law.js";
import { LETTERS } from "./state.js";

/** A number with four places, of tiny ones their digits. @param {number} x */
const four = (x) => (x > 0 && x < 0.001 ? exact(x) : x.toFixed(4));
/** @param {string} name - of a rule */
const short = (name) => known(name).short;
/** @param {string} name - of a divergence */
const formulaOf = (name) => divergenceOf(name).formula;
const capital = (/** @type {string} */ text) => text[0].toUpperCase() + text.slice(1);

/** A total variation: 0 where only rounding is left. @param {number} x */
const distance = (x) => (x < ROUNDING ? "0 (exact)" : x < 0.00005 ? exact(x, 2) : four(x));

/** Whether a rule is lossless: a sign and a word, a longer line, and the class that colours it. @param {Audit} audit */
function verdict(audit) {
  const { lossless, knob } = known(audit.name);
  if (!audit.exact) return { words: "✕ no", title: "its output does not follow the target", css: "is-bad" };
  if (lossless) return { words: "✓ yes", title: "its output follows the target exactly", css: "is-good" };
  if (audit.strict && knob) {
    const sign = knob.low < Number(knob.exact) ? "≤" : "=";
    const words = `✓ yes, at ${knob.sign} ${sign} ${knob.exact}`;
    return { words, title: "with this number it is exact", css: "is-good" };
  }
  const title = "exact on these numbers; others show a difference";
  return { words: "✓ here, not always", title, css: "is-here" };
}

// ---- about all rules

/** The sentences under the table of rules. @type {(exact: LabExact, model: LabModel) => LabNote[]} */
function findings(exact, model) {
  const { rules } = exact;
  const certain = model.q.every((row) => row.includes(1)) ? [oneHot(rules)] : [];
  return [...certain, gain(rules, model), ...Object.values(rules).flatMap((audit) => about(audit, exact, model))];
}

/** What there is to say of one rule. @type {(audit: Audit, exact: LabExact, model: LabModel) => LabNote[]} */
function about(audit, { rules, ideal }, model) {
  const { law, lossless, resamples, by_divergence: byDivergence, knob } = known(audit.name);
  if (law !== audit.name) return [sameLaw(rules[law], audit, model)];
  if (resamples) return [openPositions(audit, rules, ideal)];
  if (lossless) return [];
  return [byDivergence ? near(audit, model) : knob ? relaxed(audit, knob, model) : lossy(audit)];
}

/** Of a draft that is certain: what every lossless rule does with it. @param {LabAudits} rules */
function oneHot(rules) {
  const lossless = Object.values(rules).filter(({ name }) => known(name).lossless);
  const apart = (/** @type {Audit} */ audit) =>
    Math.max(...audit.stop.map((chance, t) => Math.abs(chance - rules[VANILLA].stop[t])));
  const gap = Math.max(...lossless.map(apart));
  const same = `all ${lossless.length} lossless rules keep ${four(rules[VANILLA].kept)}, and each number of tokens with the same chance`;
  const text = `q is 1 on one token, so p/q is p and never above 1: there is nothing to cap, and the masses telescope to token-wise tests. So ${same}${gap ? ` (up to rounding, ${exact(gap)})` : ""}.`;
  return { title: "The draft is certain.", text };
}

/** What a rule with one number gives up. @type {(audit: Audit, knob: Knob, model: LabModel) => LabNote} */
function relaxed(audit, knob, { settings }) {
  const { head } = known(audit.name);
  const keeps = `With ${knob.sign} = ${settings[knob.option]} it keeps ${four(audit.kept)}`;
  if (audit.exact) return { title: `${head}.`, text: `${keeps}, and on these numbers it is exact.` };
  const title = `${head} gives up exactness.`;
  return { title, text: `${keeps}; what it writes differs from the target by ${distance(audit.distance)}.` };
}

/** Of a rule that another one writes down in another way. @type {(one: Audit, other: Audit, model: LabModel) => LabNote} */
function sameLaw(one, other, { vocab, gamma }) {
  const title = `${known(one.name).head} and ${short(other.name)} are the same law.`;
  const drafts = `over all ${count(vocab ** gamma)} drafts`;
  const gap = apart(one, other);
  const thresholds =
    gap === 0
      ? `, and ${drafts} every threshold is equal`
      : gap < ROUNDING
        ? `, and ${drafts} no threshold differs by more than rounding (${exact(gap)})`
        : "";
  const both = four(other.kept) === four(one.kept) ? "" : ` and ${four(one.kept)}`;
  return { title, text: `Both keep ${four(other.kept)}${both}${thresholds}.` };
}

/** What the usual rule keeps more than the vanilla one. @type {(rules: LabAudits, model: LabModel) => LabNote} */
function gain({ [VANILLA]: vanilla, [USUAL]: usual }, { gamma }) {
  const [more, level] = [usual.kept - vanilla.kept, same(usual.kept, vanilla.kept)];
  const title = `${known(USUAL).head} against ${short(VANILLA)}.`;
  if (level && more <= ROUNDING * usual.kept) {
    const why =
      gamma === 1
        ? "With one drafted token there is nothing to judge together: "
        : "On these numbers judging the draft as a whole gains nothing: ";
    return { title, text: `${why}both keep ${level} of ${gamma}.` };
  }
  const share = vanilla.kept > 0 ? ` (${percentMore(more / vanilla.kept)} more)` : "";
  const amount = `It keeps ${pair(usual.kept, vanilla.kept, 4, 4).join(` of ${plural(gamma, "drafted token")}, ${short(VANILLA)} `)}${share}`;
  return { title, text: `${amount}: one weak token need not cost the tokens after it.` };
}

const percentMore = (/** @type {number} */ x) => (x < 0.0095 ? "less than 1 %" : `${Math.round(100 * x)} %`);

/** Of a rule that is not lossless and has no number that could make it so. @param {Audit} audit */
function lossy(audit) {
  const { head, loses } = known(audit.name);
  if (audit.exact) return { title: `${head}.`, text: "On these numbers it is exact, but not in general." };
  const off = `It keeps ${four(audit.kept)}, but what it writes differs from the target by ${distance(audit.distance)}`;
  return { title: `${head} accepts too much.`, text: `${off}${loses ? `: ${loses}` : "."}` };
}

/** Of a rule that draws the rest of a block anew. @type {(audit: Audit, rules: LabAudits, ideal: number) => LabNote} */
function openPositions(audit, { [USUAL]: usual }, ideal) {
  const { head } = known(audit.name);
  const reaches =
    Math.abs(audit.kept - ideal) < 1e-9 * ideal ? `keeps the ideal ${four(ideal)}` : `keeps ${four(audit.kept)}`;
  if (audit.extra < ROUNDING)
    return { title: head, text: `${reaches}, and on these numbers it needs no further target call.` };
  const rate = (/** @type {Audit} */ one) => four(one.committed / one.calls);
  const price = `but needs ${four(audit.extra)} further target calls a step`;
  const text = `It ${reaches}, ${price}: ${rate(audit)} tokens per target call against ${rate(usual)} for ${short(USUAL)}.`;
  return { title: `${head} pays for it.`, text };
}

/** What FSD gives up, with the bound where there is one: tolerance · E[kept], by the chain rule. @type {(audit: Audit, model: LabModel) => LabNote} */
function near(audit, { settings: { divergence, tolerance } }) {
  const { head } = known(audit.name);
  const keeps = `With ${formulaOf(divergence)} up to ${tolerance} it keeps ${four(audit.kept)}`;
  if (audit.exact) {
    const why = audit.strict
      ? "at a tolerance of 0 or less nothing passes that could change what is written"
      : "no position that it reaches has a divergence above 0 and within the tolerance";
    return { title: `${head}.`, text: `${keeps}, and on these numbers it is exact: ${why}.` };
  }
  const most = tolerance * audit.kept;
  const bound = divergence === "kl" || (divergence === "tv" && most < 1) ? `, at most T · E[τ] = ${four(most)}` : "";
  const nats = `KL(output‖target) is ${four(audit.divergence)} nats${bound}`;
  const amount =
    divergence === "kl"
      ? `${nats}; the total variation is ${distance(audit.distance)}`
      : `what it writes differs from the target by ${distance(audit.distance)}${bound}`;
  return { title: `${head} gives up exactness.`, text: `${keeps}; ${amount}.` };
}

// ---- about the settings of the fuzzy rule

/** Where the rows of this model are near enough. @type {(model: LabModel, kind: LabKind) => string} */
function nearWords({ gamma, p, q, settings: { divergence, tolerance, mode } }, kind) {
  const name = formulaOf(divergence);
  const values = q.map((row, t) => DIVERGENCES[divergence](p[t], row));
  const text = (/** @type {number} */ x) => (x === Infinity ? "∞" : exact(x, 4));
  const inside = values.flatMap((x, t) => (x <= tolerance ? [t + 1] : []));
  const several = `position${inside.length === 1 ? "" : "s"} ${inside.join(", ")}`;
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
    mode === "exact-first" ? "vanilla, token by token" : "plain decoding, as every draft ends at its first token";
  if (tolerance < 0) return `${apart}. A tolerance below 0 lets nothing pass: this is ${exactly}.`;
  return `${apart}, ${lets}.`;
}

/** What happens to a token outside the tolerance. @param {LabModel} model */
function modeWords({ settings: { mode } }) {
  return mode === "exact-first"
    ? "Where D > T the exact test decides, p/q against the coin, and a correction is drawn from max(p − q, 0)."
    : "The first D > T stops the draft whatever the coin, and the next token is drawn from the whole of p: the paper's form.";
}

/** About tokens with p = 0. @param {LabModel} model */
function excludedWords({ settings: { divergence } }) {
  return divergence === "kl"
    ? "A token that the target never says cannot pass: where q may draft one, KL(q‖p) is infinite."
    : `A token that the target never says (p = 0) can pass: ${formulaOf(divergence)} does not rule it out.`;
}

// ---- about the settings of the rules with one number

/** How far a mixture is from the target, where a token is tested. @type {(model: LabModel, kind: LabKind) => string} */
function mixtureWords({ p, q, settings: { draft_weight: w } }, kind) {
  if (w === 0) return "At w = 0 the draft has no share: this is vanilla, token by token.";
  const apart = q.map((row, t) => DIVERGENCES.tv(p[t], row));
  const four = (/** @type {number} */ x) => exact(x, 4);
  const text = (/** @type {number[]} */ values) => (kind === "same" ? four(values[0]) : values.map(four).join(", "));
  const where = kind === "same" ? "Here" : "By position";
  return `${where} p and q are ${text(apart)} apart (total variation), and the mixture w times that from p: ${text(apart.map((x) => w * x))}.`;
}

/** Of a form that throws no coin: what p must exceed here, and which tokens do. when: its condition. @type {(model: LabModel, kind: LabKind, when: Expression | null) => string} */
function barWords({ q, p, settings }, kind, when) {
  const least = Array.isArray(when) ? when[2] : 0;
  const bar = (/** @type {number[]} */ row) => Number(evaluate(least, { ...settings, entropy: entropy(row) }));
  const one = (/** @type {number[]} */ row) => `${exact(bar(row), 4)} (H = ${exact(entropy(row), 4)} nats)`;
  const rows = p.slice(0, q.length);
  if (kind !== "same") return `What p must exceed, by position: ${rows.map(one).join(", ")}.`;
  const pass = range(rows[0].length).filter((i) => rows[0][i] > bar(rows[0]));
  const names = pass.map((i) => LETTERS[i]).join(", ");
  const who =
    pass.length === rows[0].length ? "every token passes" : names ? `these pass: ${names}` : "no token passes";
  return `Here p must exceed ${one(rows[0])}: ${who}, however often the draft proposes it.`;
}

// ---- about the output law

/** What the bars show. @type {(vocab: number, gamma: number, shown: number) => string} */
function lawHint(vocab, gamma, shown) {
  const sequences = `${count(vocab ** shown)} sequences of ${plural(shown, "token")}`;
  if (shown === gamma + 1) return `All ${sequences} that one step and the target after it can write.`;
  return `All ${sequences}: the first ${shown} of ${gamma + 1}. What comes after them is added up.`;
}

/** How far a rule is from the target. @type {(audit: Audit, shownDistance: number, shown: number, gamma: number) => string} */
function lawSentence(audit, shownDistance, shown, gamma) {
  const name = capital(short(audit.name));
  if (audit.exact) return `${name} writes every sequence exactly as often as the target: total variation 0 (exact).`;
  const part =
    shown === gamma + 1 ? "" : `, and ${distance(shownDistance)} of it shows in the first ${plural(shown, "token")}`;
  return `${name} misses the target by a total variation of ${distance(audit.distance)}${part}: hatched / is too often, hatched \\ too rarely.`;
}

// ---- about a simulation

const LIMIT = 4; // standard errors that the largest of some tens of deviations rarely exceeds by chance

const errors = (/** @type {{deviation: number}} */ { deviation }) =>
  deviation === Infinity ? "infinitely many standard errors" : `${deviation.toFixed(1)} standard errors`;

/** What a simulation shows. @param {LabTrial} trial */
function trialSentence({ name, trials, target, own, exactHere, shownDistance }) {
  const rule = capital(short(name));
  const fits = own.deviation < LIMIT;
  const start = `${count(trials)} steps: `;
  if (exactHere) {
    return (
      start +
      (fits
        ? `${rule} agrees with the target. The largest deviation is ${errors(target)}, as chance alone gives.`
        : `the largest deviation from the target is ${errors(target)}, more than chance often gives; try another seed.`)
    );
  }
  if (target.deviation >= LIMIT) {
    const belongs = fits ? `; from its own exact law it is only ${errors(own)}` : "";
    return `${start}${rule} misses the target by ${errors(target)}${belongs}.`;
  }
  return `${start}too few to see that ${short(name)} misses the target by ${distance(shownDistance)}; the largest deviation is ${errors(target)}.`;
}

// ---- about the paper’s step

const PAPER_TEXT = [
  "One step of §5.4 of the HSD paper: ten drafted tokens of a GSM8K answer, with the target's and the draft's probability of each.",
  "The paper lists only the drafted token at each position, so the rest of each row is lumped into one token, “anything else”. " +
    "That leaves r, m, r* and c as they are; inner thresholds and residuals are those of the lumped rows.",
  "It is one draft, so there is nothing to enumerate: what the models would say after other tokens is not known.",
];

/** What the paper's step shows, as far as the numbers still show it. @type {(usual: number[], vanilla: number[]) => string | null} */
function paperSentence(usual, vanilla) {
  const sure = usual.findIndex((chance) => chance > 1 - ROUNDING);
  if (sure < 1 || vanilla[0] < ROUNDING) return null;
  const survive = `Under ${short(USUAL)} the first ${plural(sure, "token")} survive whatever the coins: the threshold there is 1, and every later one is 0.`;
  return `${survive} ${known(VANILLA).head} already risks the whole draft at its first token: with probability ${four(vanilla[0])} it keeps none.`;
}

export { four, distance, verdict, findings, barWords, mixtureWords, nearWords, modeWords, excludedWords };
export { lawHint, lawSentence, trialSentence, paperSentence, capital, short, PAPER_TEXT };

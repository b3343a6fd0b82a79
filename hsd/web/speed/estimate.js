// What both rules would have kept of drafts of texts that a target wrote, from log-probabilities
// alone. Pure.
import { expectedPasses, KEPT, keptChances } from "../step/kept.js";

const LONGEST = 8;
const LINE = '{"logp": […], "logq": […]}';

/** Whether a file's first line is that of texts with log-probabilities. @param {Values} line */
const hasTexts = (line) => Array.isArray(line.logp) && Array.isArray(line.logq);

/** Whether a file is the JSON of `hsd estimate`. @param {Values} value */
const isEstimate = (value) =>
  Object.keys(KEPT).every((rule) => value.rules?.[rule]?.tokens_per_pass);

/**
 * Samples of both rules at every draft length on the texts of a file.
 * @type {(lines: Values[]) => Sample[]}
 */
function ofTexts(lines) {
  const samples = /** @type {Sample[]} */ ([]);
  for (const [text, { logp, logq }] of lines.entries()) {
    const numbers = [logp, logq].map((list) => (Array.isArray(list) ? list : []).map(asNumber));
    const [own, drafted] = numbers;
    const sound = own.every((x) => x > Number.NEGATIVE_INFINITY && x <= 0.001);
    const logs = drafted.every((x) => x <= 0.001);
    if (!own.length || own.length !== drafted.length || !sound || !logs) {
      const remedy = `give ${LINE}, natural logarithms, one of each for every token`;
      throw new Error(`text ${text + 1} has other numbers: ${remedy}`);
    }
    const ratios = own.map((x, i) => Math.exp(drafted[i] - x));
    for (const rule of Object.keys(KEPT)) {
      const chances = keptChances(rule, ratios, LONGEST);
      for (let gamma = 1; gamma <= LONGEST; gamma += 1) {
        const passes = expectedPasses(chances, gamma);
        samples.push({ gamma, rule, text, tokens: ratios.length, passes });
      }
    }
  }
  return samples;
}

/** A log-probability; NaN for what is none. @param {unknown} value */
function asNumber(value) {
  if (value === "-inf" || value === "-Infinity") return Number.NEGATIVE_INFINITY;
  return typeof value === "number" ? value : Number.NaN;
}

/**
 * Samples of the JSON of `hsd estimate`: of each text where it has them, else of all together.
 * @type {(estimate: Values) => Sample[]}
 */
function ofEstimate({ gamma: lengths, rules, per_text: texts, tokens }) {
  const samples = /** @type {Sample[]} */ ([]);
  for (const rule of Object.keys(KEPT))
    for (const [i, gamma] of lengths.entries())
      if (texts)
        for (const [text, { tokens: own, expected_passes: passes }] of texts.entries())
          samples.push({ gamma, rule, text, tokens: own, passes: passes[rule][i] });
      else {
        const passes = tokens / rules[rule].tokens_per_pass[i];
        samples.push({ gamma, rule, text: 0, tokens, passes });
      }
  return samples;
}

export { hasTexts, isEstimate, LINE, ofEstimate, ofTexts };

// The chips of the page's head in words: where a trace comes from, and what the models are.
import { size } from "../kit/format.js";

/** Where a trace comes from. kind: of its source; live: it goes on. */
function sourceWords(trace, kind, live) {
  if (kind !== "run") return `${kind === "file" ? "trace file, " : ""}recorded on ${day(trace.created)}`;
  const cancelled = trace.result && trace.result.finish === "cancelled";
  return `● live${live ? " · running" : cancelled ? " · cancelled" : ""}`;
}

function day(created) {
  const date = new Date(created);
  return Number.isNaN(date.getTime())
    ? String(created).slice(0, 20)
    : date.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
}

const all = (n) => n.toLocaleString("en");
const COPIED =
  "The drafts are copied from the text: what followed its last tokens when they came up before. No draft model.";

/**
 * The chip of a pair and its tooltip. target, draft: how many parameters; draft is null where there is none.
 * vocabulary: how many tokens there are; drafted: how many of them the draft can propose, null for all.
 */
function pairWords({ name, target, draft, vocabulary, drafted }, note) {
  if (!draft) return [`${name}: ${size(target)}`, `target ${all(target)} parameters; ${all(vocabulary)} tokens${note}`];
  const tokens = drafted ? `drafts ${all(drafted)} of ${all(vocabulary)} tokens` : "✓ same vocabulary";
  const parameters = `target ${all(target)} parameters, draft ${all(draft)}`;
  const same = `${all(vocabulary)} tokens, and both models give each the same meaning`;
  return [
    `${name}: ${size(target)} + ${size(draft)} · ${tokens}`,
    `${parameters}; ${same}${drafted ? fewer(drafted) : ""}${note}`,
  ];
}

/** What it means that a draft can propose so many tokens only. */
const fewer = (drafted) =>
  `. The draft proposes only ${all(drafted)} of them; any other can only come as a correction or a bonus, which the target gives. ` +
  "The result is just as exact: the text follows the target as before";

/** The same of the pair that made a trace. */
function tracePair({ pair, models, vocab_size: vocabulary, options }) {
  const [target, draft] = [models[models.length - 1], models.length > 1 ? models[0] : null];
  const parts = { draft: draft && draft.parameters, drafted: draft && draft.drafted };
  const copied = !["model", "none"].includes(options.draft.proposer);
  const [chip, words] = pairWords({ name: pair, target: target.parameters, ...parts, vocabulary }, "");
  const names = draft ? `${target.name} with ${draft.name}` : target.name;
  return [`${chip}${copied ? " · drafts from the text" : ""}`, `${names}: ${words}${copied ? `. ${COPIED}` : ""}`];
}

export { sourceWords, pairWords, tracePair };

// The chips of the page's head in words: where a trace comes from, and what the models are.
import { day, size } from "../kit/format.js";

/** Where a trace comes from. kind: of its source; live: it goes on; over: another run has been asked for. @type {(trace: Trace, kind: string, live: boolean, over: boolean) => string} */
function sourceWords(trace, kind, live, over) {
  if (kind !== "run") return `${kind === "file" ? "trace file, " : ""}recorded on ${day(trace.created)}`;
  if (over) return "the run before";
  return `● live${live ? " · running" : trace.result?.finish === "cancelled" ? " · cancelled" : ""}`;
}

const all = (/** @type {number} */ n) => n.toLocaleString("en");
const COPIED =
  "The drafts are copied from the text: what followed its last tokens when they came up before. No draft model.";

/** The chip of the pair that made a trace, and its tooltip. @type {(setup: Setup) => [chip: string, title: string]} */
function tracePair({ pair, models, vocab_size: vocabulary, options }) {
  const target = models[models.length - 1];
  const draft = models.length > 1 ? models[0] : null;
  const copied = !["model", "none"].includes(options.draft.proposer);
  const tokens = `${all(vocabulary)} tokens`;
  const drafted = draft?.drafted && all(draft.drafted);
  const some = `. The draft proposes only ${drafted} of them; any other can only come as a correction or a bonus, from the target`;
  const sizes = `${pair}: ${size(target.parameters)}`;
  const words = `target ${all(target.parameters)} parameters`;
  const [chip, title] = draft
    ? [
        `${sizes} + ${size(draft.parameters)} · ${drafted ? `drafts ${drafted} of ${tokens}` : "✓ same vocabulary"}`,
        `${target.name} with ${draft.name}: ${words}, draft ${all(draft.parameters)}; ${tokens}, and both models give each the same meaning`,
      ]
    : [sizes, `${target.name}: ${words}; ${tokens}`];
  const more = (drafted ? `${some}. The result is just as exact` : "") + (copied ? `. ${COPIED}` : "");
  return [`${chip}${copied ? " · drafts from the text" : ""}`, title + more];
}

export { sourceWords, tracePair };

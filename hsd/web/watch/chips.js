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

/** The chip of a pair and its tooltip. target, draft: how many parameters; draft is null where there is none. */
function pairWords({ name, target, draft, vocabulary }, note) {
  const all = (n) => n.toLocaleString("en");
  const models = draft ? `${size(target)} + ${size(draft)}` : size(target);
  const same = draft ? ", and both models give each the same meaning" : "";
  return [
    `${name}: ${models}${draft ? " · ✓ same vocabulary" : ""}`,
    `target ${all(target)} parameters${draft ? `, draft ${all(draft)}` : ""}; ${all(vocabulary)} tokens${same}${note}`,
  ];
}

/** The same of the pair that made a trace. */
function tracePair({ pair, models, vocab_size: vocabulary }) {
  const [target, draft] = [models[models.length - 1], models.length > 1 ? models[0] : null];
  const sizes = { name: pair, target: target.parameters, draft: draft && draft.parameters, vocabulary };
  const [chip, words] = pairWords(sizes, "");
  return [chip, `${draft ? `${target.name} with ${draft.name}` : target.name}: ${words}`];
}

export { sourceWords, pairWords, tracePair };

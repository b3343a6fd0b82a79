// Links of earlier versions to runs on the Systems screen: each is a link to Watch today.
import { facts } from "../kit/facts.js";

/** What the FSD panel ran, beside the settings that its links list in this order. */
const rule = facts.rules.find((one) => one.by_divergence)?.name ?? facts.usual;
const FSD = { pair: "tiny", rule, shadow: facts.vanilla, gamma: "5", max_new_tokens: "64" };
const SETTINGS = ["divergence", "fuzzy_mode", "divergence_on", "tolerance", "temperature", "seed"];
const TEXTS = /** @type {Record<string, string>} */ ({
  sums: "Question: Dan is 8 years old, and Oscar is 2 years older than Dan. How old will Oscar be in 4 years?\nAnswer:",
  stories: "Once upon a time, there was a little girl named Lily. She had a red ball. One day,",
});

/**
 * The parameters of a link as they are called today; `moment` counts what happened in a run, see `stepOf`.
 * @param {URLSearchParams} query
 */
function today(query) {
  const [show, run, fsd, moment] = ["show", "run", "fsd", "at"].map((name) => query.get(name) ?? "");
  if (show) return new URLSearchParams({ preset: show, moment });
  if (run) return new URLSearchParams([...new URLSearchParams(run), ["moment", moment]]);
  if (!fsd) return query;
  const [version, text, ...settings] = fsd.split("*");
  const [preset, step] = settings.slice(SETTINGS.length);
  const place = { [version === "1" ? "step" : "at_step"]: step ?? "" };
  if (preset) return new URLSearchParams({ preset, ...place });
  const own = SETTINGS.map((name, i) => [name, settings[i] ?? ""]);
  return new URLSearchParams({ ...FSD, prompt: TEXTS[text] ?? TEXTS.stories, ...Object.fromEntries(own), ...place });
}

/** The step in which a moment was: one for each event of a level and one for the target; of a tree, for each move in it; null without a moment. @type {(trace: Trace, moment?: number) => number | null} */
function stepOf({ steps }, moment) {
  if (moment === undefined) return null;
  const levels = (/** @type {Step} */ step) => Math.max(step.depth, ...(step.growth ?? []).map(({ level }) => level));
  const tests = (/** @type {Step} */ step) => step.verdict?.decisions.length ?? 0;
  const moves = (/** @type {Step} */ step) => 3 + levels(step) * (step.growth?.length ? 2 : 1) + tests(step);
  const moments = (/** @type {Step} */ step) =>
    step.drafted > step.depth && !step.events.length ? moves(step) : step.events.length + 1;
  let left = moment;
  const at = steps.findIndex((step) => (left -= moments(step)) < 0);
  return at < 0 ? steps.length - 1 : at;
}

export { stepOf, today };

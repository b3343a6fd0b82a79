// The lab's one draft as a step of a trace, so that the parts of a step can draw and explain it.
import { Recorder } from "../answers/browser/record.js";
import { kept, lawOf, next, pick, VANILLA } from "../rules/law.js";
import { readStep } from "../step/model.js";
import { names } from "./state.js";

const DRAW = 0.5; // the number that draws the token after the kept ones
const BEFORE = "…"; // what stands before the draft

/**
 * The view (see step/model.js) of the lab's draft, judged with the state's rule and coins.
 * @type {(valid: LabState, model: LabModel) => View}
 */
function viewOf(valid, { p, q, vocab }) {
  const { draft: tokens, coins, rule, settings } = valid;
  const law = lawOf(rule, p, q, tokens, settings);
  const count = kept(law, coins);
  const row = next(law, count);
  // the paper lists no bonus row
  const token = valid.kind === "step" && count === tokens.length ? null : pick(row, DRAW);
  const draws = tokens.map(() => DRAW);
  const small = { p, q, tokens };
  const played = {
    ...small,
    small,
    coins,
    law,
    draws,
    number: DRAW,
    kept: count,
    row,
    token,
  };
  const described = (/** @type {number} */ token) => ({ token, piece: names(valid, 0)[token] });
  const recorder = new Recorder({ ends: [], described }, rule, null, settings);
  const details = recorder.details({ ...played, extraDraws: [] });
  if (valid.kind === "step") rename(details, valid);
  const follows = details.verdict.next ? [details.verdict.next] : [];
  const stays = details.nodes.slice(0, count);
  const drafted = stays.map((node) => ({ ...node, origin: "draft" }));
  const committed = [...drafted, ...follows];
  const step = {
    index: 0,
    drafted: tokens.length,
    depth: tokens.length,
    kept: count,
    target_calls: 1,
    committed,
  };
  const setup = { options: optionsOf(valid), vocab_size: vocab, notes: [] };
  const trace = { setup, prompt: { pieces: [BEFORE] }, steps: [{ ...step, ...details }] };
  return readStep(/** @type {any} */ (trace), 0); // a trace with no more than a view needs
}

/** The options of a run with the lab's settings. @param {LabState} state */
function optionsOf({ rule, gamma, settings }) {
  const { divergence, mode, tolerance, after_kept, ...knobs } = settings;
  return {
    rule,
    shadow: VANILLA,
    system: "speculative",
    draft: { proposer: "model", gamma, drafts: 1, tree: "paths" },
    levels: { thresholds: [], exits: [] },
    fuzzy: { divergence, mode, tolerance, on: "warped" },
    typical: { after_kept },
    knobs,
    sampling: { temperature: 1, top_p: 1, top_k: 0 },
  };
}

/**
 * Give the tokens of the paper's step their names, which depend on the position.
 * @param {ReturnType<Recorder["details"]>} details
 * @param {LabState} valid
 */
function rename({ nodes, branches, verdict, shadow }, valid) {
  /** @type {(tokens: (Token & {token: number})[], t: number) => void} */
  const name = (tokens, t) => {
    for (const entry of tokens) entry.piece = names(valid, t)[entry.token];
  };
  nodes.forEach((node, t) => name([node], t));
  branches.forEach(({ top }, t) => name(top, t));
  for (const { residual, next: follows } of [verdict, shadow])
    if (residual && follows) name([...residual.top, follows], residual.node);
}

export { viewOf };

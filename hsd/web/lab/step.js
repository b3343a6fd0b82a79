// The lab's one draft as a step of a trace, so that the parts of a step can draw and explain it.
import { Recorder } from "../answers/browser/record.js";
import { kept, lawOf, next, pick, VANILLA } from "../rules/law.js";
import { readStep } from "../step/model.js";
import { names } from "./state.js";

const DRAW = 0.5; // the number that draws the token after the kept ones
const BEFORE = "…"; // what stands before the draft

/** What the parts of a step ask about a state of the lab and its numbers (see state.js `model`): see step/model.js. @type {(valid: LabState, model: LabModel) => View} */
function viewOf(valid, { p, q, vocab }) {
  const { draft: tokens, coins, rule, settings } = valid;
  const law = lawOf(rule, p, q, tokens, settings);
  const count = kept(law, coins);
  const row = next(law, count);
  const token = valid.kind === "step" && count === tokens.length ? null : pick(row, DRAW); // the paper lists no bonus row
  const draws = tokens.map(() => DRAW);
  const played = { tokens, coins, law, p, q, draws, number: DRAW, small: { p, q, tokens }, kept: count, row, token };
  const described = (/** @type {number} */ token) => ({ token, piece: names(valid, 0)[token] });
  const recorder = new Recorder({ ends: [], described }, rule, null, settings);
  const details = recorder.details({ ...played, extraDraws: [] });
  if (valid.kind === "step") rename(details, valid);
  const follows = details.verdict.next ? [details.verdict.next] : [];
  const committed = [...details.nodes.slice(0, count).map((node) => ({ ...node, origin: "draft" })), ...follows];
  const step = { index: 0, drafted: tokens.length, depth: tokens.length, kept: count, target_calls: 1, committed };
  const setup = { options: optionsOf(valid), vocab_size: vocab, notes: [] };
  const trace = { setup, prompt: { pieces: [BEFORE] }, steps: [{ ...step, ...details }] };
  return readStep(/** @type {any} */ (trace), 0); // as much of one as the parts of a step ask for
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

/** Of the paper's step, whose tokens have names by position. @param {ReturnType<Recorder["details"]>} details @param {LabState} valid */
function rename({ nodes, branches, verdict, shadow }, valid) {
  const named = (/** @type {Token & {token: number}} */ one, /** @type {number} */ t) =>
    Object.assign(one, { piece: names(valid, t)[one.token] });
  nodes.forEach(named);
  branches.forEach(({ top }, t) => top.forEach((one) => named(one, t)));
  for (const { residual, next: follows } of [verdict, shadow])
    if (residual && follows) for (const one of [...residual.top, follows]) named(one, residual.node);
}

export { viewOf };

// The same run seen from the other side: each step's rule and its shadow change places. Pure; no page.
import { lastKept, pathTo, written, WRITTEN } from "./model.js";

/**
 * A trace in which the shadow is the rule and the rule is the shadow, on the same drafts, coins and contexts.
 * Steps without a shadow stay as they are, and so does a trace without any. The text of the run stays the run's own:
 * what its steps committed is remembered, so that every step still begins where it began.
 */
function mirror(trace) {
  const { options } = trace.setup;
  const found = trace.steps.find((step) => step.shadow);
  const rule = found ? found.shadow.rule : options.shadow;
  if (!rule) return trace;
  const shadow = found ? found.verdict.rule : options.rule;
  const setup = { ...trace.setup, options: { ...options, rule, shadow } };
  return { ...trace, setup, steps: trace.steps.map(mirrorStep) };
}

/** One step of it. A rule's further target calls are not part of it. */
function mirrorStep(step) {
  const { verdict, shadow } = step;
  if (!shadow) return step;
  const { kept, next } = shadow;
  const committed = [...keptTokens(step, shadow), ...(next ? [next] : [])];
  return { ...step, kept, committed, target_calls: 1, verdict: shadow, shadow: verdict, [WRITTEN]: written(step) };
}

/** The drafted tokens that a rule keeps, as committed ones. */
function keptTokens({ nodes }, verdict) {
  const view = { nodes: new Map(nodes.map((node) => [node.id, node])) };
  const tokens = pathTo(view, lastKept(verdict)).map((id) => view.nodes.get(id));
  return tokens.map(({ token, piece }) => ({ token, piece, origin: "draft" }));
}

export { mirror, mirrorStep };

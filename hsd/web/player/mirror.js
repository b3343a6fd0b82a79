// The same run seen from the other side: each step's rule and its shadow change places. Pure; no page.
import { fullName, written, WRITTEN } from "./model.js";

/**
 * A trace in which the shadow is the rule and the rule is the shadow, on the same drafts, coins and contexts.
 * Steps without a shadow stay as they are, and so does a trace without any. The text of the run stays the run's own:
 * what its steps committed is remembered, so that every step still begins where it began.
 */
function mirror(trace) {
  const found = trace.steps.find((step) => step.shadow);
  const other = found ? found.shadow.rule : trace.setup.shadow ? fullName(trace.setup.shadow, trace.setup) : null;
  if (!other) return trace;
  const own = fullName(trace.setup.rule, trace.setup);
  return {
    ...trace,
    setup: { ...trace.setup, rule: other, shadow: own },
    steps: trace.steps.map((step) => mirrorStep(step, trace.setup)),
  };
}

/** One step of it. setup: that of the trace as it was recorded. A rule's further target calls are not part of it. */
function mirrorStep(step, setup) {
  const { shadow } = step;
  if (!shadow) return step;
  const next = shadow.next ? [shadow.next] : [];
  return {
    ...step,
    kept: shadow.kept,
    committed: [...keptTokens(step, shadow), ...next],
    decisions: shadow.decisions,
    changes: shadow.changes || [],
    residual: shadow.residual || null,
    target_calls: 1,
    extra_draws: [],
    shadow: {
      rule: fullName(setup.rule, setup),
      decisions: step.decisions,
      changes: step.changes || [],
      kept: step.kept,
      next: step.committed[step.kept] || null,
      residual: step.residual || null,
    },
    [WRITTEN]: written(step),
  };
}

/** The drafted tokens that a rule keeps, as committed ones. */
function keptTokens({ nodes }, { decisions }) {
  const accepted = decisions.filter((decision) => decision.accepted);
  const path = [];
  for (let id = accepted.length ? accepted[accepted.length - 1].node : 0; id; id = nodes[id - 1].parent) {
    path.push({ token: nodes[id - 1].token, piece: nodes[id - 1].piece, origin: "draft" });
  }
  return path.reverse();
}

export { mirror, mirrorStep };

// Sums over a run for both rules, and where two runs part. Pure.
const ids = (steps) => steps.flatMap((step) => step.committed.map((committed) => committed.token));

/**
 * Both rules on the steps of one run. `own` is the run itself; `other` is what the second rule would have gained had
 * each of these steps been judged by it: the tokens that it keeps, and the one after them, for one target call.
 */
function paired(trace) {
  const steps = trace.steps.filter((step) => step.shadow);
  const sum = (of) => steps.reduce((total, step) => total + of(step), 0);
  return {
    steps: steps.length,
    more: steps.filter((step) => step.kept > step.shadow.kept).length,
    less: steps.filter((step) => step.kept < step.shadow.kept).length,
    own: lane(
      sum((step) => step.kept),
      sum((step) => step.committed.length),
      sum((step) => step.target_calls),
    ),
    other: lane(
      sum((step) => step.shadow.kept),
      sum((step) => step.shadow.kept + (step.shadow.next ? 1 : 0)),
      steps.length,
    ),
  };
}

const lane = (kept, tokens, calls) => ({ kept, tokens, calls, perCall: calls ? tokens / calls : 0 });

/** A run by itself. */
function alone(trace) {
  const sum = (of) => trace.steps.reduce((total, step) => total + of(step), 0);
  return lane(
    sum((step) => step.kept),
    sum((step) => step.committed.length),
    sum((step) => step.target_calls),
  );
}

/** The first step that the two runs make after different texts; null while there is none. */
function parting(a, b) {
  const [one, two] = [[], []];
  for (let i = 0; i < Math.min(a.steps.length, b.steps.length); i += 1) {
    if (one.length !== two.length || one.some((token, k) => token !== two[k])) return i;
    one.splice(0, one.length, ...ids([a.steps[i]]));
    two.splice(0, two.length, ...ids([b.steps[i]]));
  }
  return null;
}

/** Whether both runs wrote the same tokens. */
const sameText = (a, b) => ids(a.steps).join() === ids(b.steps).join();

export { paired, alone, parting, sameText };

// What the levels of a stack have done so far, and what the same prompt gave with one draft and the vanilla rule.
import { count, number, percent, plural } from "../../kit/format.js";
import { folded, say } from "../../kit/parts.js";
import { totals } from "../../step/lanes.js";
import { names } from "../levels/words.js";
import { capital, div, p, table } from "../parts.js";

const HEADS = ["", "calls", "tokens handed up", "kept above", "share kept"];

/** beside(trace): a promise of the trace of the recorded vanilla run that belongs beside it, or null. */
function create(beside) {
  const box = div("");
  const [said, other] = [p("lv-efficiency"), p("hp-hint lv-beside")];
  const hint = "Up to the moment that is shown. A token is kept if the level above kept it.";
  const element = folded("sy-totals", "What each level did", hint, box, said, other);
  let asked = null;

  function update(trace, moment) {
    const rows = totals(trace, moment);
    const called = names(trace.setup);
    const target = rows[rows.length - 1];
    const lines = rows.map((row, level) => {
      const below = row === target ? ["–", "–", "–"] : [count(row.handed), count(row.kept), share(row)];
      return { level, head: capital(called[level]), cells: [count(row.calls), ...below] };
    });
    box.replaceChildren(table("what each level did", "lv-totals", HEADS, lines.reverse()));
    say(said, efficiency(target.kept, target.calls));
    if (trace.setup !== asked) compare(trace);
  }

  async function compare(trace) {
    asked = trace.setup;
    say(other, "");
    const found = await beside(trace);
    if (asked === trace.setup) say(other, found ? besides(trace, found) : "");
  }

  return { element, update };
}

const share = ({ kept, handed }) => (handed ? percent(kept / handed) : "–");

const efficiency = (tokens, calls) =>
  calls
    ? `${plural(tokens, "token")} from ${plural(calls, "target call")}: ${number(tokens / calls)} per call.`
    : "The target has not been called yet.";

function perCall({ steps }) {
  const sum = (of) => steps.reduce((total, step) => total + of(step), 0);
  return number(sum((step) => step.committed.length) / sum((step) => step.target_calls));
}

function besides(trace, vanilla) {
  const { models, options } = vanilla.setup;
  const [draft, { gamma }] = [models[0], options.draft];
  return (
    `Whole runs: ${perCall(trace)} tokens per target call here; vanilla speculative decoding on the same ` +
    `prompt and seed, with ${draft.name} as its one draft, γ = ${gamma}: ${perCall(vanilla)} (recorded). ` +
    "Two single runs; an average takes many."
  );
}

export { create };

// Sums over a run for both rules, and where two runs part.
import { h } from "../kit/dom.js";
import { count, number, plural } from "../kit/format.js";

const sum = (steps, of) => steps.reduce((total, step) => total + of(step), 0);
const ids = (steps) => steps.flatMap((step) => step.committed.map(({ token }) => token));

/** What the steps of a row gained, in words. Of a mirrored run: had each step been judged by the other rule. */
function gained(steps) {
  const tokens = sum(steps, (step) => step.committed.length);
  const calls = sum(steps, (step) => step.target_calls);
  const kept = count(sum(steps, (step) => step.kept));
  return { kept, tokens: count(tokens), calls: count(calls), perCall: number(calls ? tokens / calls : 0) };
}

/** How many tokens of these drafts a row's rule keeps on average over all coins; null where a step does not tell. */
function expected(steps) {
  const means = steps.map((step) => (step.drafted ? step.expected_kept[step.verdict.rule] : 0));
  return steps.length && !means.includes(undefined) ? means.reduce((a, b) => a + b, 0) : null;
}

const UNKNOWN = { kept: "–", tokens: "–", calls: "–", perCall: "–" };

/** [what, of A, of B] of one run and its mirror. a, b: their traces, or null before the first step. */
function pairedLines(a, b) {
  const [one, two] = [a, b].map((trace) => (trace ? trace.steps.filter((step) => step.shadow) : []));
  const [A, B] = [gained(one), gained(two)];
  const law = [one, two].map(expected);
  const more = one.filter((step) => step.kept > step.shadow.kept).length;
  const less = one.filter((step) => step.kept < step.shadow.kept).length;
  const same = count(one.length - more - less);
  return [
    ["drafted tokens kept", A.kept, B.kept],
    ...(law.includes(null) ? [] : [["over all coins, of the same drafts", ...law.map((kept) => number(kept))]]),
    [`of ${plural(one.length, "step")}: keeps more in`, count(more), count(less)],
    ["as many in", same, same],
    ["tokens gained", A.tokens, B.tokens],
    ["target calls", A.calls, B.calls],
    ["tokens per target call", A.perCall, B.perCall],
  ];
}

/** The same of two runs. */
function freeLines(a, b) {
  const [A, B] = [a, b].map((trace) => (trace ? gained(trace.steps) : UNKNOWN));
  return [
    ["tokens", A.tokens, B.tokens],
    ["target calls", A.calls, B.calls],
    ["tokens per target call", A.perCall, B.perCall],
    ["drafted tokens kept", A.kept, B.kept],
  ];
}

/** The card. */
function create() {
  const table = h("table.cp-table");
  const note = h("p.hp-hint");
  const title = h("h3.hp-title", "Totals");
  const element = h("section.hp-card.cp-totals", { "aria-label": "Totals" }, title, table, note);

  /** names: of A and B; lines: [what, of A, of B]. */
  function show(names, lines, words) {
    const heads = names.map((name, i) => h("th", { scope: "col" }, `${"AB"[i]}: ${name}`));
    const line = ([what, ...cells]) =>
      h(
        "tr",
        { "data-line": what },
        h("th", { scope: "row" }, what),
        cells.map((cell) => h("td", cell)),
      );
    table.replaceChildren(h("thead", h("tr", h("td"), heads)), h("tbody", lines.map(line)));
    note.textContent = words;
  }
  return { element, show };
}

/** The first step that the two runs make after different texts; null while there is none. */
function parting(a, b) {
  const both = Math.min(a.steps.length, b.steps.length);
  const same = (i) => ids([a.steps[i]]).join() === ids([b.steps[i]]).join();
  for (let i = 1; i < both; i += 1) if (!same(i - 1)) return i;
  return null;
}

/** Whether both runs wrote the same tokens. */
const sameText = (a, b) => ids(a.steps).join() === ids(b.steps).join();

export { create, pairedLines, freeLines, parting, sameText };

// What the levels of a stack have done so far, and what the same prompt gave with one draft and the vanilla rule.
import { count, number, percent, plural } from "../kit/format.js";
import { totals } from "./levels_model.js";
import { capital, names } from "./levels_words.js";
import { card, h, say } from "./parts.js";

const HEADS = ["", "calls", "tokens handed up", "kept above", "share kept"];

/** beside(trace): a promise of the recorded vanilla run that belongs beside it, or null. */
function create(beside) {
  const said = h("p", { class: "lv-efficiency" });
  const other = h("p", { class: "sy-hint lv-beside" });
  const body = h("tbody", {});
  const table = h(
    "table",
    { class: "lv-table lv-totals" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        HEADS.map((head) => h(head ? "th" : "td", { scope: head ? "col" : null }, head)),
      ),
    ),
    body,
  );
  const hint = "Up to the moment that is shown. A token is kept if the level above kept it.";
  const element = card("totals", "What each level did", hint, h("div", { class: "lv-scroll" }, table), said, other);
  let asked = null;

  function update(trace, moment) {
    const rows = totals(trace, moment);
    const called = names(trace.setup);
    body.replaceChildren(...rows.map((row, level) => line(row, level, rows.length - 1, called)).reverse());
    const target = rows[rows.length - 1];
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

function line({ calls, handed, kept }, level, top, called) {
  const below = [count(handed), count(kept), share(kept, handed)];
  const cells = [count(calls), ...(level === top ? ["–", "–", "–"] : below)];
  return h(
    "tr",
    { "data-level": level },
    h("th", { scope: "row" }, capital(called[level])),
    cells.map((text) => h("td", {}, text)),
  );
}

const share = (kept, handed) => (handed ? percent(kept / handed) : "–");

const efficiency = (tokens, calls) =>
  calls
    ? `${plural(tokens, "token")} from ${plural(calls, "target call")}: ${number(tokens / calls)} per call.`
    : "The target has not been called yet.";

const perCall = ({ steps }) => {
  const sum = (of) => steps.reduce((total, step) => total + of(step), 0);
  return sum((step) => step.committed.length) / sum((step) => step.target_calls);
};

function besides(trace, { trace: vanilla }) {
  const { draft, gamma } = vanilla.setup;
  return (
    `Whole runs: ${number(perCall(trace))} tokens per target call here; vanilla speculative decoding on the same ` +
    `prompt and seed, with ${draft.name} as its one draft, γ = ${gamma}: ${number(perCall(vanilla))} (recorded). ` +
    "Two single runs; an average takes many."
  );
}

export { create };

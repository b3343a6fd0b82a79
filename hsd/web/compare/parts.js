// The cards around the rows: tools, the sentence, the totals. They hold elements; compare.js decides what they say.
import { h, prose } from "../kit/dom.js";
import { count, number, plural } from "../kit/format.js";
import { button } from "../kit/parts.js";
import { ruleInfo } from "../player/model.js";
import { sameLaw } from "./explain.js";

const MODES = [
  ["paired", "Paired", "both judge the same draft at every step"],
  ["free", "Free", "each goes on with its own text: a second run"],
];

/** actions: mode(name), swap, watch, link, cancel. */
function tools(actions) {
  const modes = MODES.map(([name, words, title]) =>
    button(words, title, () => actions.mode(name), { "data-mode": name, "aria-pressed": "false" }),
  );
  const cancel = button("Cancel", "end the second run; what there is of it stays", actions.cancel, {
    class: "hp-button cp-cancel",
  });
  const detail = button(
    "Alternatives and masses",
    "show in both trees what was not drafted, and excess and deficient mass",
    actions.detail,
    { class: "hp-button cp-detail" },
  );
  const said = h("span", { class: "cp-hint cp-said", role: "status" });
  const hint = h("p", { class: "cp-hint cp-mode-hint" });
  const element = h(
    "header",
    { class: "cp-top" },
    h(
      "div",
      { class: "cp-tools" },
      h("div", { "class": "cp-modes", "role": "group", "aria-label": "How to compare" }, modes),
      button("Swap A ↔ B", "change the two rows", actions.swap, { class: "hp-button cp-swap" }),
      detail,
      cancel,
      h("span", { class: "cp-grow" }),
      said,
      button("Open this step in Watch", "everything about this step: ledger, formulas, table", actions.watch, {
        class: "hp-button cp-watch",
      }),
      button("Copy link", "copy a link to this view (l)", actions.link, { class: "hp-button cp-link" }),
    ),
    hint,
  );

  function show(mode, running, words) {
    for (const one of modes) one.setAttribute("aria-pressed", String(one.dataset.mode === mode));
    cancel.hidden = !running;
    hint.textContent = words;
  }

  let timer = null;
  function say(words) {
    said.textContent = words;
    clearTimeout(timer);
    timer = setTimeout(() => {
      said.textContent = "";
    }, 4000);
  }

  return { element, show, say, detail: (on) => detail.setAttribute("aria-pressed", String(on)) };
}

/** The sentence on the step that is shown. */
function why() {
  const lead = h("p", { class: "cp-why" });
  const note = h("p", { class: "cp-hint cp-luck" });
  const element = h(
    "section",
    { "class": "cp-card cp-sentence", "aria-label": "Why", "aria-live": "polite", "aria-atomic": "true" },
    lead,
    note,
  );
  function show(kind, parts, words) {
    lead.dataset.kind = kind || "same";
    lead.replaceChildren(...prose(parts));
    note.textContent = words;
    note.hidden = !words;
  }
  return { element, show, text: () => lead.textContent };
}

function totals() {
  const body = h("tbody");
  const heads = [h("th", { scope: "col" }), h("th", { scope: "col" })];
  const table = h("table", { class: "cp-table" }, h("thead", {}, h("tr", {}, h("td"), heads)), body);
  const note = h("p", { class: "cp-hint" });
  const title = h("h3", { class: "cp-title" }, "Totals");
  const element = h("section", { "class": "cp-card cp-totals", "aria-label": "Totals" }, title, table, note);

  /** lines: [label, of A, of B]. */
  function show(names, lines, words) {
    heads.forEach((head, i) => {
      head.textContent = `${"AB"[i]}: ${names[i]}`;
    });
    body.replaceChildren(
      ...lines.map(([name, ...cells]) =>
        h(
          "tr",
          { "data-line": name },
          h("th", { scope: "row" }, name),
          cells.map((cell) => h("td", {}, cell)),
        ),
      ),
    );
    note.textContent = words;
  }
  return { element, show };
}

const flip = (swapped, a, b) => (swapped ? [b, a] : [a, b]);

/** A sentence on each of the rules that is not lossless; empty if all are. */
const inexactNote = (rules, words) =>
  [...new Set(rules)]
    .map(ruleInfo)
    .filter((info) => !info.lossless)
    .map((info) => ` ${info.short} ${words}.`)
    .join("");

/** What the totals say of paired rows. rules: of the run, and the other one. */
function pairedLines(sums, swapped) {
  const [a, b] = flip(swapped, sums.own, sums.other);
  const [more, less] = flip(swapped, sums.more, sums.less);
  return [
    ["drafted tokens kept", count(a.kept), count(b.kept)],
    [`of ${plural(sums.steps, "step")}: keeps more in`, count(more), count(less)],
    ["as many in", count(sums.steps - more - less), count(sums.steps - more - less)],
    ["tokens gained", count(a.tokens), count(b.tokens)],
    ["target calls", count(a.calls), count(b.calls)],
    ["tokens per target call", number(a.perCall), number(b.perCall)],
  ];
}

function pairedNote(sums, [own, other], live) {
  const [ran, judged] = [own, other].map((rule) => ruleInfo(rule).short);
  const naive =
    other === "naive-hsd"
      ? " The further target calls that naive HSD makes after a rejection, and their tokens, are left out."
      : "";
  const inexact = inexactNote([own, other], "keeps more than it may: it is not lossless");
  const law = sameLaw(own, other) ? " Both are the same law, so their numbers are always equal." : "";
  return `${live ? "So far: the" : "The"} text is that of ${ran}, and its column is what the run did. The column of ${judged} says: if each of these ${plural(sums.steps, "step")} had been judged by ${judged}, it would have kept these tokens and drawn one after them, for one target call each.${naive}${inexact}${law}`;
}

function freeLines(a, b) {
  const of = (lane, key, show = count) => (lane ? show(lane[key]) : "–");
  return [
    ["tokens", of(a, "tokens"), of(b, "tokens")],
    ["target calls", of(a, "calls"), of(b, "calls")],
    ["tokens per target call", of(a, "perCall", number), of(b, "perCall", number)],
    ["drafted tokens kept", of(a, "kept"), of(b, "kept")],
  ];
}

export { tools, why, totals, pairedLines, pairedNote, inexactNote, freeLines, flip };

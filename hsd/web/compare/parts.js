// The tools above the rows, and the sentence on a step. They hold elements; compare.js decides what they say.
import { h, prose } from "../kit/dom.js";
import { button, said } from "../kit/parts.js";
import { elsewhere, live } from "../kit/source.js";

/** actions: mode(name), swap, detail, watch, link, cancel. */
function tools(actions) {
  const mode = (name, words, title) => button(words, title, () => actions.mode(name), { "data-mode": name });
  const modes = [
    mode("paired", "Paired", "both judge the same draft at every step"),
    mode("free", "Free", "each goes on with its own text: a second run"),
  ];
  const both = "show in both trees what was not drafted, and excess and deficient mass";
  const detail = button("Alternatives and masses", both, actions.detail, { class: "cp-detail" });
  const ends = "end the second run; what there is of it stays";
  const cancel = button("Cancel", ends, actions.cancel, { class: "cp-cancel" });
  const all = "everything about this step: ledger, formulas, table";
  const line = said("cp-said");
  const hint = h("p.hp-hint");
  const bar = h(
    "div.cp-tools",
    live && h("div.hp-segments", { "role": "group", "aria-label": "How to compare" }, modes),
    button("Swap A ↔ B", "change the two rows", actions.swap),
    detail,
    cancel,
    h("span.hp-grow"),
    line.element,
    button("Open this step in Watch", all, actions.watch, { class: "cp-watch" }),
    button("Copy link", "copy a link to this view (l)", actions.link),
  );

  function show(mode, running, words) {
    for (const one of modes) one.setAttribute("aria-pressed", String(one.dataset.mode === mode));
    cancel.hidden = !running;
    hint.textContent = words;
  }

  const free = live ? null : elsewhere("To let each rule go on with its own text takes");
  const element = h("header.cp-top", bar, hint, free);
  return { element, show, say: line.say, detail: (on) => detail.setAttribute("aria-pressed", String(on)) };
}

/** The sentence on the step that is shown. */
function why() {
  const lead = h("p.cp-why");
  const note = h("p.hp-hint.cp-luck");
  const spoken = { "aria-label": "Why", "aria-live": "polite", "aria-atomic": "true" };
  const element = h("section.hp-card.cp-sentence", spoken, lead, note);
  function show(kind, parts, words) {
    lead.dataset.kind = kind || "same";
    lead.replaceChildren(...prose(parts));
    note.textContent = words;
    note.hidden = !words;
  }
  return { element, show, text: () => lead.textContent, kind: () => lead.dataset.kind };
}

export { tools, why };

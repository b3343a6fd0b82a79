// The frame of a player: the cards that stay, and the elements in them that every step fills anew.
import { h } from "../kit/dom.js";
import { size } from "../kit/format.js";
import { button } from "../kit/parts.js";
import { draftedBy, draftsWords, ruleInfo, ruleOf } from "./model.js";

/** What is told of a step; `parts` by the names of sentences.js. */
function storyCard(asItWas) {
  const css = { class: "hp-button hp-back", hidden: true };
  const back = button("Back to the run", "undo the what-if (Esc)", asItWas, css);
  const odds = h("div.hp-slot");
  const parts = { lead: h("p.hp-lead"), why: h("p.hp-why"), detail: h("p.hp-detail"), warning: h("p.hp-warning") };
  const spoken = h("div.hp-told", { "aria-live": "polite", "aria-atomic": "true" }, Object.values(parts));
  const element = h("section.hp-card.hp-story", { "aria-label": "What happened" }, spoken, back, odds);
  return { parts, back, odds, element };
}

/** The card of the tree, and the elements in it that a step fills. onMass(): the button of the masses was pressed. */
function treeCard(tree, onMass) {
  const parts = {
    readline: h("p.hp-readout"),
    note: h("p.hp-note"),
    hidden: h("p.hp-hint.hp-left-out"),
    scroller: h("div.hp-scroll.hp-treebox", tree),
    massButton: button("masses", "masses relative to the branch, or joint (m)", onMass),
  };
  parts.massButton.classList.add("hp-toggle");
  const swatch = ([kind, words]) => h("span", h(`span.hp-swatch.is-${kind}`), " ", words);
  const kinds = Object.entries({ q: "draft q", p: "target p", excess: "excess", deficient: "deficient" });
  const keys = h("p.hp-hint.hp-keyline", kinds.map(swatch), h("span", "line width: p"));
  const head = h("div.hp-head", h("h3.hp-title", "Draft tree"), keys, h("span.hp-grow"), parts.massButton);
  const inside = [head, parts.note, parts.scroller, parts.readline, parts.hidden];
  return { ...parts, element: h("section.hp-card.hp-treecard", { "aria-label": "Draft tree" }, inside) };
}

/** A card that is folded up at first. changed(): it was opened or closed. */
function fold(title, changed) {
  const body = h("div.hp-slot");
  const element = h(
    "details.hp-fold",
    { ontoggle: () => (element.open && body.childElementCount ? null : changed()) },
    h("summary", title),
    body,
  );
  return { element, body };
}

/** actions: save(kind), link and embed (absent: no such buttons), fullscreen, help. */
function tools(actions) {
  const file = (label, title, kind) => button(label, title, () => actions.save(kind));
  return h(
    "section",
    { "class": "hp-card hp-tools", "aria-label": "Save or share" },
    h("span.hp-title", "Save or share"),
    file("PNG", "this step as a picture", "png"),
    file("SVG", "this step as a picture that stays sharp at any size", "svg"),
    file("Report", "the run in plain text", "txt"),
    file("CSV", "the steps as a table, one line each", "csv"),
    file("JSON", "the whole run as a trace, to open here or elsewhere", "json"),
    actions.link && file("HTML", "the run and this page in one file, which opens without a network", "html"),
    h("span.hp-grow"),
    actions.link ? button("Copy link", "copy a link to this view (l)", actions.link) : null,
    actions.link ? button("Embed", "copy the code that shows this view in another page", actions.embed) : null,
    button("Full screen", "full screen (f)", actions.fullscreen),
    button("?", "keys (?)", actions.help),
  );
}

/** What made the run, in one line. */
function setupLine({ setup, result }, live) {
  const { options, models, pair, device } = setup;
  const { system, seed, draft, sampling } = options;
  const large = (model) => (model.parameters ? ` ${size(model.parameters)}` : "");
  const [first, target] = [models[0], models[models.length - 1]];
  const [drafted, modelled] = [draft.proposer !== "none", first !== target];
  const parts = [
    system === "plain" ? "plain decoding" : ruleInfo(ruleOf(options)).title,
    drafted ? draftedBy(setup) : null,
    drafted ? draftsWords(draft) : null,
    `temperature ${sampling.temperature}`,
    sampling.top_p < 1 ? `top-p ${sampling.top_p}` : null,
    sampling.top_k ? `top-k ${sampling.top_k}` : null,
    `seed ${seed}`,
    `${pair}: target${large(target)}${modelled ? `, draft${large(first)}` : ""}`,
    device,
  ];
  const cancelled = result && result.finish === "cancelled" ? "cancelled: this is what there was" : null;
  const notes = setup.notes.map((note) => `⚠\ufe0e ${note}`);
  return [...parts, live ? "● live" : cancelled, ...notes].filter(Boolean).join(" · ");
}

/** A message that goes away by itself. */
function toast() {
  const element = h("p", { class: "hp-toast", role: "status" });
  let timer = null;
  const say = (words) => {
    element.textContent = words;
    element.classList.add("is-on");
    clearTimeout(timer);
    timer = setTimeout(() => element.classList.remove("is-on"), 2500);
  };
  return { element, say };
}

export { fold, storyCard, treeCard, tools, setupLine, toast };

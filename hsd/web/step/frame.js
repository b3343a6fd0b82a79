// The frame of a player: the cards that stay, and the elements in them that every step fills anew;
// what made a run, in words.
import { h } from "../kit/dom.js";
import { layout } from "../kit/facts.js";
import { count, day, size } from "../kit/format.js";
import { button } from "../kit/controls.js";
import { plain, say } from "./sentences.js";
import { copies, divergenceName, knobOf, ruleInfo, ruleOf } from "./model.js";

const UNLOADED =
  "This could not be loaded: the page's server cannot be reached. When it can, reload the page.";

/**
 * What a module gives that is loaded when it is needed; rejects with a line for the reader.
 * @template T
 * @param {Promise<T>} module
 * @returns {Promise<T>}
 */
const needed = (module) => module.catch(() => Promise.reject(new Error(UNLOADED)));

/**
 * The card that tells what happened in a step; `parts` by the names of explain.js.
 * @param {() => void} asItWas
 */
function storyCard(asItWas) {
  const css = { class: "hp-button hp-back", hidden: true };
  const back = button("Back to the run", "undo the what-if (Esc)", asItWas, css);
  const odds = h("div.hp-slot");
  const parts = {
    lead: h("p.hp-lead"),
    why: h("p.hp-why"),
    detail: h("p.hp-detail"),
    warning: h("p.hp-warning"),
  };
  const spoken = h(
    "div.hp-told",
    { "aria-live": "polite", "aria-atomic": "true" },
    Object.values(parts),
  );
  const element = h(
    "section.hp-card.hp-story",
    { "aria-label": "What happened" },
    spoken,
    back,
    odds,
  );
  return {
    parts,
    back,
    odds,
    element,
  };
}

/**
 * A card that is folded up at first. changed: it was opened or closed.
 * @param {string} title
 * @param {() => void} changed
 */
function fold(title, changed) {
  const body = h("div.hp-slot");
  const element = h("details.hp-fold", h("summary", title), body);
  element.addEventListener("toggle", () => {
    if (!element.open || !body.childElementCount) changed();
  });
  return { element, body };
}

/**
 * The card of buttons that save and share a run.
 * @param {Player} player
 * @param {boolean} hasLink without one there are no buttons for what needs it
 */
function tools(player, hasLink) {
  /** @type {(label: string, title: string, kind: string) => HTMLElement} */
  const file = (label, title, kind) => button(label, title, () => player.save(kind));
  return h(
    "section",
    { "class": "hp-card hp-tools", "aria-label": "Save or share" },
    h("span.hp-title", "Save or share"),
    file("PNG", "this step as a picture", "png"),
    file("SVG", "this step as a picture that stays sharp at any size", "svg"),
    file("GIF", "this step as a film, move by move", "gif"),
    file("Report", "the run in plain text", "txt"),
    file("CSV", "the steps as a table, one line each", "csv"),
    file("JSON", "the whole run as a trace, to open here or elsewhere", "json"),
    hasLink &&
      file("HTML", "the run and this page in one file, which opens without a network", "html"),
    h("span.hp-grow"),
    hasLink && button("Copy link", "copy a link to this view (l)", () => player.link()),
    hasLink &&
      button("Embed", "copy the code that shows this view in another page", () => player.embed()),
    button("Full screen", "full screen (f)", () => player.fullscreen()),
    button("?", "keys (?)", player.help),
  );
}

/** What made the run, in one line. @param {Trace} trace @param {boolean} live */
function setupLine({ setup, result }, live) {
  const { options, models, notes } = setup;
  const { rule, shadow, draft, levels, fuzzy } = options;
  const settings = [...new Set([rule, shadow])].map((name) => {
    const { knob, by_divergence: byDivergence } = ruleInfo(name);
    return {
      by_divergence: byDivergence,
      sign: knob?.sign,
      value: knob && knobOf(setup, name),
    };
  });
  const sizes = models.map(({ parameters }) => (parameters ? size(parameters) : null));
  const facts = {
    ...setup,
    ...options,
    live,
    finish: result?.finish,
    settings,
    notes: notes.map((note) => ({ note })),
    title: ruleInfo(ruleOf(options)).title,
    layout: layout(draft.tree).words || draft.tree,
    copies: copies(options),
    formula: divergenceName(fuzzy),
    models: models.length,
    first: sizes[0],
    target: sizes.at(-1),
    exits: levels.exits.join(", "),
    thresholds: levels.thresholds.join(", "),
  };
  return plain(say("setup_line", facts));
}

/**
 * Where a trace comes from. kind: of its source; live: it goes on; over: another run has been asked
 * for.
 * @type {(trace: Trace, kind: string, live: boolean, over: boolean) => string}
 */
const sourceWords = ({ created, result }, kind, live, over) =>
  plain(
    say("source_chip", {
      kind,
      live,
      over,
      day: day(created),
      finish: result?.finish,
    }),
  );

/**
 * The chip of the pair that made a trace, and its tooltip.
 * @type {(setup: Setup) => [chip: string, title: string]}
 */
function tracePair({ pair, models, vocab_size: vocabulary, options }) {
  const described = models.map(({ name, parameters }) => ({
    name,
    size: size(parameters),
    all: count(parameters),
  }));
  const target = described[models.length - 1];
  const draft = models.length > 1 ? described[0] : null;
  const drafted = draft && models[0].drafted ? count(models[0].drafted) : null;
  const facts = {
    pair,
    target,
    draft,
    drafted,
    vocabulary: count(vocabulary),
    copies: copies(options),
  };
  return [plain(say("pair_chip", facts)), plain(say("pair_words", facts))];
}

export { fold, needed, setupLine, sourceWords, storyCard, tools, tracePair };

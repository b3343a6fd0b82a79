// Colours of a text by the chance that a token came free: that no pass of the target began at it,
// had a rule judged drafts of this very text. Also plain decoding tells so what drafting would do.
import { h } from "../kit/dom.js";
import { facts, rule } from "../kit/facts.js";
import { plural } from "../kit/format.js";
import { segments } from "../kit/controls.js";
import { expectedPasses, keptChances, passBegins } from "./kept.js";

const USUAL_LENGTH = 4; // of a run that drafts nothing
const FREE = "; came free with chance ";

/**
 * The control of the colours, hidden where the probabilities of the tokens are not known.
 * tokens: the elements of the new tokens, in their order.
 * @param {() => HTMLElement[]} tokens
 */
function create(tokens) {
  let scores = /** @type {Scores | null} */ (null);
  let gamma = USUAL_LENGTH;
  let choice = "";
  const words = h("span.hp-hint", { role: "status" });
  const control = segments("Colours", (/** @type {string} */ name) => show(name));
  const element = h("div.hp-row.hp-shades", { hidden: true }, control.element, words);
  const choices = [facts.vanilla, facts.usual].map((name) => {
    const title = `free by ${rule(name).short}`;
    return /** @type {[string, string]} */ ([name, title]);
  });

  /** Colour by a rule's chances; "": not at all. @param {string} name */
  function show(name) {
    choice = name;
    const written = tokens();
    control.set(choice, [["", "where from"], ...choices]);
    const { p = [], q = [] } = scores ?? {};
    const ratios = p.slice(0, written.length).map((own, i) => (q[i] ?? 0) / own);
    const chances = choice ? keptChances(choice, ratios, gamma) : [];
    const begins = passBegins(chances, gamma);
    for (const [i, token] of written.entries()) {
      const free = 1 - (begins[i] ?? 1);
      const known = i < begins.length;
      token.classList.toggle("is-shaded", known);
      token.style.setProperty("--free", String(known ? free : 0));
      token.title = token.title.split(FREE)[0] + (known ? FREE + free.toFixed(2) : "");
    }
    const calls = expectedPasses(chances, gamma).toFixed(1);
    const all = plural(begins.length, "token");
    words.textContent = choice
      ? `${calls} target calls on average for these ${all} at γ = ${gamma}`
      : "";
  }

  /**
   * Take the probabilities of a run's tokens, null where they are not known.
   * @type {(known: Scores | null | undefined, length: number) => void}
   */
  function set(known, length) {
    const isSound = known?.p.every((p) => p > 0);
    scores = (isSound && known) || null;
    gamma = length || USUAL_LENGTH;
    element.hidden = !scores;
    show(scores ? choice : "");
  }

  return { element, set };
}

export { create };

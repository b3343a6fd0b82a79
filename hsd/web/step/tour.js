// Five stops on the stage for newcomers: draft, target, masses, and both rules, each lit up while it is explained.
import { h } from "../kit/dom.js";
import { button } from "../kit/parts.js";

/** phase: of the player, up to which the step is played; lit: the rows of the board that the words are about. */
const STOPS = [
  {
    title: "The draft",
    phase: "draft",
    lit: ".is-guesses",
    words:
      "A small, fast model has guessed these tokens, one after another. They are proposals only: none of them is in the text yet.",
  },
  {
    title: "The target",
    phase: "ratio",
    lit: ".is-pass-row, .is-ratios",
    words:
      "The large model, whose text we want, reads all the guesses in one pass. p is the chance that it gives each of them, q the chance that the draft gave. Where p/q is below 1 the draft was too sure.",
  },
  {
    title: "The masses",
    phase: "masses",
    lit: ".is-masses",
    words:
      "The same over the whole vocabulary. Excess is what the draft gives too much, deficient what it gives too little. Rejections take from the first, corrections come from the second, and so the text stays the target's.",
  },
  {
    title: "Vanilla",
    phase: "shadow",
    lit: ".is-lane.is-shadow",
    words:
      "The rule of the first papers asks token by token, from the left. A token stays when its coin, a random number, falls below p/q. The first failure throws away all that follows.",
  },
  {
    title: "HSD",
    phase: "own",
    lit: ".is-lane.is-own",
    words:
      "Hierarchical speculative decoding asks about the whole draft first, where likely tokens make up for unlikely ones. If that fails it steps back a token, and asks again with deficient ÷ excess. On average it keeps more, and the text follows the target just as exactly.",
  },
];

/**
 * Make the tour; its `start` begins at the first stop.
 * @param {{phase: (name: string) => void}} player whose stage it is, inside `place` @param {HTMLElement} place
 * @param {() => void} more show the long explanation
 */
function create(player, place, more) {
  const [title, words] = [h("h3.hp-title"), h("p")];
  const back = button("Back", "the stop before", () => go(at - 1));
  const next = button("Next", "the next stop", () => (at < STOPS.length - 1 ? go(at + 1) : stop()));
  const full = button("Read more", "the same in full", () => {
    stop();
    more();
  });
  const close = button("✕", "end the tour", () => stop());
  const card = h(
    "section.hp-card",
    { "role": "dialog", "aria-label": "What am I looking at?" },
    h("header.hp-head", title, h("span.hp-grow"), close),
    h("div", { "aria-live": "polite" }, words),
    h("div.hf-tour-moves", back, next, full),
  );
  const element = h("div.hsd-kit.hf-tour", { hidden: true }, card);
  element.addEventListener("keydown", (event) => event.key === "Escape" && stop());
  place.after(element);
  let at = 0;

  function go(/** @type {number} */ i) {
    at = i;
    const stop = STOPS[i];
    player.phase(stop.phase);
    title.textContent = `${i + 1} of ${STOPS.length}: ${stop.title}`;
    words.textContent = stop.words;
    back.disabled = i === 0;
    next.textContent = i === STOPS.length - 1 ? "Done" : "Next";
    light(stop.lit);
  }

  /** @param {string | null} selector */
  function light(selector) {
    for (const one of place.querySelectorAll(".is-lit")) one.classList.remove("is-lit");
    const lit = selector ? [...place.querySelectorAll(selector)] : [];
    for (const one of lit) one.classList.add("is-lit");
    place.classList.toggle("is-toured", Boolean(selector));
    for (const one of lit.slice(0, 1)) {
      one.scrollIntoView({ block: "nearest" });
      element.classList.toggle("is-above", one.getBoundingClientRect().top > window.innerHeight / 2);
    }
  }

  function start() {
    element.hidden = false;
    go(0);
    next.focus({ preventScroll: true });
  }

  function stop() {
    if (element.hidden) return;
    element.hidden = true;
    light(null);
    player.phase("commit");
  }

  return { start, stop };
}

export { create };

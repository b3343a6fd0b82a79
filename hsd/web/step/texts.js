// Two texts side by side, the run's and the other rule's own: tokens marked by where they came from,
// and the step marked from which on the texts differ.
import { h } from "../kit/dom.js";
import * as text from "./text.js";

/** go(i, step): a token of that step of text i was clicked. */
function create(go) {
  const note = h("p.hp-note.hf-agreement", { role: "status" });
  const sides = [0, 1].map((i) => {
    const one = text.create((step) => go(i, step));
    return { ...one, count: 0, title: one.element.querySelector(".hp-title") };
  });
  const both = h(
    "div.hf-texts",
    sides.map(({ element }) => element),
  );
  const element = h("div.hf-own", { hidden: true }, note, both);

  /** Show a trace from its start, or what it has gained since; null: there is none yet. */
  function take(i, trace, fresh) {
    const side = sides[i];
    const { steps } = trace ?? { steps: [] };
    if (fresh || !trace) side.load(trace ?? { prompt: { pieces: [] }, steps });
    else side.extend(steps.slice(side.count), side.count);
    side.count = steps.length;
  }

  /**
   * names: of both rules; step: the one that is shown, of text `shown`; parted: the first after different texts, or null.
   * The other text is marked as far as they agree.
   */
  function show({ names, shown, step, parted, words }) {
    note.textContent = words;
    for (const [i, { title, count, select, element: side }] of sides.entries()) {
      title.textContent = `Text of ${names[i]}`;
      side.setAttribute("aria-label", title.textContent);
      select(Math.min(step, count - 1, i === shown ? step : (parted ?? step + 1) - 1));
      for (const group of side.querySelectorAll(".hp-group"))
        group.classList.toggle("is-parting", Number(group.dataset.step) === parted);
    }
  }

  return { element, take, show };
}

export { create };

// Two texts side by side, the run's and the other rule's own: tokens marked by where they came
// from, and the step marked from which on the texts differ.
import { find, h } from "../kit/dom.js";
import * as text from "./text.js";

/**
 * go(i, step): a token of that step of text i was clicked.
 * @param {(i: number, step: number) => void} go
 */
function create(go) {
  const note = h("p.hp-note.hf-agreement", { role: "status" });
  const sides = [0, 1].map((i) => {
    const side = text.create((step) => go(i, step));
    return { ...side, count: 0 };
  });
  const both = sides.map(({ element }) => element);
  const element = h("div.hf-own", { hidden: true }, note, h("div.hf-texts", both));

  /**
   * Show a trace from its start, or what it has gained since; null: there is none yet.
   * @type {(i: number, trace: ShownText | null, fresh: boolean) => void}
   */
  function take(i, trace, fresh) {
    const side = sides[i];
    const steps = trace?.steps ?? [];
    if (fresh || !trace) side.load(trace ?? { prompt: { pieces: [] }, steps });
    else side.extend(steps.slice(side.count), side.count);
    side.count = steps.length;
  }

  /**
   * Mark the step that is shown, and the other text as far as they agree.
   * @param {TextsState} state
   */
  function show({ names, shown, step, parted, words }) {
    note.textContent = words;
    for (const [i, { count, select, element: side }] of sides.entries()) {
      const title = `Text of ${names[i]}`;
      find(".hp-title", side).textContent = title;
      side.setAttribute("aria-label", title);
      const agreed = i === shown || parted === null ? step : parted - 1;
      select(Math.min(step, count - 1, agreed));
      for (const group of side.querySelectorAll(".hp-group")) {
        const parts = group.getAttribute("data-step") === String(parted);
        group.classList.toggle("is-parting", parts);
      }
    }
  }

  return { element, take, show };
}

export { create };

// The two texts of the free mode, side by side: tokens marked by where they came from, and the place where they part.
import { h } from "../kit/dom.js";
import { create as createText } from "../step/text.js";

/** onStep(index): a token of that step was clicked. */
function create(onStep) {
  const note = h("p.cp-note");
  const sides = ["A", "B"].map((letter) => {
    const text = createText(onStep);
    text.element.setAttribute("aria-label", `text of row ${letter}`);
    text.element.querySelector(".hp-title").textContent = `Text of ${letter}`;
    return { ...text, count: 0, flow: text.element.querySelector(".hp-flow") };
  });
  const box = h(
    "div.cp-texts",
    sides.map((side) => side.element),
  );
  const element = h("section.hp-card", { "aria-label": "Both texts" }, note, box);

  /** Show a row's trace from its start, or what it has gained since. */
  function take(i, trace, fresh) {
    const side = sides[i];
    if (!trace) side.flow.replaceChildren();
    else if (fresh) side.load(trace);
    else side.extend(trace.steps.slice(side.count), side.count);
    side.count = trace ? trace.steps.length : 0;
  }

  /** step: the one that is shown; parted: the first one after different texts, or null. */
  function select(step, parted, words) {
    note.textContent = words;
    for (const { count, flow, select: mark } of sides) {
      mark(Math.min(step, count - 1));
      for (const group of flow.querySelectorAll(".hp-group"))
        group.classList.toggle("is-parting", Number(group.dataset.step) === parted);
    }
  }

  return { element, take, select };
}

export { create };

// What the planner's files share: names of models and of ways to decode, numbers, and a group that
// is drawn anew as a whole.
import { number, subscript } from "../kit/format.js";
import { roving } from "../kit/controls.js";

/** A number with four significant digits. @type {(x: number) => string} */
const four = (x) => number(x, 4);

/** "M₀", …, "target": model i of `count`. @type {(i: number, count: number) => string} */
const modelName = (i, count) => (i === count - 1 ? "target" : `M${subscript(i)}`);

/**
 * The role of a model in a way to decode, for its colour.
 * @type {(model: number, way: PlannerWay, count: number) => string}
 */
function roleOf(model, { models }, count) {
  if (model === count - 1) return "target";
  return model === models[0] ? "draft" : "between";
}

/**
 * The name of a way to decode: `M₀ (T = 4) → M₂ (T = 6) → target`, or "no draft".
 * @type {(way: PlannerWay, count: number) => string}
 */
function wayName({ models, thresholds }, count) {
  if (models.length === 1) return "no draft";
  const parts = models.map((model, k) => {
    const name = modelName(model, count);
    return k < thresholds.length ? `${name} (T = ${thresholds[k]})` : name;
  });
  return parts.join(" → ");
}

/**
 * A group of elements with one tab stop, always drawn anew as a whole; an item that has the focus
 * keeps it. Returns the function that draws it, which gets its children and the item to tab to.
 * @param {HTMLElement} box
 * @param {string} name - of the data attribute by which its items differ
 * @param {(item: HTMLElement) => void} [moved] - called where a move is also a choice
 * @returns {(children: Element[], current: string | number) => void}
 */
function group(box, name, moved) {
  const items = () => /** @type {HTMLElement[]} */ ([...box.querySelectorAll(`[data-${name}]`)]);
  const stop = roving(box, items, moved);
  return (children, current) => {
    const focused = items().find((item) => item === document.activeElement);
    const held = focused?.dataset[name];
    box.replaceChildren(...children);
    const itemOf = (/** @type {string | undefined} */ key) =>
      items().find((item) => item.dataset[name] === key);
    const same = itemOf(held);
    stop(same ?? itemOf(String(current)) ?? items()[0]);
    same?.focus({ preventScroll: true });
  };
}

export { four, group, modelName, roleOf, wayName };

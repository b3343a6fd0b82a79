// What the planner's files share: names of models and of ways to decode, numbers, and a group that is drawn anew as a whole.
import { number, subscript } from "../kit/format.js";
import { roving } from "../kit/parts.js";

/** Four significant digits. @type {(x: number) => string} */
const four = (x) => number(x, 4);

/** "M₀", …, "target": model i of `count`. @type {(i: number, count: number) => string} */
const modelName = (i, count) => (i === count - 1 ? "target" : `M${subscript(i)}`);

/** The role of a model in a way to decode, for its colour. @type {(model: number, way: PlannerWay, count: number) => string} */
const roleOf = (model, { models }, count) =>
  model === count - 1 ? "target" : model === models[0] ? "draft" : "between";

/** `M₀ (T = 4) → M₂ (T = 6) → target`, and plain decoding by its name. @type {(way: PlannerWay, count: number) => string} */
function wayName({ models, thresholds }, count) {
  if (models.length === 1) return "no draft";
  return models
    .map((m, k) => modelName(m, count) + (k < thresholds.length ? ` (T = ${thresholds[k]})` : ""))
    .join(" → ");
}

/**
 * A group of elements with one tab stop, always drawn anew as a whole; an item that has the focus keeps it. name: the data
 * attribute that tells its items apart; moved: where a move is also a choice. Returns what draws it, current: the item to tab to.
 * @type {(box: HTMLElement, name: string, moved?: (item: HTMLElement) => void) => (children: Element[], current: string | number) => void}
 */
function group(box, name, moved) {
  const items = () => /** @type {HTMLElement[]} */ ([...box.querySelectorAll(`[data-${name}]`)]);
  const stop = roving(box, items, moved);
  return (children, current) => {
    const held = items().find((one) => one === document.activeElement)?.dataset[name];
    box.replaceChildren(...children);
    const [same, other] = [held, String(current)].map((key) => items().find((one) => one.dataset[name] === key));
    stop(same ?? other ?? items()[0]);
    same?.focus({ preventScroll: true });
  };
}

export { four, group, modelName, roleOf, wayName };

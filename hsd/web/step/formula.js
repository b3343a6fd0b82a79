// The formula of a test, in letters and in numbers, as HTML: drawn from the expression that its threshold comes from.
import { h } from "../kit/dom.js";
import { exact, pair, shortest, subscript } from "../kit/format.js";
import { evaluate } from "../rules/expression.js";
import { forms, letters } from "../rules/tests.js";
import { leaves } from "./cells.js";

const SIGNS = /** @type {Record<string, string>} */ ({
  ...{ "+": " + ", "-": " − ", "*": " · " },
  ...{ "<": " < ", "<=": " ≤ ", ">": " > ", ">=": " ≥ " },
});
const SLACK = 1e-3; // by how much of a threshold its formula may be off

/** @type {(value: number | null, recorded: number) => boolean} */
const near = (value, recorded) => Math.abs((value ?? NaN) - recorded) <= SLACK * Math.max(value ?? 0, recorded);

/** What a line of text has where a formula has a look: it is heard and copied. @param {string} words */
const unseen = (words) => h("span.hp-unseen", words);

/** @type {(top: Child[], bottom: Child[]) => Child[]} */
const fraction = (top, bottom) => [
  unseen("("),
  h("span.hp-frac", h("span", top, unseen(")/(")), h("span", bottom)),
  unseen(")"),
];

/** An expression as elements and text; leaf(name): the element for a name. @type {(tree: Expression, leaf: (name: string) => HTMLElement) => Child[]} */
function draw(tree, leaf) {
  if (typeof tree === "string") return [leaf(tree)];
  if (!Array.isArray(tree)) return [String(tree)];
  const [sign, first, second] = [String(tree[0]), tree[1], tree[2]];
  const one = (/** @type {Expression} */ part) => draw(part, leaf);
  const factor = (/** @type {Expression} */ part) =>
    Array.isArray(part) && (part[0] === "+" || part[0] === "-") ? ["(", ...one(part), ")"] : one(part);
  if (sign === "/" || sign === "per") return fraction(one(first), one(second));
  if (sign === "exp") return ["e", unseen(" to the power of "), h("sup", one(first))];
  if (sign === "**") return ["(", ...one(first), ")", unseen(" to the power of "), h("sup", one(second))];
  if (sign === "sqrt") return ["√", ...factor(first)];
  if (sign === "*") return [...factor(first), SIGNS[sign], ...factor(second)];
  if (sign === "-" && first === 0) return ["−", ...factor(second)];
  if (sign in SIGNS) return [...one(first), SIGNS[sign], ...one(second)];
  return [`${sign}(`, ...tree.slice(1).flatMap((part, i) => (i ? [", ", ...one(part)] : one(part))), ")"];
}

/** A form at the token t, in letters and in numbers, and whether these give the threshold as it is printed. @type {(form: Form, t: number, test: FormNumbers, recorded: number) => {symbols: Child[], values: Child[], holds: boolean}} */
function written(form, t, { numbers, changed }, recorded) {
  const fits = (/** @type {Numbers} */ rounded) => {
    const value = evaluate(form.threshold, rounded);
    return exact(value) === exact(recorded) && near(value, recorded) && (!form.when || evaluate(form.when, rounded));
  };
  const { texts, holds } = shortest(numbers, fits, 4);
  const symbol = (/** @type {string} */ name) => {
    const letter = letters[typeof form.along[name] === "string" ? String(form.along[name]) : name];
    if (!letter) return h("i", name);
    const index = letter.index === null ? "" : subscript(t + letter.index);
    return h("i", { class: letter.of && `hp-of-${letter.of}` }, `${letter.sign}${changed?.[name] ? "′" : ""}${index}`);
  };
  const value = (/** @type {string} */ name) => {
    const of = letters[String(form.along[name])]?.of;
    return h("b", { class: of && `hp-of-${of}` }, texts[name]);
  };
  const name = () => h("i", `${form.sign}${subscript(t)}`);
  const ways = [...(changed ? [] : form.also), form.threshold].map((tree) => [" = ", ...draw(tree, symbol)]);
  const numeric = typeof form.threshold === "number" ? [name()] : draw(form.threshold, value);
  if (!form.when) return { symbols: [name(), ways], values: nothing(form, numbers) ?? numeric, holds };
  const symbols = [...draw(form.when, symbol), ", so ", name(), ways];
  return { symbols, values: [...draw(form.when, value), ", so ", ...numeric], holds };
}

/** The words for a fraction that is 0/0 with these numbers; null for any other formula. @type {(form: Form, numbers: Numbers) => Child[] | null} */
function nothing({ threshold }, numbers) {
  const [sign, top] = Array.isArray(threshold) ? threshold : [];
  const zero = sign === "per" && typeof top === "string" && !numbers[top] && !(numbers.before < 1);
  return zero ? ["0/0: nothing to correct"] : null;
}

/** What the letters stand for in a form. @param {Form} form */
function meanings(form) {
  const names = [...new Set([form.threshold, form.when ?? 0].flatMap(leaves))];
  const known = names.flatMap((name) => letters[String(form.along[name] ?? name)] ?? []);
  return known.map(({ sign, words }) => `${sign}: ${words}`).join("; ");
}

/** Letters and numbers of one test, ending in the recorded threshold; nothing for a form of a later version. position: from 1. @type {(position: number, test: FormNumbers, recorded: number) => HTMLElement | null} */
function formula(position, test, recorded) {
  const form = forms[test.form];
  if (!form) return null;
  const { symbols, values, holds } = written(form, position, test, recorded);
  const result = [holds ? " = " : " ≈ ", h("b.hp-result", exact(recorded))];
  const numbers = h("span.hp-numbers", form.when ? "here: " : "= ", values, result);
  const other = ` (recorded; these numbers give ${pair(recorded, test.value)[1]})`;
  const shown = [h("span.hp-letters", symbols), " ", numbers, !near(test.value, recorded) && h("span.hp-warn", other)];
  const title = meanings(form);
  const element = h("div.hp-formula", { "role": "math", "translate": "no", title, "data-form": form.name }, shown);
  element.ariaLabel = element.textContent;
  return element;
}

export { formula };

// The formula of a test, in letters and in numbers, as HTML: drawn from the expression that its
// threshold comes from.
import { h } from "../kit/dom.js";
import { exact, pair, shortest, subscript } from "../kit/format.js";
import { evaluate } from "../rules/expression.js";
import { forms, letters } from "../rules/tests.js";
import { leaves } from "./cells.js";

const SIGNS = /** @type {Record<string, string>} */ ({
  "+": " + ",
  "-": " − ",
  "*": " · ",
  "<": " < ",
  "<=": " ≤ ",
  ">": " > ",
  ">=": " ≥ ",
});
const SLACK = 1e-3; // by how much of a threshold its formula may be off

/**
 * Whether the value of a formula is the recorded threshold, up to `SLACK`.
 * @type {(value: number | null, recorded: number) => boolean}
 */
function near(value, recorded) {
  if (value === null) return false;
  return Math.abs(value - recorded) <= SLACK * Math.max(value, recorded);
}

/**
 * Words that are heard and copied but not seen, where the layout of a formula says the same.
 * @param {string} words
 */
const unseen = (words) => h("span.hp-unseen", words);

/** A fraction as elements. @type {(top: Child[], bottom: Child[]) => Child[]} */
const fraction = (top, bottom) => [
  unseen("("),
  h("span.hp-frac", h("span", top, unseen(")/(")), h("span", bottom)),
  unseen(")"),
];

/**
 * An expression as elements and text; leaf(name): the element for a name.
 * @type {(tree: Expression, leaf: (name: string) => HTMLElement) => Child[]}
 */
function draw(tree, leaf) {
  if (typeof tree === "string") return [leaf(tree)];
  if (!Array.isArray(tree)) return [String(tree)];
  const sign = String(tree[0]);
  const first = tree[1];
  const second = tree[2];
  const drawn = (/** @type {Expression} */ part) => draw(part, leaf);
  const power = (/** @type {Expression} */ part) => [
    unseen(" to the power of "),
    h("sup", drawn(part)),
  ];
  const factor = (/** @type {Expression} */ part) => {
    const isSum = Array.isArray(part) && (part[0] === "+" || part[0] === "-");
    return isSum ? ["(", ...drawn(part), ")"] : drawn(part);
  };
  if (sign === "/" || sign === "per") return fraction(drawn(first), drawn(second));
  if (sign === "exp") return ["e", ...power(first)];
  if (sign === "**") return ["(", ...drawn(first), ")", ...power(second)];
  if (sign === "sqrt") return ["√", ...factor(first)];
  if (sign === "*") return [...factor(first), SIGNS[sign], ...factor(second)];
  if (sign === "-" && first === 0) return ["−", ...factor(second)];
  if (sign in SIGNS) return [...drawn(first), SIGNS[sign], ...drawn(second)];
  const parts = tree.slice(1).map((part, i) => [i > 0 && ", ", ...drawn(part)]);
  return [`${sign}(`, ...parts.flat(), ")"];
}

/**
 * A form at the token t, in letters and in numbers, and whether these give the threshold as it is
 * printed.
 * @param {Form} form
 * @param {number} t
 * @param {FormNumbers} test
 * @param {number} recorded the threshold
 * @returns {{symbols: Child[], values: Child[], holds: boolean}}
 */
function written(form, t, { numbers, changed }, recorded) {
  const fits = (/** @type {Numbers} */ rounded) => {
    const value = evaluate(form.threshold, rounded);
    if (exact(value) !== exact(recorded) || !near(value, recorded)) return false;
    return !form.when || evaluate(form.when, rounded);
  };
  const { texts, holds } = shortest(numbers, fits, 4);
  const symbol = (/** @type {string} */ name) => {
    const source = form.along[name];
    const letter = letters[typeof source === "string" ? source : name];
    if (!letter) return h("i", name);
    const index = letter.index === null ? "" : subscript(t + letter.index);
    const prime = changed?.[name] ? "′" : "";
    const css = letter.of && `hp-of-${letter.of}`;
    return h("i", { class: css }, `${letter.sign}${prime}${index}`);
  };
  const value = (/** @type {string} */ name) => {
    const of = letters[String(form.along[name])]?.of;
    return h("b", { class: of && `hp-of-${of}` }, texts[name]);
  };
  const name = () => h("i", `${form.sign}${subscript(t)}`);
  const trees = changed ? [form.threshold] : [...form.also, form.threshold];
  const ways = trees.map((tree) => [" = ", ...draw(tree, symbol)]);
  const numeric = typeof form.threshold === "number" ? [name()] : draw(form.threshold, value);
  if (!form.when) {
    const values = nothing(form, numbers) ?? numeric;
    return { symbols: [name(), ways], values, holds };
  }
  const symbols = [...draw(form.when, symbol), ", so ", name(), ways];
  const values = [...draw(form.when, value), ", so ", ...numeric];
  return { symbols, values, holds };
}

/**
 * The words for a fraction that is 0/0 with these numbers; null for any other formula.
 * @type {(form: Form, numbers: Numbers) => Child[] | null}
 */
function nothing({ threshold }, numbers) {
  const [sign, top] = Array.isArray(threshold) ? threshold : [];
  if (sign !== "per" || typeof top !== "string") return null;
  if (numbers[top] || numbers.before < 1) return null;
  return ["0/0: nothing to correct"];
}

/** What the letters stand for in a form. @param {Form} form */
function meanings(form) {
  const names = new Set([form.threshold, form.when ?? 0].flatMap(leaves));
  const known = [...names].flatMap((name) => letters[String(form.along[name] ?? name)] ?? []);
  return known.map(({ sign, words }) => `${sign}: ${words}`).join("; ");
}

/**
 * Letters and numbers of one test, ending in the recorded threshold; nothing for a form of a later
 * version. position: from 1.
 * @type {(position: number, test: FormNumbers, recorded: number) => HTMLElement | null}
 */
function formula(position, test, recorded) {
  const form = forms[test.form];
  if (!form) return null;
  const { symbols, values, holds } = written(form, position, test, recorded);
  const result = [holds ? " = " : " ≈ ", h("b.hp-result", exact(recorded))];
  const numbers = h("span.hp-numbers", form.when ? "here: " : "= ", values, result);
  const warning = ` (recorded; these numbers give ${pair(recorded, test.value)[1]})`;
  const shown = [
    h("span.hp-letters", symbols),
    " ",
    numbers,
    !near(test.value, recorded) && h("span.hp-warn", warning),
  ];
  const title = meanings(form);
  const element = h(
    "div.hp-formula",
    {
      "role": "math",
      "translate": "no",
      title,
      "data-form": form.name,
    },
    shown,
  );
  element.ariaLabel = element.textContent;
  return element;
}

export { formula };

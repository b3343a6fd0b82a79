// The formula of a test, with letters and with its numbers, as HTML: drawn from the form's own expression, so that what is
// seen is what was computed.
import { h } from "../kit/dom.js";
import { exact, nearOne, subscript } from "../kit/format.js";
import { forms, letters } from "../rules/tests.js";

// Parts: strings stand as they are; {v} is a letter and {n} a number, `of` the model that it measures; {sup} stands above;
// {top, bottom} is a fraction.
const SIGNS = { "+": " + ", "-": " − ", "*": " · ", "<": " < ", "<=": " ≤ ", ">": " > ", ">=": " ≥ " };
const SUMS = ["+", "-"];
const brackets = (tree) => Array.isArray(tree) && SUMS.includes(tree[0]);

/** An expression as parts; leaf(name, near): the parts of a name, near where it is subtracted from 1. */
function draw(tree, leaf) {
  if (typeof tree === "string") return leaf(tree, false);
  if (!Array.isArray(tree)) return [String(tree)];
  const [sign, first, second] = tree;
  const one = (part) => draw(part, leaf);
  const factor = (part) => (brackets(part) ? ["(", ...one(part), ")"] : one(part));
  if (sign === "/" || sign === "per") return [{ top: one(first), bottom: one(second) }];
  if (sign === "exp") return ["e", { sup: one(first) }];
  if (sign === "sqrt") return ["√", ...factor(first)];
  if (sign === "*") return [...factor(first), SIGNS[sign], ...factor(second)];
  if (sign === "-" && first === 0) return ["−", ...factor(second)];
  if (sign === "-" && typeof second === "string") return [...one(first), SIGNS[sign], ...leaf(second, true)];
  if (sign in SIGNS) return [...one(first), SIGNS[sign], ...one(second)];
  return [`${sign}(`, ...tree.slice(1).flatMap((part, i) => (i ? [", ", ...one(part)] : one(part))), ")"];
}

/** What draws the names of a form as letters. changed: the numbers that rejections have changed get a prime. */
function lettering(form, t, changed) {
  return (name) => {
    const along = form.along[name];
    const letter = letters[typeof along === "string" ? along : name];
    if (!letter) return [{ v: name }];
    const index = letter.index === null ? "" : subscript(t + letter.index);
    return [{ v: `${letter.sign}${changed?.[name] ? "′" : ""}${index}`, of: letter.of }];
  };
}

/** What draws them as numbers. */
const numbering = (form, numbers) => (name, near) => {
  const { of } = letters[form.along[name]] ?? {};
  return [{ n: near ? nearOne(numbers[name]) : exact(numbers[name], 4, 4), of }];
};

const joined = (list, between) => list.flatMap((parts, i) => (i ? [between, ...parts] : parts));

/** A form at the token t in letters and in numbers. */
function written(form, t, { numbers, changed }) {
  const [symbols, values] = [lettering(form, t, changed), numbering(form, numbers)];
  const name = [{ v: `${form.sign}${subscript(t)}` }];
  const ways = [...(changed ? [] : form.also), form.threshold].map((tree) => draw(tree, symbols));
  const equal = joined([name, ...ways], " = ");
  const constant = !Array.isArray(form.threshold) && typeof form.threshold !== "string";
  const value = constant ? name : draw(form.threshold, values);
  if (!form.when) return [equal, nothing(form.threshold, values, numbers) ?? value];
  const told = draw(form.when, values);
  return [
    [...draw(form.when, symbols), ", so ", ...equal],
    [...told, ", so ", ...value],
  ];
}

/** What stands for a fraction of nothing over nothing. */
function nothing(tree, values, numbers) {
  const zero = tree[0] === "per" && typeof tree[1] === "string" && !numbers[tree[1]] && !(numbers.before < 1);
  return zero ? ["0/0: nothing to correct"] : null;
}

function node(part) {
  if (typeof part === "string") return part;
  if (part.v !== undefined) return h("i", { class: part.of ? `hp-of-${part.of}` : null }, part.v);
  if (part.n !== undefined) return h("b", { class: part.of ? `hp-of-${part.of}` : null }, part.n);
  if (part.sup) return h("sup", {}, part.sup.map(node));
  return h("span", { class: "hp-frac" }, h("span", {}, part.top.map(node)), h("span", {}, part.bottom.map(node)));
}

function text(part) {
  if (typeof part === "string") return part;
  if (part.sup) return ` to the power of ${part.sup.map(text).join("")}`;
  return part.v ?? part.n ?? `(${part.top.map(text).join("")})/(${part.bottom.map(text).join("")})`;
}

/** What the letters stand for in a form. */
function meanings(form) {
  const names = [...new Set([form.threshold, form.when].flatMap(namesOf))].map((name) => form.along[name] ?? name);
  return names.flatMap((name) => (letters[name] ? [`${letters[name].sign}: ${letters[name].words}`] : [])).join("; ");
}

const namesOf = (tree) =>
  Array.isArray(tree) ? tree.slice(1).flatMap(namesOf) : typeof tree === "string" ? [tree] : [];

/** The formula as one line of text; arguments as below. */
function spoken(position, made, recorded) {
  const form = forms[made.form];
  const [symbols, values] = written(form, position, made);
  return [...symbols, form.when ? ": " : " = ", ...values, " = ", exact(recorded)].map(text).join("");
}

/**
 * Symbolic and numeric line of one test, ending in the recorded threshold; nothing for a form of a later version.
 * position: of the token, from 1; made: see numbersOf.
 */
function formula(position, made, recorded) {
  const form = forms[made.form];
  if (!form) return null;
  const [symbols, values] = written(form, position, made);
  const agrees = Math.abs(made.value - recorded) <= 1e-3;
  const words = { "aria-label": spoken(position, made, recorded), "title": meanings(form) };
  return h(
    "div",
    { "class": "hp-formula", "role": "math", ...words, "data-form": form.name },
    h("span", { class: "hp-letters" }, symbols.map(node)),
    " ",
    h(
      "span",
      { class: "hp-numbers" },
      form.when ? "here: " : "= ",
      values.map(node),
      agrees ? " = " : " ≈ ",
      h("b", { class: "hp-result" }, exact(recorded)),
    ),
    agrees ? null : h("span", { class: "hp-warn" }, ` (recorded; these numbers give ${exact(made.value)})`),
  );
}

export { formula, spoken };

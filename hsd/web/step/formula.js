// The formula of a test, with letters and with its numbers, as HTML: drawn from the form's own expression, so that what is
// seen is what was computed.
import { h } from "../kit/dom.js";
import { agreeing, exact, pair, subscript } from "../kit/format.js";
import { evaluate } from "../rules/expression.js";
import { forms, letters } from "../rules/tests.js";

// Parts: strings stand as they are; {v} is a letter and {n} a number, `of` the model that it measures; {sup} stands above;
// {top, bottom} is a fraction.
const SIGNS = { "+": " + ", "-": " − ", "*": " · ", "<": " < ", "<=": " ≤ ", ">": " > ", ">=": " ≥ " };
const SUMS = ["+", "-"];
const brackets = (tree) => Array.isArray(tree) && SUMS.includes(tree[0]);

/** An expression as parts; leaf(name): the parts of a name. */
function draw(tree, leaf) {
  if (typeof tree === "string") return leaf(tree);
  if (!Array.isArray(tree)) return [String(tree)];
  const [sign, first, second] = tree;
  const one = (part) => draw(part, leaf);
  const factor = (part) => (brackets(part) ? ["(", ...one(part), ")"] : one(part));
  if (sign === "/" || sign === "per") return [{ top: one(first), bottom: one(second) }];
  if (sign === "exp") return ["e", { sup: one(first) }];
  if (sign === "sqrt") return ["√", ...factor(first)];
  if (sign === "*") return [...factor(first), SIGNS[sign], ...factor(second)];
  if (sign === "-" && first === 0) return ["−", ...factor(second)];
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

/** What draws them as numbers, which are texts by name. */
const numbering = (form, texts) => (name) => [{ n: texts[name], of: letters[form.along[name]]?.of }];

/** The texts of the numbers of a test, so that they give the recorded threshold as it is printed, and whether they do. */
function textsOf(form, numbers, recorded) {
  const result = (told) => exact(evaluate(form.threshold, told)) === exact(recorded);
  return agreeing(numbers, (told) => result(told) && (!form.when || evaluate(form.when, told)), 4);
}

const joined = (list, between) => list.flatMap((parts, i) => (i ? [between, ...parts] : parts));

/** A form at the token t in letters and in numbers, whose texts are those of textsOf. */
function written(form, t, { numbers, changed }, texts) {
  const [symbols, values] = [lettering(form, t, changed), numbering(form, texts)];
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

/** Return the words for a fraction `tree` that is 0/0 with these numbers; null for any other formula. */
function nothing(tree, values, numbers) {
  const zero = tree[0] === "per" && typeof tree[1] === "string" && !numbers[tree[1]] && !(numbers.before < 1);
  return zero ? ["0/0: nothing to correct"] : null;
}

function node(part) {
  if (typeof part === "string") return part;
  if (part.v !== undefined) return h("i", { class: part.of ? `hp-of-${part.of}` : null }, part.v);
  if (part.n !== undefined) return h("b", { class: part.of ? `hp-of-${part.of}` : null }, part.n);
  if (part.sup) return h("sup", part.sup.map(node));
  return h("span.hp-frac", h("span", part.top.map(node)), h("span", part.bottom.map(node)));
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
  const { texts, holds } = textsOf(form, made.numbers, recorded);
  const [symbols, values] = written(form, position, made, texts);
  return [...symbols, form.when ? ": " : " = ", ...values, holds ? " = " : " ≈ ", exact(recorded)].map(text).join("");
}

/**
 * Symbolic and numeric line of one test, ending in the recorded threshold; nothing for a form of a later version.
 * position: of the token, from 1; made: see numbersOf.
 */
function formula(position, made, recorded) {
  const form = forms[made.form];
  if (!form) return null;
  const { texts, holds } = textsOf(form, made.numbers, recorded);
  const [symbols, values] = written(form, position, made, texts);
  const far = Math.abs(made.value - recorded) > 1e-3 * Math.max(made.value, recorded);
  const words = { "aria-label": spoken(position, made, recorded), "title": meanings(form) };
  return h(
    "div",
    { "class": "hp-formula", "role": "math", ...words, "data-form": form.name },
    h("span.hp-letters", symbols.map(node)),
    " ",
    h(
      "span.hp-numbers",
      form.when ? "here: " : "= ",
      values.map(node),
      holds ? " = " : " ≈ ",
      h("b.hp-result", exact(recorded)),
    ),
    far && h("span.hp-warn", ` (recorded; these numbers give ${pair(recorded, made.value)[1]})`),
  );
}

export { formula, spoken };

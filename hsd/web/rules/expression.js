// Expressions over named numbers, as facts.json has them: ["min", 1, ["/", "p", "q"]];
// hsd/expression.py is the same for Python. A number that is not known is null, and so is what is
// made of it. Pure.

const SMALLEST = 1e-300; // a divisor of 0 counts as that
/** @type {(a: number, b: number) => number} */
const quotient = (a, b) => (a > 0 ? a / Math.max(b, SMALLEST) : 0);
/** @type {Record<string, (a: number, b: number, c: number) => number | boolean>} */
const OPERATORS = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => (a && b ? a * b : 0),
  "/": quotient,
  "**": (a, b) => (a || b > 0 ? a ** b : 1),
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "min": (a, b) => Math.min(a, b),
  "max": (a, b) => Math.max(a, b),
  "exp": Math.exp,
  "sqrt": Math.sqrt,
  "per": (a, b, c) => (a > 0 || b > 0 ? quotient(a, b) : c),
};
/** @type {WeakMap<Expression[], (numbers: Numbers) => any>} */
const compiled = new WeakMap();

/**
 * The value of an expression that is a number.
 * @type {(tree: Expression, numbers: Numbers) => number | null}
 */
function evaluate(tree, numbers) {
  if (!Array.isArray(tree)) return typeof tree === "string" ? (numbers[tree] ?? null) : tree;
  const known = compiled.get(tree) ?? compile(tree);
  compiled.set(tree, known);
  return known(numbers);
}

/**
 * Whether an expression that is a comparison holds; null where that is not known.
 * @type {(tree: Expression, numbers: Numbers) => boolean | null}
 */
const holds = (tree, numbers) => /** @type {any} */ (evaluate(tree, numbers));

/** @type {(tree: Expression) => (numbers: Numbers) => any} */
function compile(tree) {
  if (typeof tree === "string") return (numbers) => numbers[tree] ?? null;
  if (!Array.isArray(tree)) return () => tree;
  const operator = OPERATORS[String(tree[0])];
  const [first, second, third] = tree.slice(1).map(compile);
  return (numbers) => {
    const a = first(numbers);
    const b = second ? second(numbers) : 0;
    const c = third ? third(numbers) : 0;
    if (a === null || b === null || c === null) return null;
    return operator(a, b, c);
  };
}

export { evaluate, holds };

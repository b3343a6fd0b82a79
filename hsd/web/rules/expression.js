// Expressions over named numbers, as facts.json has them: ["min", 1, ["/", "p", "q"]]; hsd/expression.py is the same for
// Python. A number that is not known is null, and so is what is made of it. Pure.

const SMALLEST = 1e-300; // a divisor of 0 counts as that
const quotient = (a, b) => (a > 0 ? a / Math.max(b, SMALLEST) : 0);
const OPERATORS = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => (a && b ? a * b : 0),
  "/": quotient,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "min": Math.min,
  "max": Math.max,
  "exp": Math.exp,
  "sqrt": Math.sqrt,
  "per": (a, b, c) => (a > 0 || b > 0 ? quotient(a, b) : c),
};
const compiled = new WeakMap(); // expression → function of an object of numbers

/** The value of an expression: a number or, of a comparison, a truth. numbers: an object, name → number or null. */
function evaluate(tree, numbers) {
  if (!Array.isArray(tree)) return typeof tree === "string" ? (numbers[tree] ?? null) : tree;
  if (!compiled.has(tree)) compiled.set(tree, compile(tree));
  return compiled.get(tree)(numbers);
}

function compile(tree) {
  if (typeof tree === "string") return (numbers) => numbers[tree] ?? null;
  if (!Array.isArray(tree)) return () => tree;
  const operator = OPERATORS[tree[0]];
  const [first, second, third] = tree.slice(1).map(compile);
  return (numbers) => {
    const a = first(numbers);
    const b = second ? second(numbers) : 0;
    const c = third ? third(numbers) : 0;
    return a === null || b === null || c === null ? null : third ? operator(a, b, c) : operator(a, b);
  };
}

export { evaluate };

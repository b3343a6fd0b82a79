"""A small language of expressions over named numbers, as text and as data.

"min(1, before * p / q)" is as data ["min", 1, ["/", ["*", "before", "p"], "q"]].

A rule's record says in it how a threshold comes about. `web/rules/expression.js` reads the same
data. Numbers, names, + - * / ** < <= > >=, and the functions min, max, exp, sqrt and per(a, b, c),
which is a / b, and c where both are 0.

For drafts made by hand: a factor of 0 makes 0, whatever the other is, a divisor of 0 counts as very
small, so that a / 0 is large, and 0 where a is 0; 0 to a power of 0 or less is 1. No value is ever
NaN because of it.
"""

import ast
import math
import operator
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

Tree = float | str | list[Any]  # a number, a name, or an operator and its operands
SMALLEST = 1e-300


class Numbers(Protocol):
    """Numbers by name: a dictionary, or an object that computes each on demand."""

    def __getitem__(self, name: str, /) -> Any: ...


def _quotient(a: float, b: float) -> float:
    return a / max(b, SMALLEST) if a > 0 else 0.0


OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": lambda a, b: a * b if a and b else 0.0,
    "/": _quotient,
    "**": lambda a, b: a**b if a or b > 0 else 1.0,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "min": min,
    "max": max,
    "exp": math.exp,
    "sqrt": math.sqrt,
    "per": lambda a, b, c: _quotient(a, b) if a > 0 or b > 0 else c,
}
_SIGNS = dict(
    zip(("Add", "Sub", "Mult", "Div", "Pow", "Lt", "LtE", "Gt", "GtE"), OPERATORS, strict=False)
)


@cache
def parse(text: str) -> Tree:
    """Return an expression as nested lists.

    Raises ValueError for what the language does not have.
    """
    return _tree(ast.parse(text, mode="eval").body, text)


def _tree(node: ast.AST, text: str) -> Tree:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name):
            return name
        case (
            ast.BinOp(left=a, op=sign, right=b) | ast.Compare(left=a, ops=[sign], comparators=[b])
        ) if type(sign).__name__ in _SIGNS:
            return [_SIGNS[type(sign).__name__], _tree(a, text), _tree(b, text)]
        case ast.UnaryOp(op=ast.USub(), operand=a):
            return ["-", 0, _tree(a, text)]
        case ast.Call(func=ast.Name(id=name), args=operands, keywords=[]) if name in OPERATORS:
            return [name, *(_tree(operand, text) for operand in operands)]
    raise ValueError(f"{text!r}: write it with numbers, names and {', '.join(OPERATORS)} alone")


def evaluate(tree: Tree, numbers: Numbers) -> Any:
    """Return the value of an expression: a number, or bool for a comparison.

    Raises KeyError for an unknown name.
    """
    if isinstance(tree, list):
        sign, *operands = tree
        return OPERATORS[sign](*[evaluate(operand, numbers) for operand in operands])
    return numbers[tree] if isinstance(tree, str) else tree

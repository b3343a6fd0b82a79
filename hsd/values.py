"""Values that a program gives, as Python's own: numbers and lists of any library."""

import operator
from collections.abc import Sequence
from numbers import Real
from typing import Any

from hsd.errors import HsdError


def truth(value: Any) -> bool | None:
    """Return a truth value of Python, numpy or torch as a bool; None for anything else."""
    if isinstance(value, bool):
        return value
    return bool(value) if _is_single(value) and "bool" in str(value.dtype) else None


def whole(value: Any) -> int | None:
    """Return a whole number as an int; None for anything else, such as 4.0, "4" and True."""
    if truth(value) is not None or getattr(value, "ndim", 0) != 0:
        return None
    try:
        return operator.index(value)
    except (TypeError, ValueError, RuntimeError):  # of a tensor without data
        return None


def real(value: Any) -> int | float | None:
    """Return a real number as an int or a float; None for anything else, such as "0.5" and True."""
    number = whole(value)
    if number is not None or truth(value) is not None:
        return number
    if not isinstance(value, Real) and not (_is_single(value) and "float" in str(value.dtype)):
        return None
    try:
        return float(value)
    except (OverflowError, RuntimeError):
        return None


def listed(value: Any) -> list[Any] | None:
    """Return the entries of a list, a tuple or a one-dimensional array; None for anything else."""
    if getattr(value, "ndim", 0) == 1 and hasattr(value, "tolist"):
        return list(value.tolist())
    is_list = isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))
    return list(value) if is_list and not isinstance(value, memoryview) else None


def shown(value: Any, most: int = 60) -> str:
    """Return a value for a message: in one line, and not longer than `most` characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= most else f"{text[:most]}…"


def reals(name: str, values: Any) -> tuple[int | float, ...]:
    """Return the real numbers of a list or an array as Python's own.

    Raises HsdError, which begins with `name`, for anything else.
    """
    entries = listed(values)
    numbers = [] if entries is None else [real(entry) for entry in entries]
    if entries is None or None in numbers:
        raise HsdError(f"{name} {shown(values)}: give a list of numbers")
    return tuple(number for number in numbers if number is not None)


def whole_between(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return a whole number from `low` to `high` as an int.

    Raises HsdError, which begins with `name`, for anything else.
    """
    number = whole(value)
    if number is None or number < low or (high is not None and number > high):
        most = "" if high is None else f" to {high:,}"
        raise HsdError(f"{name} {shown(value)}: choose a whole number from {low:,}{most}")
    return number


def _is_single(value: Any) -> bool:
    """Return whether a value is one number of numpy or torch."""
    return hasattr(value, "dtype") and getattr(value, "ndim", None) == 0

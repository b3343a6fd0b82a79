"""What is typed into the settings of a batch, read and checked. Each raises HsdError, one line, for anything else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from hsd.decoding.options import LEVELLED, MAX_LEVELS, Options
from hsd.errors import HsdError

MOST = 48  # numbers that one field may list, more than can be measured


def whole(value: Any, name: str, most: int) -> int:
    """`value`, a number or text, as a whole number from 1 to `most`. Raises HsdError for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number == int(number) and 1 <= number <= most):
        said = "is empty" if value in (None, "") else str(value).strip()[:20]
        raise HsdError(f"{name} {said}: choose a whole number from 1 to {most}")
    return int(number)


def temperature(value: str) -> float:
    """A temperature from 0 to 2, to two digits."""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 2:
        raise HsdError(f"temperature {value.strip()[:20]}: choose a number from 0 to 2")
    return round(number, 2)  # more digits would not be told apart in the names of the cases


def tolerance(value: Any) -> float:
    """The tolerance of the fuzzy rule, of either sign, to six digits."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        said = "is empty" if value in (None, "") else str(value).strip()[:20]
        raise HsdError(f"tolerance {said}: give a number such as {Options.tolerance:g}; below 0 is exact")
    return float(f"{number:.6g}")  # as a command line and a link have it


def several(value: Any, name: str, one: Callable[[str], Any]) -> tuple[Any, ...]:
    """Numbers from text with commas, in order and each once. one: reads and checks one of them."""
    parts = _parts(value)
    if not parts:
        raise HsdError(f"{name} is empty: give one number, or several with commas")
    return tuple(dict.fromkeys(one(part) for part in parts[:MOST]))


def levels(value: Any, name: str, one: Callable[[str], int]) -> tuple[int, ...]:
    """A number for each level, from text with commas; () for none."""
    parts = _parts(value)
    if len(parts) > MAX_LEVELS:
        raise HsdError(f"{len(parts)} {name}: give at most {MAX_LEVELS}, one for each level")
    return tuple(one(part) for part in parts)


def _parts(value: Any) -> list[str]:
    text = str("" if value is None else value)
    return [part.strip() for part in text.replace(";", ",").split(",") if part.strip()]


def systems(value: Any) -> tuple[str, ...]:
    """Names of systems with levels, from a list or text with commas; () for none."""
    names = _names(value)
    unknown = next((name for name in names if name not in LEVELLED), None)
    if unknown:
        raise HsdError(f"unknown system {unknown!r}: choose {', '.join(LEVELLED)}, or none")
    return names


def rules(value: Any) -> tuple[str, ...]:
    """Names of rules, at least one; whether they exist is checked with the cases."""
    found = _names(value)
    if not found:
        raise HsdError("no rule is chosen: choose one or more")
    return found


def _names(value: Any) -> tuple[str, ...]:
    names = value.split(",") if isinstance(value, str) else list(value or [])
    return tuple(dict.fromkeys(str(name).strip()[:40] for name in names if str(name).strip()))

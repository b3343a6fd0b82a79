"""Where the threshold of a test comes from, in words and with its numbers."""

from __future__ import annotations

from collections.abc import Callable

from hsd.trace.verdict import Grounds


def because(grounds: Grounds) -> str:
    """What follows a threshold's number, such as " = min(1, p/q) with p = 0.3, q = 0.5"."""
    return _FORMS.get(grounds.form, _any)(grounds)


def letters(forms: set[str]) -> list[str]:
    """What the letters stand for that tests of these forms have."""
    return [f"{words}." for words, used in _LETTERS if forms & used]


def number(value: float) -> str:
    return f"{value:.3g}".replace("inf", "infinity")


def _rates(g: Grounds) -> str:
    return f"p = {number(g.p)}, q = {number(g.q)}"


def _far(g: Grounds) -> str:
    return "" if g.divergence is None else f": divergence {number(g.divergence)}"


def _sure(g: Grounds) -> str:
    entropy = "" if g.entropy is None else f", entropy of its row {number(g.entropy)}"
    return f": p = {number(g.p)}{entropy}"


def _any(g: Grounds) -> str:
    """Of a form that has no words here: its name, and the numbers that every form has."""
    return f", by the test {g.form!r} with {_rates(g)}"


_FORMS: dict[str, Callable[[Grounds], str]] = {
    "token": lambda g: f" = min(1, p/q) with {_rates(g)}",
    "capped": lambda g: f" = min(1, c·p/q) with {_rates(g)}, c = {number(g.before)} before it",
    "ratio": lambda g: f" = min(1, r·p/q) with {_rates(g)}, r = {number(g.before)} before it",
    "share": lambda g: f" = S/(S + 1 − c) with S = {number(g.mass)}, c = {number(g.before)}",
    "naive": lambda g: f" = S/max(S, S + 1 − r) with S = {number(g.mass)}, r = {number(g.before)}",
    "chosen": lambda g: " = p, as the draft's choice counts as certain",
    "near": lambda g: f", as the rows of target and draft are near{_far(g)}",
    "far": lambda g: f", as the rows of target and draft are too far apart{_far(g)}",
    "beyond": lambda g: f" = min(1, p/q) with {_rates(g)}, as the rows are too far apart to pass{_far(g)}",
    "mixed": lambda g: f" = w + (1 − w)·min(1, p/q) with {_rates(g)}, the draft's share w = {number(g.weight)}",
    "likely": lambda g: f", as the target finds the token likely enough{_sure(g)}",
    "unlikely": lambda g: f", as the target does not find the token likely enough{_sure(g)}",
}
_LETTERS = (  # what a letter stands for, and the forms that have it
    ("c is p/q of the whole path, never above 1 on the way", {"capped", "share"}),
    ("r is p/q of the whole path", {"ratio", "naive"}),
    ("S is how much the draft gives too little, in all, to what may follow", {"share", "naive"}),
)

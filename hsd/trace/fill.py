"""Fills in the sentences of `sentences.yaml` with the facts of a step.

The head of that file explains how they are written. `web/step/fill.js` is the same for the page.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from pathlib import Path
from typing import Any

from hsd.paths import read_yaml
from hsd.trace.values import Token

Facts = Mapping[str, Any]

SENTENCES: dict[str, list[Any]] = read_yaml(Path(__file__).with_name("sentences.yaml"))
CUT = 80  # characters of a token, or of a draft's text
_CONDITION = re.compile(r"(not )?([^=>]+?)(?: (=|>) (.+))?")
_MARK = re.compile(r"\*\*|\[|\]\([\w-]+\)|\{([^{}]*)\}")
_LOOSE = re.compile("[\udc80-\udcff]+")
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def say(name: str, facts: Facts) -> str:
    """Return the first wording of the sentence `name` whose conditions hold, filled in, or ""."""
    for way in SENTENCES.get(name, []):
        *conditions, text = way if isinstance(way, list) else [way]
        if all(_holds(condition, facts) for condition in conditions):
            return filled(text, facts)
    return ""


def filled(text: str, facts: Facts) -> str:
    """Return `text` with the facts in place of its slots in braces, and without other marks."""
    return _MARK.sub(lambda match: _put(match[1], facts) if match[1] else "", text)


def _holds(condition: str, facts: Facts) -> bool:
    match = _CONDITION.fullmatch(condition)
    negated, path, sign, value = match.groups()  # type: ignore[union-attr]
    scope, key = _reach(path, facts)
    fact = scope.get(key)
    if sign is None:
        held = bool(fact)
    elif sign == "=":
        held = str(fact) == value
    else:
        held = (fact or 0) > float(value)
    return held is not bool(negated)


def _reach(path: str, facts: Facts) -> tuple[Facts, str]:
    """Follow a dotted path into nested facts.

    Return the inner ones over the outer, and the path's last name.
    """
    *way, key = path.split(".")
    for step in way:
        facts = {**facts, **facts[step]} if facts.get(step) else {}
    return facts, key


def _put(slot: str, facts: Facts) -> str:
    """Return the text for a slot, which is what stands in the braces of a sentence."""
    path, count, noun = (*re.split(r"([|?])", slot, maxsplit=1), "", "")[:3]
    scope, key = _reach(path, facts)
    value = scope.get(key)
    if count == "?":
        return noun.split(":")[value != 1]
    if count:
        return plural(value or 0, noun)
    if value is None:
        return say(key, scope) if scope else ""
    if isinstance(value, list):
        return "".join(say(key, {**scope, **item, "last": item is value[-1]}) for item in value)
    return quoted(value.piece) if isinstance(value, Token) else str(value)


# ---- numbers and tokens


def quoted(piece: str) -> str:
    """Return `piece` in quotation marks on one line, cut after `CUT` characters.

    Line ends and tabs are shown as signs.
    """
    shown = _UNSEEN.sub(lambda match: {"\n": "⏎", "\r": "⏎", "\t": "⇥"}.get(match[0], "�"), piece)
    return f"“{shown[:CUT]}…”" if len(shown) > CUT else f"“{shown}”"


def spell(data: bytes) -> str:
    """Return UTF-8 as text, with bytes that make no character in hexadecimal.

    They are "F0 9F" by themselves, and beside text "a⟨F0 9F⟩".
    """
    text = data.decode("utf-8", "surrogateescape")
    around = "{}" if _LOOSE.fullmatch(text) else "⟨{}⟩"

    def in_hexadecimal(match: re.Match[str]) -> str:
        return around.format(" ".join(f"{ord(byte) - 0xDC00:02X}" for byte in match[0]))

    return _LOOSE.sub(in_hexadecimal, text)


def together(tokens: Iterable[Any]) -> str:
    """Return the text of a trace's neighbouring tokens.

    Characters that several of them spell are whole.
    """
    parts = (bytes.fromhex(one.bytes) if one.bytes else one.piece.encode() for one in tokens)
    return spell(b"".join(parts))


def listed(words: Sequence[str], last: str = "and") -> str:
    """Return the words joined as "a, b and c", with `last` in place of "and"; "" for no words."""
    *most, end = words or [""]
    return f"{', '.join(most)} {last} {end}" if most else end


def plural(count: int, noun: str) -> str:
    """Return the count with its noun, as "1 token" or "1,000 tokens"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def number(x: float, digits: int = 3, tiny: int = 2) -> str:
    """Format a number by `rounded`, with a power of ten below 0.001 and from 10,000 on."""
    if math.isinf(x):
        return "∞" if x > 0 else "−∞"
    value = rounded(x, digits, tiny)
    if not value or 1e-3 <= abs(x) < 1e4:
        return f"{value.normalize():f}".replace("-", "−")
    power = value.adjusted()
    text = f"{value.scaleb(-power).normalize():f}·10{str(power).translate(_RAISED)}"
    return text.replace("-", "−")


def rounded(x: float, digits: int = 3, tiny: int = 2) -> Decimal:
    """Round x to `digits` significant digits, or to `tiny` below 0.001.

    There are more for a longer whole part, and where the result would be 1 although x is not.
    """
    if abs(x) < 1e-3:
        count = tiny
    elif abs(x) < 1e4:
        count = max(digits, len(str(int(abs(x)))))
    else:
        count = digits
    value = Context(prec=count, rounding=ROUND_HALF_UP).create_decimal(Decimal(x))
    return rounded(x, count + 1) if abs(value) == 1 != abs(x) and count < 9 else value


def apart(a: float, b: float, start: int = 2) -> tuple[int, int]:
    """Return (digits, tiny) for `number` with which a and b look different.

    `digits` is `start` or more.
    """
    every = ((digits, max(digits - 2, 2)) for digits in range(start, 19))
    differing = (counts for counts in every if a == b or number(a, *counts) != number(b, *counts))
    return next(differing, (19, 19))


def pair(a: float, b: float, start: int = 2) -> tuple[str, str]:
    """Return both numbers as text, with as many digits as it takes to see which one is larger."""
    digits = apart(a, b, start)
    return number(a, *digits), number(b, *digits)


def same(a: float, b: float) -> str | None:
    """Return the text that two numbers share when both have four digits, or else five.

    Return None where they differ.
    """
    texts = ([number(x, digits, digits) for x in (a, b)] for digits in (4, 5))
    return next((one for one, other in texts if one == other), None)


def shortest(
    numbers: Facts, holds: Callable[[dict[str, Any]], bool], start: int = 3
) -> tuple[dict[str, str], bool]:
    """Return a formula's numbers as texts, with the fewest digits that keep it true.

    The second value is whether any did. holds(rounded): whether the formula is true for rounded
    numbers. start: the least digits. Other values are left out.
    """
    real = {name: x for name, x in numbers.items() if isinstance(x, (int, float))}
    for digits in range(start, 16):
        shown = {
            name: x if math.isinf(x) else float(rounded(x, digits, digits - 1))
            for name, x in real.items()
        }
        if holds({**numbers, **shown}):
            return {name: number(x, digits, digits - 1) for name, x in real.items()}, True
    return {name: number(x, start, start - 1) for name, x in real.items()}, False

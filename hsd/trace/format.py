"""How numbers, tokens and lists are written in a sentence.

`web/kit/format.js` and `web/kit/spans.js` have the same for the page.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from hsd.errors import UNSEEN

CUT = 80  # characters of a token, or of a draft's text
_LOOSE = re.compile("[\udc80-\udcff]+")
_SIGNS = {"\n": "⏎", "\r": "⏎", "\t": "⇥"}
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def quoted(piece: str) -> str:
    """Return `piece` in quotation marks on one line, cut after `CUT` characters.

    Line ends and tabs are shown as signs.
    """
    shown = UNSEEN.sub(lambda match: _SIGNS.get(match[0], "�"), piece)
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
    parts = [
        bytes.fromhex(token.bytes) if token.bytes else token.piece.encode() for token in tokens
    ]
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
    context = Context(prec=count, rounding=ROUND_HALF_UP)
    value = context.create_decimal(Decimal(x))
    looks_like_one = abs(value) == 1 != abs(x)
    return rounded(x, count + 1) if looks_like_one and count < 9 else value


def apart(a: float, b: float, start: int = 2) -> tuple[int, int]:
    """Return (digits, tiny) for `number` with which a and b look different.

    `digits` is `start` or more.
    """
    for digits in range(start, 19):
        counts = (digits, max(digits - 2, 2))
        if a == b or number(a, *counts) != number(b, *counts):
            return counts
    return (19, 19)


def pair(a: float, b: float, start: int = 2) -> tuple[str, str]:
    """Return both numbers as text, with as many digits as it takes to see which one is larger."""
    digits = apart(a, b, start)
    return number(a, *digits), number(b, *digits)


def same(a: float, b: float) -> str | None:
    """Return the text that two numbers share when both have four digits, or else five.

    Return None where they differ.
    """
    for digits in (4, 5):
        text = number(a, digits, digits)
        if text == number(b, digits, digits):
            return text
    return None


def shortest(
    numbers: Mapping[str, Any], holds: Callable[[dict[str, Any]], bool], start: int = 3
) -> tuple[dict[str, str], bool]:
    """Return a formula's numbers as texts, with the fewest digits that keep it true.

    The second value is whether any did. holds(rounded): whether the formula is true for rounded
    numbers. start: the least digits. Other values are left out.
    """
    real = {name: x for name, x in numbers.items() if isinstance(x, (int, float))}
    finite = {name: x for name, x in real.items() if not math.isinf(x)}

    def texts(digits: int) -> dict[str, str]:
        return {name: number(x, digits, digits - 1) for name, x in real.items()}

    for digits in range(start, 16):
        shown = {name: float(rounded(x, digits, digits - 1)) for name, x in finite.items()}
        if holds({**numbers, **shown}):
            return texts(digits), True
    return texts(start), False

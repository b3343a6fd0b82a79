"""Texts that are computed anew and compared with what is printed: equal words, and numbers as near
as rounding allows.

Processors round sums differently. So a last digit may differ, and where a bisection ends, and what
is zero but for rounding. Words, counts and the number of numbers may not.
"""

from __future__ import annotations

import re

NUMBER = re.compile(
    r"(?<![\d.])[-−+]?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?(?![\d]|\.\d)"
)
# relative, of numbers that are printed in full: those of a forward pass in single precision
CLOSE = 1e-6
LARGEST = 0.02  # relative, of one unit in the last place
ZERO = 1e-9  # what is not more than this may be zero


def value(number: str) -> float:
    """What is printed: `1,694`, `−.5`, `6.67e-04`."""
    return float(number.replace(",", "").replace("−", "-"))


def unit(number: str) -> float:
    """One in the last place that is printed; 0 for a count, of which every unit counts."""
    digits, _, power = number.partition("e")
    decimals = len(digits.partition(".")[2])
    return 10.0 ** (int(power or 0) - decimals) if decimals or power else 0.0


def near(made: str, printed: str) -> bool:
    """Whether two printed numbers are one number, rounded by two processors."""
    a = value(made)
    b = value(printed)
    size = max(abs(a), abs(b))
    gap = abs(a - b)
    if gap == 0:
        return True
    if not unit(made) and not unit(printed):
        return False
    last = min(unit(one) or 1.0 for one in (made, printed))
    return size <= ZERO or gap <= CLOSE * size or gap <= min(1.001 * last, LARGEST * size)


def stands(made: str, page: str, loose: str = "") -> bool:
    """Whether `made` stands somewhere in `page`. loose: what matches may have any number, as counts
    of a bisection.
    """
    parts = []
    numbers = []
    end = 0
    free = {match.start(): match.end() for match in re.finditer(loose, made)} if loose else {}
    for match in NUMBER.finditer(made):
        parts.append(re.escape(made[end : match.start()]) + f"({NUMBER.pattern})")
        numbers.append(None if any(a <= match.start() < b for a, b in free.items()) else match[0])
        end = match.end()
    pattern = "".join(parts) + re.escape(made[end:])
    return any(
        all(
            number is None or near(number, found)
            for number, found in zip(numbers, match.groups(), strict=True)
        )
        for match in re.finditer(f"(?={pattern})", page)
    )


def differing(made: str, page: str, loose: str = "") -> list[tuple[str, str]]:
    """Lines of the two texts that are not the same but for rounding."""
    ours = made.splitlines()
    theirs = page.splitlines()
    longest = max(len(ours), len(theirs))
    pairs = zip(*(lines + [""] * (longest - len(lines)) for lines in (ours, theirs)), strict=True)
    return [
        (a, b)
        for a, b in pairs
        if a != b and not (skeleton(a) == skeleton(b) and stands(a, b, loose))
    ]


def skeleton(text: str) -> str:
    """The text with a sign for each number."""
    return NUMBER.sub("#", text)

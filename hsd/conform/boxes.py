"""A black box with numbers in [0, 1) for its input, taken apart into boxes of equal outcome.

What is assumed: the outcome changes at thresholds of single numbers; a smaller coin never keeps
less (or never more); and while the noise moves, each token is met on one interval. Tests against
coins in any order, forward, backward or with one coin for the whole draft, and draws that invert a
cumulative sum in any order are such. Then a box whose lower and upper corners agree is constant,
and every threshold is bracketed as closely as `width`. Where the assumption fails, a witness, a
point with another outcome than its box, is what divides the box further.

A search is a generator that yields the point it wants to know about and is sent the outcome there,
so that searches of many drafts can share one call.
"""

import bisect
import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hsd.errors import HsdError

Point = tuple[float, ...]
Outcome = tuple[int, ...]
T = TypeVar("T")
Search = Generator[Point, Outcome, T]


@dataclass(frozen=True)
class Box:
    """All points with low ≤ point < high in every coordinate.

    The outcome is the same everywhere in it.
    """

    low: Point
    high: Point
    outcome: Outcome

    @property
    def volume(self) -> float:
        return math.prod(high - low for low, high in zip(self.low, self.high, strict=True))

    @property
    def centre(self) -> Point:
        return tuple((low + high) / 2 for low, high in zip(self.low, self.high, strict=True))

    def holds(self, point: Sequence[float], margin: float = 0.0) -> bool:
        """Return whether the point is in the box, at least `margin` from its faces."""
        return all(
            low + margin <= x < high - margin
            for low, high, x in zip(self.low, self.high, point, strict=False)
        )


def edges(hints: Sequence[float], width: float) -> list[float]:
    """Return the numbers width/2 below and above each hint, sorted."""
    return sorted({edge for hint in hints for edge in (hint - width / 2, hint + width / 2)})


def threshold(
    at: Callable[[float], Point],
    ends: tuple[float, float],
    outcomes: tuple[Outcome, Outcome],
    width: float,
    hints: Sequence[float],
) -> Search[tuple[float, Outcome]]:
    """Search for the number between two `ends` at which the outcome changes.

    Returns it to `width` / 2, and the outcome above it. at(number): the point to evaluate.
    outcomes: those at the ends. hints: numbers, as of `edges`, to try first; others are found by
    bisection.
    """
    low, high = ends
    first, above = outcomes
    begin = bisect.bisect_right(hints, low)
    end = bisect.bisect_left(hints, high)
    # the first threshold is often the next hint: look near first, then twice as far
    reach = 1
    # a bracket around a hint is as wide as `width`, but for rounding
    while high - low > width * 1.01:
        middle = hints[begin + min(reach, (end - begin) // 2)] if end > begin else (low + high) / 2
        outcome = yield at(middle)
        if outcome == first:
            low = middle
            reach = 2 * reach
            begin = bisect.bisect_right(hints, low, begin, end)
        else:
            high = middle
            above = outcome
            end = bisect.bisect_left(hints, high, begin, end)
    return (low + high) / 2, above


def boxes(
    axes: int,
    coins: int,
    fixed: Point,
    width: float,
    hints: Sequence[Sequence[float]],
    most: int,
    witnesses: Sequence[Point] = (),
) -> Search[list[Box]]:
    """Search for boxes of equal outcome that cover [0, 1)^axes, and return them.

    coins: how many of the axes are coins. fixed: appended to every point. hints: per axis, numbers
    where thresholds may be. witnesses: points that must have the outcome of their box, unless
    nearer than `width` to a face. Raises HsdError for more than `most` boxes.
    """
    near = [edges(of, width) for of in hints]
    known = {}

    def ask(point: Point) -> Search[Outcome]:
        if point not in known:
            known[point] = yield (*point, *fixed)
        return known[point]

    def change(start: Point, goal: Point) -> Search[tuple[int, float] | None]:
        """Search from start to goal, axis by axis, for a change of outcome.

        Returns (axis, number), or None if there is none.
        """
        first = yield from ask(start)
        if (yield from ask(goal)) == first:
            return None
        for axis in range(axes):
            moved = (*start[:axis], goal[axis], *start[axis + 1 :])
            outcomes = first, (yield from ask(moved))
            if outcomes[1] != first:
                at = lambda x, s=start, a=axis: (*s[:a], x, *s[a + 1 :], *fixed)  # noqa: E731
                ends = start[axis], goal[axis]
                where, above = yield from threshold(at, ends, outcomes, width, near[axis])
                # the corners of the boxes that meet here are a little farther apart
                for corner, outcome in ((where - width, first), (where + width, above)):
                    known[(*start[:axis], corner, *start[axis + 1 :])] = outcome
                return axis, where
            start = moved
        return None

    whole = []
    todo = [((0.0,) * axes, (1.0,) * axes)]
    while todo:
        low, high = todo.pop()
        # Corners lie a little inside: a face is known to half of `width`, and 0 itself has no
        # probability.
        a, b = (
            tuple(_inside(at, to, end, width) for at, to in zip(low, high, strict=True))
            for end in (0, 1)
        )
        box = Box(low, high, (yield from ask(a)))
        along_coins = ((*b[:coins], *a[coins:]), (*a[:coins], *b[coins:]))
        cut = yield from change(a, along_coins[0])
        cut = cut or (yield from change(along_coins[1], b))
        cut = cut or (yield from change(a, along_coins[1]))
        for point in witnesses if cut is None else ():
            if box.holds(point, width):
                cut = cut or (yield from change(a, point))
        if cut is None:
            whole.append(box)
            continue
        if len(whole) + len(todo) > most:
            raise HsdError(
                "its outcome does not change at thresholds of single numbers: use --sampled"
            )
        axis, where = cut
        todo += [
            (low, (*high[:axis], where, *high[axis + 1 :])),
            ((*low[:axis], where, *low[axis + 1 :]), high),
        ]
    return whole


def _inside(low: float, high: float, end: int, width: float) -> float:
    if high - low <= 2 * width:
        return (low + high) / 2
    return high - width if end else low + width

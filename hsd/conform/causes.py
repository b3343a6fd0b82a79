"""Why equal numbers gave different tokens.

That is found by experiments, whose order does not matter, as each is made several times.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from unittest.mock import patch

from hsd.conform.adapter import LARGEST, BlackBox
from hsd.conform.boxes import Outcome, Point

CALLS = 96  # equal calls one after the other
TURNS = 4  # how often each of several experiments is made
# the share of equal calls that agree, up to which a verifier is random in all that it does
OFTEN = 0.95
# seconds to which the clock is set
MOMENTS = (0.0, 0.0013, 0.0127, 0.317, 1.731, 62.9, 3_611.0, 86_423.0)
OWN = "take all from uniforms and noise, or use --sampled"

# drafts, a point for each, and the place of the one in question
Batch = tuple[Sequence[int], Sequence[Point], int]


def cause(
    box: BlackBox, first: Outcome, batches: Sequence[Batch], others: Sequence[Point], seldom: bool
) -> str:
    """Return in words what a draft's outcome depends on besides its numbers.

    If they end with `OWN`, no law is sought.

    first: one of its outcomes. batches: the calls with different ones. others: points of other
    calls. seldom: whether few of many points differed.
    """
    drafts, points, place = batches[0]
    draft = drafts[place]
    point = points[place]

    def placed(drafts: Sequence[int], points: Sequence[Point], place: int) -> Outcome:
        begin = place - place % LARGEST  # of the batch that it was in
        batch = slice(begin, begin + LARGEST)
        return box.ask(drafts[batch], points[batch])[place - begin]

    def after(other: Point) -> Outcome:
        box.ask([draft], [other])
        return alone()

    def at(moment: float) -> Outcome:
        seconds = 1.7e9 + moment
        clocks = ("time", "monotonic", "perf_counter")
        stopped = {name: lambda: seconds for name in clocks} | {
            f"{name}_ns": lambda: int(1e9 * seconds) for name in clocks
        }
        with patch.dict(vars(time), stopped):
            return alone()

    alone = partial(placed, [draft], [point], 0)
    outcomes = [alone() for _ in range(CALLS)]
    usual = Counter(outcomes).most_common(1)[0][1]
    if usual <= OFTEN * CALLS and any(outcomes[k:] == outcomes[:-k] for k in range(1, CALLS // 3)):
        return f"it counts calls, and equal calls get different tokens in turn: {OWN}"
    if decides([partial(at, moment) for moment in MOMENTS]):
        return f"it looks at the clock: {OWN}"
    if usual <= OFTEN * CALLS:
        return f"it draws numbers of its own: {OWN}"
    size = min(max(len(drafts) for drafts, _, _ in batches), LARGEST)
    alike = [
        partial(placed, [draft] * size, [point] * size, i)
        for i in {0, 1 % size, size // 2, size - 1}
    ]
    if box.adapter.batched and decides(alike):
        where = "its place in the batch"
        return f"what a draft gets depends on {where}: equal ones get different tokens"
    if box.adapter.batched and decides([alone, *(partial(placed, *batch) for batch in batches)]):
        return "what a draft gets depends on the others of its batch, or on its place there"
    if decides([partial(after, other) for other in others]):
        return "it keeps something from earlier calls: the one before decides"
    if usual < CALLS or outcomes[0] == first or seldom:
        return "it now and then draws a number of its own, or keeps something from call to call"
    return "it keeps something from earlier calls"


def decides(experiments: Sequence[Callable[[], Outcome]]) -> bool:
    """Return whether the outcome depends on the experiment alone, and differs between them.

    Each runs several times.
    """
    order = [*range(len(experiments))] * TURNS
    random.Random(0).shuffle(order)
    results = [(i, experiments[i]()) for i in order]
    return len({outcome for _, outcome in results}) > 1 and len({*results}) == len(experiments)

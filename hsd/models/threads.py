"""How many threads a pair computes with on a CPU: measured where it matters.

A second thread slows small models down and speeds larger ones up; how much depends on the machine and its load.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median
from weakref import WeakKeyDictionary

import torch

from hsd.models.base import LanguageModel, Pair, Session

SMALL = 50_000_000  # parameters; below, one thread is right everywhere
AVAILABLE = torch.get_num_threads()
READ, WIDE, ROUNDS = 8, 4, 5  # tokens before, tokens of a wide pass, rounds that are timed


@dataclass(frozen=True)
class Threads:
    """How many threads to use. seconds: of a pass over one token, by number of threads; empty if nothing was timed."""

    count: int
    seconds: dict[int, float]

    def __str__(self) -> str:
        timed = ", ".join(f"{count}: {seconds * 1e3:.0f} ms a token" for count, seconds in self.seconds.items())
        return f"{self.count} thread{'s' * (self.count > 1)}" + (f" ({timed})" if timed else "")


_FOUND: WeakKeyDictionary[LanguageModel, Threads] = WeakKeyDictionary()


def settle_threads(pair: Pair) -> Threads:
    """Choose this pair's threads; set them in torch (calling thread) or its engine. On a GPU, torch's default."""
    target = pair.target
    if target.device.type != "cpu":
        chosen = Threads(AVAILABLE, {})
    elif target.parameters < SMALL or AVAILABLE == 1:
        chosen = Threads(1, {})
    else:
        chosen = _FOUND.get(target) or _measured(target)
        _FOUND[target] = chosen
    use_threads(target, chosen.count)
    return chosen


def use_threads(target: LanguageModel, count: int) -> None:
    """Use this many threads: torch's, or those of an engine that has its own (torch then keeps one)."""
    own = getattr(target, "use_threads", None)
    torch.set_num_threads(1 if own else count)
    if own:
        own(count)


def _measured(target: LanguageModel) -> Threads:
    """Passes over one token and over a few, in turn with one thread and with all; the sum decides."""
    session, tokens = target.start(), torch.ones(READ, dtype=torch.int64)
    use_threads(target, AVAILABLE)
    session.forward(tokens, 1)
    timed: dict[int, list[tuple[float, float]]] = {1: [], AVAILABLE: []}
    for _ in range(ROUNDS):
        for count, seconds in timed.items():
            use_threads(target, count)
            seconds.append((_seconds(session, 1), _seconds(session, WIDE)))
    session.close()
    sums = {count: median(one + several for one, several in seconds) for count, seconds in timed.items()}
    best = min(sums, key=lambda count: sums[count])
    return Threads(best, {count: median(one for one, _ in seconds) for count, seconds in timed.items()})


def _seconds(session: Session, tokens: int) -> float:
    begin = time.perf_counter()
    session.forward(torch.ones(tokens, dtype=torch.int64), 1)
    session.crop(READ)
    return time.perf_counter() - begin

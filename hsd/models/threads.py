"""How many threads a target computes with on a CPU: the faster count, measured once; one while the machine is busy.

A second thread slows small models down and speeds larger ones up. Beside other work it waits, and the first one for it,
at every product: what took 10 ms takes seconds. A step tells that by its own clock: how much of its time its thread had
a processor. The caller's own number of threads comes back after every step.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from weakref import finalize

import torch

from hsd.models.base import LanguageModel, Pair, Session

SMALL, LARGE = 50_000_000, 1_000_000_000  # parameters: below, one thread is right everywhere; from here on, all are
READ, WIDE, ROUNDS = 8, 4, 5  # tokens before, tokens of a wide pass, rounds that are timed
BUSY, QUIET = 0.6, 0.85  # of a step's time its thread had a processor: less, and others want it; more, and they do not
PATIENCE, LONGEST = 8, 512  # quiet steps on one thread until several are tried again: at first, and at most


@dataclass
class Threads:
    """How many threads a target computes with.

    most: on a quiet machine. seconds: of a pass over one token, by number of threads; empty if nothing was timed.
    waiting: quiet steps to come on one thread. patience: how many there will be after the next busy step.
    """

    most: int
    seconds: dict[int, float]
    waiting: int = 0
    patience: int = PATIENCE

    @property
    def count(self) -> int:
        """For the next step."""
        return 1 if self.waiting else self.most

    def learn(self, share: float) -> None:
        """Wait on one thread after a busy step. share: of the step's time, in which its thread had a processor."""
        if self.waiting:
            self.waiting -= share > QUIET
        elif share < BUSY and self.most > 1:
            self.waiting, self.patience = self.patience, min(2 * self.patience, LONGEST)
        elif self.patience > PATIENCE:
            self.patience -= 1

    def __str__(self) -> str:
        timed = ", ".join(f"{count}: {seconds * 1e3:.0f} ms a token" for count, seconds in self.seconds.items())
        return f"{self.count} thread{'s' * (self.count > 1)}" + (f" ({timed})" if timed else "")


_FOUND: dict[int, Threads] = {}  # by the identity of a target: a model of somebody else's need not be hashable


def settle_threads(pair: Pair) -> Threads:
    """Return the threads that suit this pair; measured if they are not known yet. Changes no setting of the caller's.

    On a GPU, torch's own. At most as many as torch has in the calling thread.
    """
    target, most = pair.target, torch.get_num_threads()
    if target.device.type != "cpu":
        return Threads(most, {})
    if id(target) not in _FOUND:
        if target.parameters < SMALL or most == 1:
            return Threads(1, {})
        measured = target.parameters < LARGE
        _remember(target, _measured(target, most) if measured else Threads(most, {}))
    return _FOUND[id(target)]


def _remember(target: LanguageModel, threads: Threads) -> None:
    if id(target) not in _FOUND:
        finalize(target, _FOUND.pop, id(target), None)
    _FOUND[id(target)] = threads


@contextmanager
def computing(pair: Pair, tensors: bool = True) -> Iterator[None]:
    """A context manager that computes with the pair's number of threads, and restores the caller's afterwards.

    tensors: whether torch computes inside, too, and not only an engine with threads of its own.
    """
    before, threads, target = torch.get_num_threads(), settle_threads(pair), pair.target
    if target.device.type != "cpu":
        yield
        return
    computed, begin = time.thread_time(), time.perf_counter()
    try:
        _use(target, min(threads.count, before), tensors)
        yield
    finally:
        if tensors:
            torch.set_num_threads(before)
        threads.learn((time.thread_time() - computed) / max(time.perf_counter() - begin, 1e-9))


def use_threads(target: LanguageModel, count: int) -> None:
    """Compute with this many threads from now on, whatever is faster: in runs, and in whatever this thread does."""
    _remember(target, Threads(count, {}))
    _use(target, count)


def _use(target: LanguageModel, count: int, tensors: bool = True) -> None:
    """Use this many threads: torch's, or those of an engine that has its own (torch then keeps one)."""
    own = getattr(target, "use_threads", None)
    if tensors:
        torch.set_num_threads(1 if own else count)
    if own:
        own(count)


def _measured(target: LanguageModel, most: int) -> Threads:
    """Return the faster of one thread and `most`: times passes over one token and over a few, in turn."""
    session, tokens = target.start(), torch.ones(READ, dtype=torch.int64)
    timed: dict[int, list[tuple[float, float]]] = {1: [], most: []}
    try:
        session.forward(tokens, 1)
        for _ in range(ROUNDS):
            for count, seconds in timed.items():
                _use(target, count)
                seconds.append((_seconds(session, 1), _seconds(session, WIDE)))
    finally:
        torch.set_num_threads(most)
        session.close()
    sums = {count: median(one + several for one, several in seconds) for count, seconds in timed.items()}
    best = min(sums, key=lambda count: sums[count])
    return Threads(best, {count: median(one for one, _ in seconds) for count, seconds in timed.items()})


def _seconds(session: Session, tokens: int) -> float:
    begin = time.perf_counter()
    session.forward(torch.ones(tokens, dtype=torch.int64), 1)
    session.crop(READ)
    return time.perf_counter() - begin

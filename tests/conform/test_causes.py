"""What an outcome depends on besides its numbers is told by experiments, whichever of two outcomes
came first.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
import torch
from loops import some
from torch import Tensor
from verifiers import verifier

from hsd import HsdError
from hsd.audit import random_models
from hsd.conform import Adapter
from hsd.conform.battery import REPEATS
from hsd.conform.judge import judge

RIGHT = verifier()
Wrong = Callable[[], bool]


def either(wrong: Wrong) -> Any:
    """Another answer where `wrong` says so."""

    def verify(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
        return [*tokens.tolist(), 0] if wrong() else RIGHT(p, q, tokens, uniforms, noise)

    return verify


def batch(wrong: Callable[[int, int], bool]) -> Any:
    """Another answer at some places of a batch: wrong(place, size)."""

    def verify(
        p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor
    ) -> list[list[int]]:
        rows = enumerate(zip(p, q, tokens, uniforms, noise, strict=True))
        return [[*row[2].tolist(), 0] if wrong(i, len(p)) else RIGHT(*row) for i, row in rows]

    return verify


def among_others(
    p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor
) -> list[list[int]]:
    """The coins of the neighbour: equal rows do not show it."""
    return [RIGHT(*row) for row in zip(p, q, tokens, uniforms.roll(1, 0), noise, strict=True)]


def counting(every: int) -> Wrong:
    calls = itertools.count(1)
    return lambda: next(calls) % every == 0


def clock(share: float) -> Wrong:
    return lambda: time.time() % share > share / 2


def random_own() -> Wrong:
    own = torch.Generator().manual_seed(3)
    return lambda: float(torch.rand((), generator=own)) < 0.3


def before() -> Any:
    """The coins of the call before."""
    last: list[Tensor] = []

    def verify(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
        used = last.pop() if last else uniforms
        last.append(uniforms.clone())
        return RIGHT(p, q, tokens, used, noise)

    return verify


def worn() -> Any:
    calls = itertools.count()
    return either(lambda: next(calls) > 1_500)


CAUSES: dict[str, tuple[str, Callable[[], Any], bool]] = {  # what is told, the verifier, batched
    "the second half of a batch": (
        "its place in the batch",
        lambda: batch(lambda i, n: i >= n / 2),
        True,
    ),
    "all but the first of a batch": (
        "its place in the batch",
        lambda: batch(lambda i, n: i > 0),
        True,
    ),
    "the first of a batch": ("its place in the batch", lambda: batch(lambda i, n: i == 0), True),
    "the last of a batch": ("its place in the batch", lambda: batch(lambda i, n: i == n - 1), True),
    "odd places": ("its place in the batch", lambda: batch(lambda i, n: i % 2 == 1), True),
    "even places": ("its place in the batch", lambda: batch(lambda i, n: i % 2 == 0), True),
    "odd batches": ("the others of its batch", lambda: batch(lambda i, n: n % 2 == 1), True),
    "single ones": ("the others of its batch", lambda: batch(lambda i, n: n == 1), True),
    "neighbours": ("the others of its batch", lambda: among_others, True),
    "the call before": ("keeps something from earlier calls", before, False),
    "after many calls": ("keeps something from earlier calls", worn, False),
    "every other call": ("counts calls", lambda: either(counting(2)), False),
    "every third call": ("counts calls", lambda: either(counting(3)), False),
    "every tenth call": ("counts calls", lambda: either(counting(10)), False),
    "numbers of its own": ("draws numbers of its own", lambda: either(random_own()), False),
    "torch's numbers": (
        "draws numbers of its own",
        lambda: either(lambda: float(torch.rand(())) < 0.5),
        False,
    ),
    "a quick clock": ("looks at the clock", lambda: either(clock(0.002)), False),
    "a slow clock": ("looks at the clock", lambda: either(clock(0.6)), False),
}
TOLD = {told for told, _, _ in CAUSES.values()}


@pytest.mark.parametrize("name", some(CAUSES, 2))
def test_the_cause_is_named_and_no_other(name: str, monkeypatch: pytest.MonkeyPatch):
    told, made, batched = CAUSES[name]
    moments = count()
    for read in (
        "time",
        "monotonic",
        "perf_counter",
    ):  # the clock goes on with every look at it, on every machine alike
        monkeypatch.setattr(time, read, lambda: 1e-3 * next(moments))
    with pytest.raises(HsdError) as error:
        judge(
            Adapter("own.py", made(), batched=batched),
            random_models(3, 2, 0),
            points=500,
            repeats=REPEATS,
        )
    words = str(error.value)
    assert {one for one in TOLD if one in words.partition(" for the same numbers: ")[2]} == {told}
    assert "\n" not in words


def test_a_right_verifier_in_batches_is_called_right():
    found = judge(
        Adapter("right.py", batch(lambda *_: False), batched=True),
        random_models(3, 2, 0),
        repeats=REPEATS,
    )
    assert found.total_variation < 1e-12

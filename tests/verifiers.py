"""Verifiers as black boxes for the tests of conformance: a law with a way to use coins and to draw,
right or not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from test_wrong_variants import GivesUpAtFirstFailure
from torch import Tensor

from hsd.conform import Adapter
from hsd.rules import RULES, Law
from hsd.sampling import draw

LawFunction = Callable[[Tensor, Tensor, Tensor], Law]
Kept = Callable[[Law, Tensor], int]
Verify = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], list[int]]
Row = Callable[[Tensor, Law, int], Tensor]


def plain(law: Law, coins: Tensor) -> int:
    if isinstance(law, GivesUpAtFirstFailure):
        return law.gamma if coins[-1] < law.threshold[-1] else 0
    return int(law.kept(coins))


def race(row: Tensor, numbers: Tensor) -> Tensor:
    return (row / numbers).argmax()


def remembered(law: LawFunction) -> Callable[..., tuple[Law, dict[int, Tensor]]]:
    """A law, and its rows by kept tokens, computed once for each draft, of which a black box gets
    the same again.
    """
    known: dict[bytes, tuple[Law, dict[int, Tensor]]] = {}

    def of(*draft: Tensor) -> tuple[Law, dict[int, Tensor]]:
        key = b"".join(part.numpy().tobytes() for part in draft)
        if key not in known:
            if len(known) > 1_000:
                known.clear()
            known[key] = law(*draft), {}
        return known[key]

    return of


def adapter(
    law: LawFunction,
    kept: Kept = plain,
    pick: Callable[[Tensor, Tensor], Tensor] = draw,
    **said: Any,
) -> Adapter:
    return Adapter("here.py", _verify(law, kept, None, pick), **said)


def verifier(kept: Kept = plain, row: Row | None = None, rule: str = "tokenwise") -> Verify:
    """A rule with another count of kept tokens, or another row for the next one."""
    return _verify(RULES[rule].unchecked_law, kept, row, draw)


def _verify(
    law: LawFunction, kept: Kept, row: Row | None, pick: Callable[[Tensor, Tensor], Tensor]
) -> Verify:
    laws = remembered(law)

    def verify(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
        judged, rows = laws(p, q, tokens)
        count = kept(judged, uniforms)
        if count not in rows:
            following = judged.next(count)
            rows[count] = row(following, judged, count) if row else following
        return [*tokens[:count].tolist(), int(pick(rows[count], noise))]

    return verify


def cut_to(count: int) -> Row:
    """A residual of which only the likeliest tokens are left."""

    def row(following: Tensor, law: Law, kept: int) -> Tensor:
        if kept == law.gamma or len(following) <= count:
            return following
        left = torch.zeros_like(following).scatter(
            0, following.topk(count).indices, following.topk(count).values
        )
        return left / left.sum()

    return row


def where(rows: Callable[[Tensor, Tensor], bool]) -> Kept:
    """Keeps the whole draft where target and draft look so."""

    def kept(law: Law, coins: Tensor) -> int:
        return law.gamma if rows(law.p, law.q) else plain(law, coins)

    return kept


def is_one_hot(row: Tensor) -> bool:
    return float(row.max()) == 1

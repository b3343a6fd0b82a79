"""Models that watch how they are used: calls are counted, sessions remembered, every answer checked
if wished.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from hsd.models import LanguageModel, Pair, Session, View


@dataclass
class SpySession:
    """Passes everything on; `closed` once it is closed."""

    spy: SpyModel
    inner: Session
    tokens: list[int] = field(default_factory=list)
    closed: bool = False

    @property
    def length(self) -> int:
        return self.inner.length

    def forward(self, tokens: Tensor, keep: int, view: View | None = None) -> Tensor:
        self.spy.calls.append(len(tokens))
        if len(self.spy.calls) == self.spy.fails_at:
            raise RuntimeError("the model broke")
        logits = self.inner.forward(tokens, keep, view)
        self.tokens += tokens.tolist()
        if self.spy.tolerance is not None and view is None:
            self._compare(logits, keep)
        return logits

    def _compare(self, logits: Tensor, keep: int) -> None:
        """The same text read at once by a fresh session must give the same rows."""
        assert self.length == len(self.tokens)
        fresh = self.spy.model.start().forward(torch.tensor(self.tokens), keep)
        assert logits.shape == fresh.shape
        difference = float((logits - fresh).abs().nan_to_num().max())
        self.spy.checked += 1
        assert difference <= self.spy.tolerance, (
            f"off by {difference} after {len(self.tokens)} tokens"
        )

    def crop(self, length: int) -> None:
        self.inner.crop(length)
        del self.tokens[length:]

    def select(self, columns: list[int]) -> None:
        self.inner.select(columns)
        self.tokens = [self.tokens[column] for column in columns]

    def close(self) -> None:
        self.closed = True
        self.inner.close()


@dataclass
class SpyModel:
    """A model whose sessions are watched. calls: width of every forward pass; fails_at: which of
    them raises.

    tolerance: how far cached logits may be off from a fresh forward pass; None checks nothing.
    """

    model: LanguageModel
    tolerance: float | None = None
    fails_at: int | None = None
    calls: list[int] = field(default_factory=list)
    sessions: list[SpySession] = field(default_factory=list)
    checked: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def start(self) -> SpySession:
        self.sessions.append(SpySession(self, self.model.start()))
        return self.sessions[-1]


def spied(pair: Pair, **options: Any) -> tuple[Pair, SpyModel, SpyModel]:
    """The pair with both models watched, and the two spies."""
    target = SpyModel(pair.target, **options)
    draft = SpyModel(pair.draft, **options)
    return Pair(pair.name, target, draft, pair.codec), target, draft

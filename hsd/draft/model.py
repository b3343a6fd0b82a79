"""Proposing with a draft model, one token after another; and proposing nothing, which is plain decoding."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from hsd.models.reading import Reader, Rows, Spent
from hsd.sampling import draw


@dataclass(frozen=True)
class Visit:
    """Something that a level below the target did for the level above: a draft, or a round that it played.

    level: 0 for the model that drafts. position: length of the text before it. asked: how many tokens the level above
    wanted; held: how many had been settled before. seconds include all levels below, spent is its own. played: the
    `hsd.decoding.rounds.ChainRound`, None for a draft.
    """

    level: int
    position: int
    asked: int
    held: int
    seconds: float
    spent: Spent
    played: Any = None


@dataclass(frozen=True)
class Draft:
    """γ drafted tokens (γ,) int64, the distributions they were drawn from (γ, V), and the numbers that drew them.

    raw: the distributions before temperature, top-k and top-p, where they are wanted. visits: how the draft was made.
    """

    tokens: Tensor
    q: Tensor
    draws: Tensor
    raw: Tensor | None = None
    visits: tuple[Visit, ...] = ()

    @classmethod
    def empty(cls, vocab_size: int, device: torch.device) -> Draft:
        """A draft of no tokens."""
        tokens = torch.empty(0, dtype=torch.int64, device=device)
        rows = torch.empty(0, vocab_size, device=device)
        return cls(tokens, rows, torch.empty(0, dtype=torch.float64), rows)

    def until_end(self, end_ids: frozenset[int]) -> Draft:
        """The draft up to and including its first end-of-text token."""
        ids: list[int] = self.tokens.tolist()
        for count, token in enumerate(ids, start=1):
            if token in end_ids and count < len(ids):
                raw = None if self.raw is None else self.raw[:count]
                return replace(self, tokens=self.tokens[:count], q=self.q[:count], draws=self.draws[:count], raw=raw)
        return self


class Proposer(Protocol):
    """Draws drafts for a text that grows. readers: of every model that takes part, smallest first."""

    @property
    def readers(self) -> list[Reader]: ...

    def propose(self, context: list[int], draws: Tensor) -> Draft:
        """One drafted token per number in `draws` (γ,), continuing `context`."""
        ...

    def extend(self, token: Tensor) -> Rows:
        """Read one more token (1,) and return the distribution after it, one row."""
        ...

    def rollback(self, length: int) -> None:
        """Forget everything after the first `length` tokens of the text."""
        ...

    def close(self) -> None: ...


class ModelProposer:
    """A draft model that samples a chain of tokens. γ forward passes a draft, the first also reads what is new."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.readers = [reader]

    def propose(self, context: list[int], draws: Tensor) -> Draft:
        reader = self._reader
        if not len(draws):
            return Draft.empty(reader.vocab_size, reader.device)
        begin, before = time.perf_counter(), reader.spent()
        unread = torch.tensor(context[reader.length :], device=reader.device)
        rows, tokens = [], []
        for number in draws.to(reader.device):
            row = reader.read(unread, keep=1)
            unread = draw(row.p[0], number).unsqueeze(0)
            rows.append(row)
            tokens.append(unread)
        raw = [row.raw for row in rows if row.raw is not None]
        visit = Visit(0, len(context), len(draws), 0, time.perf_counter() - begin, reader.spent() - before)
        return Draft(
            torch.cat(tokens),
            torch.cat([row.p for row in rows]),
            draws,
            torch.cat(raw) if raw else None,
            (visit,),
        )

    def extend(self, token: Tensor) -> Rows:
        return self._reader.read(token, keep=1)

    def rollback(self, length: int) -> None:
        self._reader.crop(length)

    def close(self) -> None:
        self._reader.close()


class NoProposer:
    """Proposes nothing: every round is one target call and one token."""

    def __init__(self, vocab_size: int, device: torch.device) -> None:
        self._empty = Draft.empty(vocab_size, device)
        self.readers: list[Reader] = []

    def propose(self, context: list[int], draws: Tensor) -> Draft:
        return self._empty

    def extend(self, token: Tensor) -> Rows:
        raise AssertionError("nothing was proposed, so nothing can be resampled")

    def rollback(self, length: int) -> None:
        """Nothing is remembered."""

    def close(self) -> None:
        """Nothing is held."""

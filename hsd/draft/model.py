"""Proposing with a draft model, one token after another; and proposing nothing, which is plain decoding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from hsd.models.base import LanguageModel
from hsd.sampling import Sampling, draw


@dataclass(frozen=True)
class Draft:
    """γ drafted tokens (γ,) int64, the distributions they were drawn from (γ, V), and the numbers that drew them."""

    tokens: Tensor
    q: Tensor
    draws: Tensor

    @classmethod
    def empty(cls, vocab_size: int, device: torch.device) -> Draft:
        """A draft of no tokens."""
        tokens = torch.empty(0, dtype=torch.int64, device=device)
        return cls(tokens, torch.empty(0, vocab_size, device=device), torch.empty(0, dtype=torch.float64))

    def until_end(self, end_ids: frozenset[int]) -> Draft:
        """The draft up to and including its first end-of-text token."""
        ids: list[int] = self.tokens.tolist()
        for count, token in enumerate(ids, start=1):
            if token in end_ids and count < len(ids):
                return Draft(self.tokens[:count], self.q[:count], self.draws[:count])
        return self


class Proposer(Protocol):
    """Draws drafts for a text that grows."""

    def propose(self, context: list[int], draws: Tensor) -> Draft:
        """One drafted token per number in `draws` (γ,), continuing `context`."""
        ...

    def extend(self, token: Tensor) -> Tensor:
        """Read one more token (1,) and return the distribution after it, (V,)."""
        ...

    def rollback(self, length: int) -> None:
        """Forget everything after the first `length` tokens of the text."""
        ...

    def close(self) -> None: ...


class ModelProposer:
    """A draft model that samples a chain of tokens. γ forward passes a draft, the first also reads what is new."""

    def __init__(self, model: LanguageModel, sampling: Sampling, vocab_size: int) -> None:
        self._session = model.start()
        self._sampling, self._vocab_size, self._device = sampling, vocab_size, model.device

    def propose(self, context: list[int], draws: Tensor) -> Draft:
        if not len(draws):
            return Draft.empty(self._vocab_size, self._device)
        unread = torch.tensor(context[self._session.length :], device=self._device)
        rows, tokens = [], []
        for number in draws.to(self._device):
            row = self.extend(unread)
            unread = draw(row, number).unsqueeze(0)
            rows.append(row)
            tokens.append(unread)
        return Draft(torch.cat(tokens), torch.stack(rows), draws)

    def extend(self, token: Tensor) -> Tensor:
        logits = self._session.forward(token, keep=1)
        return self._sampling.probabilities(logits[:, : self._vocab_size])[0]

    def rollback(self, length: int) -> None:
        self._session.crop(min(length, self._session.length))

    def close(self) -> None:
        self._session.close()


class NoProposer:
    """Proposes nothing: every round is one target call and one token."""

    def __init__(self, vocab_size: int, device: torch.device) -> None:
        self._empty = Draft.empty(vocab_size, device)

    def propose(self, context: list[int], draws: Tensor) -> Draft:
        return self._empty

    def extend(self, token: Tensor) -> Tensor:
        raise AssertionError("nothing was proposed, so nothing can be resampled")

    def rollback(self, length: int) -> None:
        """Nothing is remembered."""

    def close(self) -> None:
        """Nothing is held."""

"""Proposing without a model, by copying.

For example, it copies what followed the last tokens at their previous occurrence.

A copy is a distribution like any other: all of it on one token. So every rule judges it as it
judges a draft model's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from hsd.draft.draft import Draft, Proposer


class CopyProposer(Proposer):
    """A proposer that drafts copied(text, most), each token with q = 1.

    These are at most `most` tokens; it needs no forward pass.
    """

    def __init__(
        self,
        copied: Callable[[Sequence[int], int], list[int]],
        vocab_size: int,
        device: torch.device,
        end_ids: frozenset[int],
    ) -> None:
        self._what = copied
        self._vocab_size = vocab_size
        self._device = device
        self._end_ids = end_ids
        self.readers = []
        self._copied = torch.empty(0, vocab_size, dtype=torch.float32, device="cpu")
        self._begin = 0
        self._length = 0

    def propose(self, text: list[int], gamma: int, draws: Tensor, coins: Tensor) -> Draft:
        ids = self._what(text, gamma) if gamma else []
        known = next((i for i, token in enumerate(ids) if token >= self._vocab_size), len(ids))
        tokens = torch.tensor(ids[:known], dtype=torch.int64, device=self._device)
        q = torch.nn.functional.one_hot(tokens, self._vocab_size).float()
        self._copied = q
        self._begin = len(text)
        return Draft.chain(tokens, q, draws[:known], coins[:known]).until_end(self._end_ids)

    def settle(self, length: int, path: Sequence[int] = ()) -> None:
        self._length = length

    def rewind(self, length: int) -> None:
        self._length = length

    def extend(self, token: Tensor) -> Tensor:
        """Return (V,): the next row of the copy, whichever token was committed."""
        self._length += 1
        return self._copied[self._length - self._begin]


def copy_last_match(text: Sequence[int], most: int, longest: int = 3) -> list[int]:
    """Return at most `most` tokens that followed the text's end where it occurred before.

    The end is the text's last `longest` tokens; their previous occurrence counts.

    If these have not occurred before, it looks for one token fewer, down to the last one alone. []
    if that is new, too.
    """
    for size in range(min(longest, len(text) - 1), 0, -1):
        tail = list(text[-size:])
        for begin in range(len(text) - size - 1, -1, -1):
            if list(text[begin : begin + size]) == tail:
                return list(text[begin + size : begin + size + most])
    return []


@dataclass(frozen=True)
class Copier:
    """A way to draft without a draft model.

    title: in menus. short: in names of benchmark cases. longest: how many of the last tokens to
    look up, see `copy_last_match`; browsers can do this, too. copies(text, most): another way to
    copy, used in place of it.
    """

    title: str
    short: str
    longest: int = 0
    copies: Callable[[Sequence[int], int], list[int]] | None = None

    def copied(self, text: Sequence[int], most: int) -> list[int]:
        """Return at most `most` tokens that continue the text."""
        return self.copies(text, most) if self.copies else copy_last_match(text, most, self.longest)


COPIERS = {"ngram": Copier("N-grams of the text", "n-grams", longest=3)}
"""All of them, by name."""

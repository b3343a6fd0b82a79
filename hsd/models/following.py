"""A text that a head reads one step behind its target, whatever computes the two."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import cast

import torch
from torch import Tensor

from hsd.models.base import View

LAYER = "midlayer."  # begins the names of the weights of a head's layer


class Following(ABC):
    """A text read one step behind a session of the target.

    Each token is read with the target's state after the token before it.

    The first `sure` columns were read with states of the target, all later ones with the head's own
    output instead. guessing: whether all further ones are, too. alone: whether no other token may
    see the first one.
    """

    sure = 0
    guessing = False
    alone = False

    @abstractmethod
    def keep(self, length: int) -> None:
        """Forget what was read from column `length` on."""

    def cut(
        self, n: int, begin: int, known: int, view: View | None, most: int = sys.maxsize
    ) -> Iterator[tuple[list[int], slice, bool]]:
        """Cut n new tokens from column `begin` into passes of at most `most` tokens.

        In none of them does a token need another's output.

        known: how many tokens the target has read. Yields for each pass the columns of the tokens
        before its own, -1 before the first; its slice of the n; and whether the states that it
        needs are the target's.
        """
        done = 0
        before = before_of(n, begin, view)
        # after a guess, everything is one
        known = 0 if self.guessing or self.sure < begin else known
        while done < n:
            rest = before[done : done + (1 if self.alone and begin + done == 0 else most)]
            sure = rest[0] < known
            end = known if sure else begin + done
            many = next((i for i, column in enumerate(rest) if column >= end), len(rest))
            yield rest[:many], slice(done, done + many), sure
            done += many
            self.sure = begin + done if sure else self.sure

    def crop(self, length: int) -> None:
        """Forget tokens from `length` on, and all that were read without the target's states."""
        self.sure = min(length, self.sure)
        self.guessing = False
        self.keep(self.sure)

    def rewind(self, length: int) -> None:
        """Forget tokens from `length` on, and guess the states from there.

        The guesses are as if the target had read nothing since the draft began.

        What a rule that resamples needs: q as this draft would have had it after the other token.
        """
        self.sure = min(length, self.sure)
        self.guessing = True
        self.keep(length)

    def select(self, columns: list[int]) -> None:
        """Keep `columns` as far as they are 0, 1, 2, … and read with the target's states.

        Others are read again.
        """
        self.crop(next((i for i, column in enumerate(columns) if i != column), len(columns)))


def spread(known: Tensor, ids: Tensor, width: int) -> Tensor:
    """Return logits (n, width) from logits `known` (n, len(ids)) of the tokens `ids`.

    All other tokens get -inf.
    """
    logits = known.new_full((len(known), width), -torch.inf)
    logits[:, ids] = known
    return logits


def before_of(n: int, begin: int, view: View | None) -> list[int]:
    """Return the column of the token before each of n new ones that start at column `begin`.

    It is -1 before the first token of the text.
    """
    if view is None:
        return list(range(begin - 1, begin + n - 1))
    seen = view.visible[:, : begin + n]
    earlier = seen.tril(begin - 1) * torch.arange(1, seen.shape[1] + 1, device="cpu")
    return cast("list[int]", (earlier.amax(1) - 1).tolist())

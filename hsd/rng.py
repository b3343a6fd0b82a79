"""One seed, three streams of random numbers.

They are for draft tokens, for coins, and for the token after the kept ones. No number is used
twice. Each round takes its numbers in a fixed amount, so that two rules started from one seed see
the same drafts and coins for as long as their texts agree. The times of an exponential race are the
opposite: they belong to a place in the text, and every pick at that place uses them: the draft's,
the target's, and the target's again in a later step.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from hsd.errors import HsdError


class Numbers(Protocol):
    """A source of float64 numbers (count,) in [0, 1) on the CPU.

    They are for draft tokens, coins, and the token after them.
    """

    def draft(self, count: int) -> Tensor: ...

    def coins(self, count: int) -> Tensor: ...

    def after(self, count: int) -> Tensor: ...

    def times(self, begin: int, count: int, vocab: int) -> Tensor | None:
        """Return exponential times (count, vocab), or None.

        There is one per token at each text position from `begin` on.
        """


class Streams:
    """Random numbers from a seed, any integer, in three independent streams.

    They are draft, coins and after. level: 0 for the target's rounds; in a stack each level below
    it has streams of its own.
    """

    def __init__(self, seed: int, level: int = 0) -> None:
        names = (
            name if level == 0 else f"{name}/{level}" for name in ("draft", "coin", "residual")
        )
        self._draft, self._coins, self._after = (_generator(seed, name) for name in names)
        self._seed = seed
        self._times: dict[int, Tensor] = {}

    def draft(self, count: int) -> Tensor:
        return torch.rand(count, generator=self._draft, dtype=torch.float64, device="cpu")

    def coins(self, count: int) -> Tensor:
        return torch.rand(count, generator=self._coins, dtype=torch.float64, device="cpu")

    def after(self, count: int) -> Tensor:
        return torch.rand(count, generator=self._after, dtype=torch.float64, device="cpu")

    def times(self, begin: int, count: int, vocab: int) -> Tensor:
        """Return exponential times (count, vocab) float64.

        They are a function of seed, text position and token alone.
        """
        known = self._times
        places = range(begin, begin + count)
        self._times = {
            place: known[place] if place in known else self._times_at(place, vocab)
            for place in places
        }
        return torch.stack([*self._times.values()])

    def _times_at(self, place: int, vocab: int) -> Tensor:
        generator = _generator(self._seed, f"race/{place}")  # a name that seeds keep
        return torch.log1p(
            -torch.rand(vocab, generator=generator, dtype=torch.float64, device="cpu")
        ).neg()


@dataclass(frozen=True)
class Dice:
    """The random numbers of one round, which drafts at most `gamma` tokens.

    draws, coins: one for each drafted token. after (1,): for the token after the kept ones. times
    (γ+1, V): of the exponential race at each place, None unless draft and target are coupled; or
    (1, V) of one that draws the token after the kept ones.
    """

    gamma: int
    draws: Tensor
    coins: Tensor
    after: Tensor
    times: Tensor | None = None


@dataclass(frozen=True)
class RoundNumbers:
    """The random numbers that one recorded step used.

    They are `draft`, `coins` and `after`, each in the order of use.
    """

    draft: Sequence[float]
    coins: Sequence[float]
    after: Sequence[float]


class RecordedNumbers:
    """Replays the random numbers of recorded steps.

    Raises HsdError where there are more steps than records. A step may request more than it came to
    use (a draft cut off at the end of the text): missing numbers are 0.5, on which nothing depends.
    """

    def __init__(self, rounds: Sequence[RoundNumbers]) -> None:
        self._rounds = iter(rounds)
        self._coins: list[float] = []
        self._after: list[float] = []

    def draft(self, count: int) -> Tensor:
        """Begin the next recorded step and return its draft numbers (count,).

        Raises HsdError after the last step.
        """
        current = next(self._rounds, None)
        if current is None:
            raise HsdError("the record has no further step: the models are not those that made it")
        self._coins = list(current.coins)
        self._after = list(current.after)
        return _take(list(current.draft), count)

    def coins(self, count: int) -> Tensor:
        return _take(self._coins, count)

    def after(self, count: int) -> Tensor:
        return _take(self._after, count)

    def times(self, begin: int, count: int, vocab: int) -> None:
        """Return None: a record has draws and coins, not times, see `hsd.decoding.coupled`."""


def _take(left: list[float], count: int) -> Tensor:
    """Remove the first `count` numbers of `left` and return them.

    Where there are too few, numbers of 0.5 follow.
    """
    taken = left[:count] + [0.5] * (count - len(left))
    del left[:count]
    return torch.tensor(taken, dtype=torch.float64, device="cpu")


def _generator(seed: int, name: str) -> torch.Generator:
    digest = hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest, "big") >> 1)

"""A stack of models: a level proposes by decoding for itself, with the level below as its own draft.

Nothing here drafts or verifies: a level is made of the rounds that decode with one draft. Asked for T tokens, it plays
rounds until it has settled T or more, and hands all of them up. Each of them is distributed as the level's own model,
corrections and bonuses included, so the level above verifies against that model's full distributions (2510.19705).
Decoding with early exits of one model works the same way: its exits are the levels (HiSpec, 2510.01336).
"""

from __future__ import annotations

import time

import torch
from torch import Tensor

from hsd.decoding.rounds.chain import ChainRound, ChainRounds
from hsd.draft import Draft, Visit
from hsd.models.reading import Rows
from hsd.rng import Numbers


class StackLevel:
    """A level below the target, as a proposer.

    rounds: it verifying what the level below proposes. threshold: how many tokens it hands up at least, unless the
    text ends; below: the length of the longest block that the level below hands up. numbers: its own random numbers.
    """

    def __init__(self, level: int, rounds: ChainRounds, threshold: int, below: int, numbers: Numbers) -> None:
        self._level, self._rounds = level, rounds
        self._threshold, self._below, self._numbers = threshold, below, numbers
        self.readers = rounds.readers

    @property
    def longest(self) -> int:
        """The length of the longest block that it hands up: one short of its threshold, and then a whole round."""
        return self._threshold + self._below

    def propose(self, context: list[int], draws: Tensor) -> Draft:
        """At most as many tokens as there are `draws`, which are not used otherwise: a block's length is not fixed."""
        room = len(draws)
        if not room:
            return Draft.empty(self._rounds.target.vocab_size, self._rounds.target.device)
        wanted = min(self._threshold, room)
        settled: list[int] = []
        visits: list[Visit] = []
        while len(settled) < wanted and not (settled and settled[-1] in self._rounds.end_ids):
            begin = time.perf_counter()
            text, gamma = [*context, *settled], min(self._below, room - len(settled) - 1)
            played = self._rounds.play(text, gamma, self._numbers, _ignore)
            seconds = time.perf_counter() - begin
            visits.append(Visit(self._level, len(text), wanted, len(settled), seconds, played.spent, played))
            settled += played.committed
        return _block(visits)

    def extend(self, token: Tensor) -> Rows:
        """Read one more token (1,) and return the distribution after it, one row."""
        return self._rounds.extend(token)

    def rollback(self, length: int) -> None:
        """Forget everything after the first `length` tokens, at all levels from here down."""
        self._rounds.rollback(length)

    def close(self) -> None:
        self._rounds.close()


def _block(visits: list[Visit]) -> Draft:
    """What a level hands up, with its full distribution for every token; see `hsd.draft.Draft`."""
    rounds = [visit.played for visit in visits]
    settled = [played.committed for played in rounds]
    device = rounds[0].p.device
    raw = [p.rows.raw[: len(tokens)] for p, tokens in zip(rounds, settled, strict=True) if p.rows.raw is not None]
    return Draft(
        torch.tensor([token for tokens in settled for token in tokens], device=device),
        torch.cat([played.p[: len(tokens)] for played, tokens in zip(rounds, settled, strict=True)]),
        torch.cat([_draws(played) for played in rounds]),
        torch.cat(raw) if raw else None,
        tuple(visits),
    )


def _draws(played: ChainRound) -> Tensor:
    """The number that drew each token that a round committed, (n,) on the CPU."""
    drawn = played.draft.draws[: played.kept]
    return drawn if played.token is None else torch.cat([drawn, played.number])


def _ignore(_: str) -> None:
    """Nobody asks what the time within a level went to: from above, all of it is drafting."""

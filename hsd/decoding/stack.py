"""A stack of models: a level decodes for itself, with the level below as its draft.

What it decodes is its proposal to the level above.

Nothing here drafts or verifies: a level is made of rounds. Asked for T tokens, it plays rounds
until it has settled T or more, and hands all of them up as a chain. Each of them is distributed as
the level's own model, corrections and bonuses included, so the level above verifies against that
model's full distributions (2510.19705). Decoding with early exits of one model works the same way:
its exits are the levels (HiSpec, 2510.01336).
"""

import time
from collections.abc import Sequence

import torch
from torch import Tensor

from hsd.decoding.rounds import Round, Rounds
from hsd.draft import Draft, Proposer, Visit
from hsd.rng import Numbers


class StackLevel(Proposer):
    """A level of a stack below the target, as a proposer for the level above.

    rounds: play its own rounds, which verify drafts of the level below. threshold: the least number
    of tokens that it hands up, unless the text ends; below: the longest block of the level below.
    numbers: its own random numbers.
    """

    def __init__(
        self, level: int, rounds: Rounds, threshold: int, below: int, numbers: Numbers
    ) -> None:
        self._level = level
        self._rounds = rounds
        self._threshold = threshold
        self._below = below
        self._numbers = numbers
        self.readers = rounds.readers

    @property
    def longest(self) -> int:
        """The largest number of tokens that this level can hand up.

        At most threshold - 1 come from earlier rounds, and below + 1 from one more round.
        """
        return self._threshold + self._below

    def propose(self, text: list[int], gamma: int, draws: Tensor, coins: Tensor) -> Draft:
        """Return a block of at most `gamma` tokens.

        `draws` are not used: a block's length is not fixed.
        """
        if not gamma:
            return Draft.empty(self._rounds.target.vocab_size, self._rounds.target.device)
        wanted = min(self._threshold, gamma)
        settled: list[int] = []
        visits: list[Visit] = []
        while len(settled) < wanted and not (settled and settled[-1] in self._rounds.end_ids):
            most = min(self._below, gamma - len(settled) - 1)
            visit = self._visit([*text, *settled], most, wanted, len(settled))
            visits.append(visit)
            settled += visit.played.committed
        return _block(visits, settled, coins)

    def _visit(self, text: list[int], gamma: int, wanted: int, held: int) -> Visit:
        """Play one round after `text`. wanted: for the level above, which has `held` of them."""
        begin = time.perf_counter()
        rounds = self._rounds
        before = rounds.target.work()
        dice = rounds.throw(self._numbers, text, gamma)
        draft = rounds.draft(text, dice)
        rows = rounds.score(text, draft)
        played = rounds.verify(draft, rows, dice)
        rounds.roll_back(len(text) + len(played.committed) - 1, played)
        seconds = time.perf_counter() - begin
        work = rounds.target.work() - before
        return Visit(self._level, len(text), wanted, held, seconds, work, played)

    def settle(self, length: int, path: Sequence[int] = ()) -> None:
        self._rounds.roll_back(length)


def _block(visits: list[Visit], settled: list[int], coins: Tensor) -> Draft:
    """Return the tokens `settled` by the rounds in `visits` as a chain.

    Each comes with the row of this level's model.
    """
    rounds: list[Round] = [visit.played for visit in visits]
    rows = [_rows(played) for played in rounds]
    return Draft.chain(
        torch.tensor(settled, device=rounds[0].rows.p.device, dtype=torch.int64),
        torch.cat([played.rows.p[at] for played, at in zip(rounds, rows, strict=True)]),
        torch.cat([_draws(played) for played in rounds]),
        coins[: len(settled)],
        logits=tuple(played.rows.logits[at] for played, at in zip(rounds, rows, strict=True)),
        visits=tuple(visits),
    )


def _rows(played: Round) -> slice | list[int]:
    """Return the indices of the target's rows that a round's tokens were drawn or verified from."""
    count = len(played.committed)
    return slice(count) if played.draft.is_chain else [0, *played.ruling.path][:count]


def _draws(played: Round) -> Tensor:
    """Return the numbers that drew the tokens that a round committed, (n,) on the CPU."""
    drawn = played.draft.draws[[node - 1 for node in played.ruling.path]]
    return drawn if played.token is None else torch.cat([drawn, played.number])

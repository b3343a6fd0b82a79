"""Rounds without a record, by the portable engine.

C computes what a rule needs of p and q, as plain numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np
import torch

from hsd.draft.stopping import Stopping, StoppingState
from hsd.engine.memory import address
from hsd.engine.sums import library
from hsd.models.reading import UNCHANGED, RowReader
from hsd.models.small.model import Text
from hsd.rng import Dice, Numbers
from hsd.rules.quick import QUICK
from hsd.sampling import COLDEST


@dataclass(frozen=True)
class RoundOutcome:
    """The result of a round: the attributes of `hsd.decoding.rounds.Round` that the loop reads."""

    drafted: int
    kept: int
    committed: list[int]
    target_calls: int = 1

    @property
    def depth(self) -> int:
        return self.drafted

    @property
    def bonus(self) -> bool:
        return self.kept == self.drafted


@dataclass
class UnrecordedRounds:
    """Plays rounds in which the last reader is the target.

    With two readers the first one drafts a chain; with one, nobody drafts.

    rule: a name in `QUICK`. stopping: when a draft is long enough; None: only by its length, at
    most `longest`. context: how many tokens both can hold. The tokens are those of
    `hsd.decoding.rounds`.
    """

    readers: Sequence[RowReader]
    end_ids: frozenset[int]
    rule: str
    stopping: Stopping | None
    longest: int
    context: float

    def __post_init__(self) -> None:
        chances = [Chances(reader, self.longest + 1) for reader in self.readers]
        self._q = chances[0]
        self._p = chances[-1]
        self._chain = StoppingState(self.stopping) if self.stopping else None

    @staticmethod
    def fits(readers: Sequence[RowReader], rule: str) -> bool:
        """Return whether the portable engine has these texts and the rule is known.

        Each text must have a row for every token.
        """
        whole = all(getattr(reader.session, "vocab", 0) == reader.vocab_size for reader in readers)
        return whole and rule in QUICK and bool(library())

    def prefill(self, text: list[int]) -> None:
        if len(text) > 1:
            self._p.read(text[:-1], 0)

    def throw(self, numbers: Numbers, text: list[int], gamma: int) -> Dice:
        gamma = max(0, min(gamma, int(self.context - len(text))))
        return Dice(gamma, numbers.draft(gamma), numbers.coins(gamma), numbers.after(1))

    def draft(self, text: list[int], dice: Dice) -> list[int]:
        """Return drafted tokens as `ModelProposer` draws them, at most one for each draw."""
        rows = self._q
        chain = self._chain
        if chain:
            chain.begin()
        tokens = list[int]()
        unread = text[self.readers[0].length :]
        for row, number in enumerate(dice.draws.tolist()):
            if chain and not chain.may_pay:
                break
            rows.read(unread, 1, row)
            if chain and not chain.pays(rows.surest(row)):
                break
            unread = [rows.pick(row, number)]
            tokens += unread
            if chain:
                chain.add(rows.share(unread[0]))
            if unread[0] in self.end_ids:
                break
        return tokens

    def score(self, text: list[int], draft: list[int]) -> None:
        """Read what was drafted by one pass of the target; its rows stay where C reads them."""
        self._p.read([*text[self.readers[-1].length :], *draft], len(draft) + 1)

    def verify(self, draft: list[int], rows: None, dice: Dice) -> RoundOutcome:
        p = [self._p.of(place, token) for place, token in enumerate(draft)]
        q = [self._q.of(place, token) for place, token in enumerate(draft)]
        masses = partial(self._p.masses, self._q)
        kept, a = QUICK[self.rule](p, q, dice.coins.tolist(), masses)
        committed = draft[:kept]
        if not kept or draft[kept - 1] not in self.end_ids:
            number = float(dice.after)
            whole = kept == len(draft)
            row = self._p
            token = row.pick(kept, number) if whole else row.pick_left(self._q, kept, a, number)
            committed.append(token)
        return RoundOutcome(len(draft), kept, committed)

    def resample(self, text: list[int], played: RoundOutcome, numbers: Numbers) -> RoundOutcome:
        return played

    def roll_back(self, length: int, played: RoundOutcome) -> None:
        for reader in self.readers:
            reader.settle(length)
        if self._chain:
            self._chain.learn(played.kept)

    def close(self) -> None:
        for reader in self.readers:
            reader.close()


class Chances:
    """A model's distributions after tokens of one text, (count, vocabulary) float32.

    They lie in memory that every step uses.

    They stay where C reads them; what comes to Python are tokens and sums.
    """

    def __init__(self, reader: RowReader, count: int) -> None:
        session = cast(Text, reader.session)
        sampling = reader.sampling
        self._reader = reader
        self._session = session
        self._sampling = sampling
        self._raw = set[int]()
        self._simple = (
            replace(sampling, temperature=1.0) == UNCHANGED and sampling.temperature >= COLDEST
        )
        # a head's stay 0 for tokens that it never drafts
        self._rows = np.zeros((count, session.vocab), np.float32)
        self._logits = (
            self._rows if session.ids is None else np.empty((count, session.width), np.float32)
        )
        self._rest = np.empty(session.vocab, np.float32)
        self._sums = np.empty(session.vocab, np.float64)
        self._p_at, self._logits_at = (
            [address(torch.from_numpy(row)) for row in rows] for rows in (self._rows, self._logits)
        )
        self._rest_at = address(torch.from_numpy(self._rest))
        self._sums_at = address(torch.from_numpy(self._sums), torch.float64)
        self._library = library()

    def read(self, tokens: Sequence[int], keep: int, first: int = 0) -> None:
        """Read `tokens` of the text.

        The logits after the last `keep` of them become rows first … first + keep - 1.
        """
        with self._reader.call(len(tokens)):
            self._session.fill(self._logits_at[first], tokens, keep)
        self._raw.update(range(first, first + keep))

    def _row(self, row: int) -> int:
        """Return the address of row number `row` of probabilities.

        The row is computed from the logits at first use.
        """
        if row in self._raw:
            self._raw.discard(row)
            if self._simple:
                self._soften(row, self._sampling.temperature, self._logits_at[row])
            else:
                logits = torch.from_numpy(self._logits[row : row + 1])
                self._logits[row] = self._sampling.probabilities(logits, exact=True)[0].numpy()
            if self._session.ids is not None:
                self._rows[row, self._session.ids] = self._logits[row]
        return self._p_at[row]

    def _soften(self, row: int, temperature: float, address: int) -> None:
        self._library["soften"](
            self._logits_at[row], self._session.width, temperature, address, self._sums_at
        )

    def of(self, row: int, token: int) -> float:
        """Return the probability of `token` in row number `row`."""
        self._row(row)
        return float(self._rows[row, token])

    def surest(self, row: int) -> float:
        """Return the probability of a row's likeliest token at temperature 1.

        Call it before `of`, `pick` and `masses`.
        """
        self._soften(row, 1.0, self._rest_at)
        return float(np.max(self._rest[: self._session.width]))

    def share(self, token: int) -> float:
        """Return a token's probability at temperature 1, in the row that `surest` last saw."""
        ids = self._session.ids
        return float(self._rest[token if ids is None else np.argmax(ids == token)])

    def pick(self, row: int, number: float) -> int:
        """Return the token that a number in [0, 1) picks from a row."""
        return int(
            self._library["pick"](self._row(row), self._session.vocab, number, self._sums_at)
        )

    def masses(self, q: "Chances", row: int, a: float) -> tuple[float, float]:
        """Return Σ max(a p - q, 0) and Σ max(q - a p, 0).

        p is row number `row` here, and q the same row of `q`.
        """
        self._library["surplus"](
            self._row(row), q._row(row), self._session.vocab, a, 1.0, self._sums_at
        )
        return float(self._sums[0]), float(self._sums[1])

    def pick_left(self, q: "Chances", row: int, a: float, number: float) -> int:
        """Return the token that a number picks from max(a p - q, 0).

        Where nothing is left it picks from p.
        """
        np.maximum(np.float32(a) * self._rows[row] - q._rows[row], 0, out=self._rest)
        place = self._rest_at if self._rest.any() else self._row(row)
        return int(self._library["pick"](place, self._session.vocab, number, self._sums_at))

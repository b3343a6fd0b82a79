"""Rounds that nobody records, by the portable engine: what a rule needs of p and q comes from C, in plain numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
import torch

from hsd.draft.stopping import Stopping, StoppingState
from hsd.models.reading import Reader
from hsd.models.small.model import Text
from hsd.models.small.sums import library
from hsd.rng import Numbers
from hsd.rules.quick import QUICK
from hsd.sampling import COLDEST


@dataclass(frozen=True)
class Outcome:
    """What came of a round: of `hsd.decoding.rounds.Round` what the loop reads, and nothing to describe."""

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


class QuickRounds:
    """Plays the rounds of a chain that the first of two readers drafts, or of no draft, for the last reader's text.

    rule: a name in `QUICK`. stopping: when a draft is long enough; None: only by its length, at most `longest`.
    context: how many tokens both can hold. The tokens are those of `hsd.decoding.rounds`.
    """

    def __init__(
        self,
        readers: Sequence[Reader],
        end_ids: frozenset[int],
        rule: str,
        stopping: Stopping | None,
        longest: int,
        context: float,
    ) -> None:
        self.readers, self._end_ids, self._decide = readers, end_ids, QUICK[rule]
        self._stopping, self._context = stopping, context
        chances = [Chances(reader, longest + 1) for reader in readers]
        self._q, self._p = chances[0], chances[-1]

    @staticmethod
    def fits(readers: Sequence[Reader], rule: str) -> bool:
        """Return whether the portable engine has these texts, with a row for every token, and the rule is known."""
        whole = all(getattr(reader.session, "vocab", 0) == reader.vocab_size for reader in readers)
        return whole and rule in QUICK and library() is not None

    def prefill(self, text: list[int]) -> None:
        """Let the target read the text but for its last token."""
        if len(text) > 1:
            self._p.read(text[:-1], 0)

    def play(self, text: list[int], gamma: int, numbers: Numbers, lap: Callable[[str], None]) -> Outcome:
        """Play one round of at most γ drafted tokens after `text`. lap(name) books the time since its last call."""
        gamma = max(0, min(gamma, int(self._context - len(text))))
        draws, coins, number = numbers.draft(gamma).tolist(), numbers.coins(gamma).tolist(), float(numbers.after(1))
        tokens = self._drafted(text, draws)
        lap("draft")
        self._p.read([*text[self.readers[-1].length :], *tokens], len(tokens) + 1)
        lap("target")
        p, q = ([rows.of(t, token) for t, token in enumerate(tokens)] for rows in (self._p, self._q))
        kept, a = self._decide(p, q, coins, partial(self._p.masses, self._q))
        committed = tokens[:kept]
        if not kept or tokens[kept - 1] not in self._end_ids:
            whole = kept == len(tokens)
            committed.append(self._p.pick(kept, number) if whole else self._p.pick_left(self._q, kept, a, number))
        lap("verify")
        for reader in self.readers:
            reader.settle(len(text) + len(committed) - 1)
        return Outcome(len(tokens), kept, committed)

    def _drafted(self, text: list[int], draws: list[float]) -> list[int]:
        """Return at most a token for each number, as `ModelProposer` draws them."""
        rows, chain, tokens = self._q, StoppingState(self._stopping) if self._stopping else None, list[int]()
        unread = text[self.readers[0].length :]
        for row, number in enumerate(draws):
            if chain and not chain.may_pay:
                break
            rows.read(unread, 1, row)
            surest = rows.surest(row) if chain else 0.0
            if chain and not chain.pays(surest):
                break
            unread = [rows.pick(row, number)]
            tokens += unread
            if chain:
                chain.add(rows.share(row, unread[0], surest))
            if unread[0] in self._end_ids:
                break
        return tokens

    def close(self) -> None:
        for reader in self.readers:
            reader.close()


class Chances:
    """A model's distributions after tokens of one text, (count, vocabulary) float32, in memory that every step uses.

    They stay where C reads them; what comes to Python are tokens and sums.
    """

    def __init__(self, reader: Reader, count: int) -> None:
        self._reader, self._session, sampling = reader, cast(Text, reader.session), reader.sampling
        self._sampling, self._temperature, session = sampling, sampling.temperature, self._session
        self._simple = sampling.top_k == 0 and sampling.top_p == 1 and sampling.temperature >= COLDEST
        self._rows = np.zeros((count, session.vocab), np.float32)  # a head's stay 0 for tokens that it never drafts
        self._logits = self._rows if session.ids is None else np.empty((count, session.width), np.float32)
        self._rest, self._sums = np.empty(session.vocab, np.float32), np.empty(session.vocab, np.float64)
        self._raw = set[int]()
        self._places = [room.ctypes.data for room in (self._rows, self._logits, self._rest, self._sums)]
        self._library = library()

    def read(self, tokens: Sequence[int], keep: int, first: int = 0) -> None:
        """Read `tokens` of the text. The logits after the last `keep` of them become rows first … first + keep - 1."""
        session = cast(Text, self._reader.session)  # of today: its calls may be timed
        self._reader.calls += 1
        session.fill(self._places[1] + 4 * self._session.width * first, tokens, keep)
        self._raw.update(range(first, first + keep))

    def _row(self, row: int) -> int:
        """Return the address of a row of probabilities, which are made when they are first wanted."""
        width, ids = self._session.width, self._session.ids
        if row in self._raw:
            self._raw.discard(row)
            place = self._places[1] + 4 * width * row
            if self._simple:
                self._library["soften"](place, width, self._temperature, place, self._places[3])
            else:
                logits = torch.from_numpy(self._logits[row : row + 1])
                self._logits[row] = self._sampling.probabilities(logits, exact=True)[0].numpy()
            if ids is not None:
                self._rows[row, ids] = self._logits[row]
        return self._places[0] + 4 * self._session.vocab * row

    def of(self, row: int, token: int) -> float:
        """Return what a row gives a token."""
        self._row(row)
        return float(self._rows[row, token])

    def surest(self, row: int) -> float:
        """Return the share of a row's likeliest token at temperature 1, before the row's probabilities are wanted."""
        width, (_, logits, *rest) = self._session.width, self._places
        self._library["soften"](logits + 4 * width * row, width, 1.0, *rest)
        return float(np.max(self._rest[:width]))

    def share(self, row: int, token: int, surest: float) -> float:
        """Return a token's probability in `row` at temperature 1. surest: the largest one of the row, see `surest`."""
        return surest * math.pow(self.of(row, token) / float(np.max(self._logits[row])), self._temperature)

    def pick(self, row: int, number: float) -> int:
        """Return the token that a number in [0, 1) picks from a row."""
        return int(self._library["pick"](self._row(row), self._session.vocab, number, self._places[3]))

    def masses(self, q: Chances, row: int, a: float) -> tuple[float, float]:
        """Return Σ max(a p - q, 0) and Σ max(q - a p, 0) over a row of this, p, and the same of q."""
        self._library["surplus"](self._row(row), q._row(row), self._session.vocab, a, 1.0, self._places[3])
        return float(self._sums[0]), float(self._sums[1])

    def pick_left(self, q: Chances, row: int, a: float, number: float) -> int:
        """Return the token that a number picks from max(a p - q, 0), or from p where nothing is left."""
        self._row(row)
        np.multiply(self._rows[row], np.float32(a), out=self._rest)
        np.subtract(self._rest, q._rows[row], out=self._rest)
        np.maximum(self._rest, 0, out=self._rest)
        if not self._rest.max() > 0:
            return self.pick(row, number)
        return int(self._library["pick"](self._places[2], self._session.vocab, number, self._places[3]))

"""The exact law of a text whose random numbers are keyed in one way or another, for "Verify".

A step can be exact on its own and the text still not be. A number derived from (seed, position)
recurs when a later step reads that position again, and if it influenced what was kept, it is no
longer uniform by then.

Models here have the same rows after every text: p and q, V numbers each. A number enters through
thresholds only, of a test or of a cumulative sum, so what is known about it is an interval, in
which it is still uniform. A state is what is known about the numbers of positions that are still to
come; enumerating every draft, test and draw of a step leads from state to state, with no sampling.
"""

from __future__ import annotations

import itertools
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, reduce
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

# so that this runs without installing the package
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hsd.audit import total_variation
from hsd.rules import RULES, Law
from hsd.rules.coupled import coupled_residual, leads

LONG_RUN = 200  # steps after which the long run must have settled
NEAR = 1e-10  # two values for the long run that are as near as this are one

Interval = tuple[float, float]
Key = tuple[str, int]  # the stream, and how many tokens after the text's end the position is
# sorted; what is not in it may still be anything in [0, 1)
State = tuple[tuple[Key, Interval], ...]
# its probability, what is then known, its tokens
Way = tuple[float, dict[Key, Interval], tuple[int, ...]]
Moves = dict[tuple[tuple[int, ...], State], float]  # what a step commits and leads to → how likely


@dataclass(frozen=True)
class Keying:
    """Which random numbers a step uses, and which of them later steps use again.

    draft, coin, after: the streams of draft noise, of coins and of the number that draws the token
    after the kept ones; equal names share one number per position. returns: the streams whose
    numbers belong to text positions, so that a later step uses them again. coupled: draft and
    correction pick by one exponential race; coins are fresh. wary: after a step whose draft ended
    with token 0, rejected, the next step drafts nothing.
    """

    draft: str = "draft"
    coin: str = "coin"
    after: str = "after"
    returns: frozenset[str] = frozenset()
    coupled: bool = False
    wary: bool = False


EMPTY = "empty"  # in place of a stream: the next step drafts nothing
STREAMS = frozenset({"draft", "coin", "after"})
ONE = ("shared", "shared", "shared")  # one number for draft noise, coin and what follows
# the rows of the table: the names say what is in the key
KEYINGS = {
    "fresh": Keying(),
    "step": Keying(),
    "position": Keying(returns=STREAMS),
    "position, coins": Keying(returns=frozenset({"coin"})),
    "position, drafts": Keying(returns=frozenset({"draft"})),
    "position, unsalted": Keying(*ONE, returns=frozenset({"shared"})),
    "step, unsalted": Keying(*ONE),
}
COUPLED = Keying(coupled=True)
WARY = Keying(returns=STREAMS | {EMPTY}, wary=True)


def coupling(first: Tensor, second: Tensor) -> Tensor:
    """Return the joint law (V, V) of the winners x by weights `first` and y by `second` of one
    exponential race.
    """
    joint = torch.zeros(len(first), len(first), dtype=torch.float64)
    for x in first.nonzero().flatten():
        joint[x] = first[x] * coupled_residual(second, first, x)
        joint[x, x] = first[x] * (
            second[x] / (second[x] + leads(second[None], first[None], x[None])[0])
        )
    return joint


class Steps:
    """Decoding steps with one rule on fixed rows p, q (V numbers each), their random numbers chosen
    by a keying.
    """

    def __init__(
        self, rule: str, keying: Keying, p: list[float], q: list[float], gamma: int
    ) -> None:
        chosen = RULES[rule]
        self.vocab = len(p)
        self.gamma = gamma
        self.keying = keying
        self.target, self._draft_row = (torch.tensor(row, dtype=torch.float64) for row in (p, q))
        self._draft_ends = _ends(self._draft_row)

        @cache
        def law(draft: tuple[int, ...]) -> tuple[Law, list[float], list[list[float]]]:
            size = len(draft)
            rows = self.target.expand(size + 1, -1), self._draft_row.expand(size, -1)
            its_law = chosen.law(*rows, torch.tensor(draft, dtype=torch.int64))
            return (
                its_law,
                its_law.threshold.tolist(),
                [_ends(its_law.next(t)) for t in range(size + 1)],
            )

        self._law = law
        self._moves: dict[State, Moves] = {}
        self._laws: dict[tuple[State, int, int], Tensor] = {}

    def moves(self, state: State) -> Moves:
        """Return the chance of each (committed tokens, next state)."""
        if state not in self._moves:
            ways: Moves = defaultdict(float)
            for weight, known, committed in self._outcomes(dict(state)):
                kept = (
                    ((s, at - len(committed)), known[s, at])
                    for s, at in known
                    if s in self.keying.returns
                )
                ways[committed, tuple(sorted(one for one in kept if one[0][1] >= 0))] += weight
            self._moves[state] = dict(ways)
        return self._moves[state]

    def _coupled(self) -> Iterator[Way]:
        """Yield ways of a step as `_outcomes` does, where one race picks a drafted token and its
        correction.
        """
        row = self._draft_row
        for draft in itertools.product(row.nonzero().flatten().tolist(), repeat=self.gamma):
            law = self._law(draft)[0]
            weight = float(row[[*draft]].prod())
            for kept, stop in enumerate(law.stop.tolist()):
                following = law.next(kept)
                if kept < self.gamma and stop:
                    following = coupling(row, following)[draft[kept]] / row[draft[kept]]
                for token, share in enumerate(following.tolist()):
                    yield weight * stop * share, {}, (*draft[:kept], token)

    def _outcomes(self, known: dict[Key, Interval]) -> Iterator[Way]:
        """Yield the probability of each way a step can go, what is then known of the numbers, and
        what it commits.
        """
        if self.keying.coupled:
            yield from self._coupled()
            return
        size = self.gamma if known.pop((EMPTY, 0), None) is None else 0
        for weight, after, draft in self._drafts(1.0, known, (), size):
            law, thresholds, ends = self._law(draft)
            for share, tested, kept in self._tests(law, thresholds, after):
                for part, drawn, token in _draw(tested, (self.keying.after, kept), ends[kept]):
                    if self.keying.wary and draft[kept:][-1:] == (0,):
                        drawn = {**drawn, (EMPTY, kept + 1): (0.0, 1.0)}
                    yield weight * share * part, drawn, (*draft[:kept], token)

    def _drafts(
        self, weight: float, known: dict[Key, Interval], draft: tuple[int, ...], size: int
    ) -> Iterator[Way]:
        if len(draft) == size:
            yield weight, known, draft
            return
        for part, drawn, token in _draw(known, (self.keying.draft, len(draft)), self._draft_ends):
            yield from self._drafts(weight * part, drawn, (*draft, token), size)

    def _tests(
        self, law: Law, thresholds: list[float], known: dict[Key, Interval]
    ) -> Iterator[tuple[float, dict[Key, Interval], int]]:
        """Test a draft; yield (probability, what is then known, number kept) for each way that the
        coins can fall.
        """
        weight = 1.0
        for position in law.order():
            ends = [thresholds[position - 1], 1.0]
            ways = {
                way: (part, then)
                for part, then, way in _draw(known, (self.keying.coin, position - 1), ends)
            }
            # way 0: below the threshold, the test succeeds
            decides, goes_on = (1, 0) if law.forward else (0, 1)
            if decides in ways:
                yield (
                    weight * ways[decides][0],
                    ways[decides][1],
                    position - 1 if law.forward else position,
                )
            if goes_on not in ways:
                return
            weight = weight * ways[goes_on][0]
            known = ways[goes_on][1]
        yield weight, known, len(thresholds) if law.forward else 0

    def law(self, tokens: int, steps: int, state: State = ()) -> Tensor:
        """Return the law of the next `tokens` tokens, (V,) * tokens.

        Of `steps` steps, and then of the target alone.
        """
        if (state, tokens, steps) not in self._laws:
            output = torch.zeros((self.vocab,) * tokens, dtype=torch.float64)
            if steps == 0 or tokens == 0:
                output = target_alone(self.target, tokens)
            else:
                for (committed, then), weight in self.moves(state).items():
                    rest = max(tokens - len(committed), 0)
                    output[committed[:tokens]] += weight * self.law(
                        rest, min(steps - 1, rest), then
                    )
            self._laws[state, tokens, steps] = output
        return self._laws[state, tokens, steps]

    def tokens_per_step(self) -> tuple[list[float], float]:
        """Return the expected numbers of tokens of the first three steps, and of a step in the long
        run.
        """
        states: dict[State, float] = {(): 1.0}
        means: list[float] = []
        while len(means) < LONG_RUN and not (len(means) > 3 and abs(means[-1] - means[-2]) < NEAR):
            then: dict[State, float] = defaultdict(float)
            means.append(0.0)
            for state, weight in states.items():
                for (committed, after), share in self.moves(state).items():
                    means[-1] += weight * share * len(committed)
                    then[after] += weight * share
            states = dict(then)
        return means[:3], means[-1]


def _ends(row: Tensor) -> list[float]:
    """Return where each token's part of [0, 1) ends; the last end is 1, whatever was rounded."""
    ends = row.cumsum(0)
    return [1.0 if x >= float(ends[-1]) else x for x in ends.tolist()]


def _draw(
    known: dict[Key, Interval], key: Key, ends: list[float]
) -> Iterator[tuple[float, dict[Key, Interval], int]]:
    """Yield the parts of [0, 1) that a number may lie in: probability, what is then known, and
    which part.
    """
    low, high = known.get(key, (0.0, 1.0))
    begin = 0.0
    for part, end in enumerate(ends):
        a = max(low, begin)
        b = min(high, end)
        if b - a > 1e-13:
            # Rounded, so that states reached in two ways count as one.
            yield (b - a) / (high - low), {**known, key: (round(a, 13), round(b, 13))}, part
        begin = max(begin, end)


def target_alone(row: Tensor, tokens: int) -> Tensor:
    """Return the law of `tokens` independent tokens from `row` (V,), (V,) * tokens."""
    return reduce(
        lambda law, _: law.unsqueeze(-1) * row, range(tokens), torch.ones((), dtype=torch.float64)
    )


def exact_law(
    rule: str, keying: Keying, p: list[float], q: list[float], gamma: int, tokens: int
) -> dict[str, Any]:
    """Return, exactly, what a keying does to a rule's output on fixed rows p, q (V,).

    The result: "first_step" and "text", the total variation of the first `tokens` tokens from the
    target's law, where one step is taken and the target continues alone and where only steps are
    taken; "long_run", the tokens per step in the long run.
    """
    steps = Steps(rule, keying, p, q, gamma)
    target = target_alone(steps.target, tokens)
    return {
        "first_step": total_variation(steps.law(tokens, 1), target),
        "text": total_variation(steps.law(tokens, tokens), target),
        "long_run": steps.tokens_per_step()[1],
    }

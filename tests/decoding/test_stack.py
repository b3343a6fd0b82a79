"""Stacks of models are lossless, by enumeration: every number that a step could draw is followed to
its end.

The system that decodes is the one that is enumerated. In place of random numbers it gets a source
that decides what each draw comes to, and is run again and again until every outcome has been
followed, each with its probability.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import product

import pytest
import torch
from loops import for_each
from table_models import TableModel
from torch import Tensor

from hsd import HsdError
from hsd.decoding.rounds import Rounds
from hsd.decoding.stack import StackLevel
from hsd.draft import ModelProposer
from hsd.models.reading import RowReader
from hsd.rules import RULES, Law, Rule
from hsd.sampling import Sampling

pytestmark = pytest.mark.long

Path = tuple[int, ...]
VOCABULARY = 3
CONTEXT = [0]


@dataclass
class Fork:
    """A point at which several things may happen: their probabilities, and the one that is followed
    now.
    """

    weights: list[float]
    chosen: int = 0


@dataclass
class Forks:
    """All outcomes of a program, one run at a time: `choose` answers as the current run wants."""

    taken: list[Fork] = field(default_factory=list)
    depth: int = 0

    def choose(self, weights: list[float]) -> int:
        if self.depth == len(self.taken):
            self.taken.append(
                Fork(weights, next(i for i, weight in enumerate(weights) if weight > 0))
            )
        fork = self.taken[self.depth]
        self.depth += 1
        return fork.chosen

    @property
    def weight(self) -> float:
        result = 1.0
        for fork in self.taken[: self.depth]:
            result *= fork.weights[fork.chosen]
        return result

    def advance(self) -> bool:
        """Go to the next run; False when all have been made."""
        del self.taken[self.depth :]
        self.depth = 0
        while self.taken:
            fork = self.taken[-1]
            later = [i for i in range(fork.chosen + 1, len(fork.weights)) if fork.weights[i] > 0]
            if later:
                fork.chosen = later[0]
                return True
            self.taken.pop()
        return False


class Unused:
    """Numbers that nothing may depend on: what they decide is decided by `Forks`."""

    def draft(self, count: int) -> Tensor:
        return torch.zeros(count, dtype=torch.float64)

    coins = after = draft


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> Forks:
    """Every draw of a token and every verdict of a rule asks here."""
    made = Forks()

    def draw(row: Tensor, number: Tensor) -> Tensor:
        return torch.tensor(made.choose(row.tolist()))

    monkeypatch.setattr("hsd.draft.model.draw", draw)
    monkeypatch.setattr("hsd.decoding.rounds.draw", draw)
    monkeypatch.setattr(
        Law, "kept", lambda law, coins: torch.tensor(made.choose(law.stop.tolist()))
    )
    return made


def models(seed: int, count: int = 3) -> list[TableModel]:
    """Models that look two tokens back, each a little like the next."""
    generator = torch.Generator().manual_seed(seed)
    logits = 1.2 * torch.randn(VOCABULARY**2, VOCABULARY, generator=generator, dtype=torch.float64)
    tables = [logits]
    for _ in range(count - 1):
        tables.append(
            tables[-1] + 1.5 * torch.randn(logits.shape, generator=generator, dtype=torch.float64)
        )
    return [TableModel(table.softmax(-1), f"table {i}") for i, table in enumerate(reversed(tables))]


class Exactly(Sampling):
    """Sampling at temperature 1 in float64; float32 would end at 1e-7."""

    def probabilities(self, logits: Tensor, exact: bool = False) -> Tensor:
        return logits.softmax(-1)


def reader(model: TableModel) -> RowReader:
    return RowReader(model.start(), model.device, Exactly(), VOCABULARY)


def one_step(
    stack: list[TableModel], rules: list[Rule], thresholds: list[int], room: int
) -> tuple[Path, int]:
    """Play one step of the target; its committed tokens, and how many of the block it was handed it
    kept.
    """
    proposer = ModelProposer(reader(stack[0]), frozenset())
    longest = thresholds[0]
    for level in range(1, len(stack) - 1):
        rounds = Rounds(reader(stack[level]), frozenset(), rules[level - 1], proposer)
        proposer = StackLevel(level, rounds, thresholds[level], longest, Unused())  # type: ignore[assignment]
        longest = proposer.longest  # type: ignore[attr-defined]
    target = Rounds(reader(stack[-1]), frozenset(), rules[-1], proposer)
    text = list(CONTEXT)
    dice = target.throw(Unused(), text, min(longest, room))
    draft = target.draft(text, dice)
    played = target.verify(draft, target.score(text, draft), dice)
    return tuple(played.committed), played.kept


def enumerate_step(
    forks: Forks,
    stack: list[TableModel],
    rules: list[Rule],
    thresholds: list[int],
    room: int,
    length: int,
) -> tuple[dict[Path, float], float]:
    """The law of the first `length` tokens when the target goes on by itself after the step, and
    E[kept].
    """
    law: dict[Path, float] = defaultdict(float)
    kept_in_all = 0.0
    total = 0.0
    more = True
    while more:
        committed, kept = one_step(stack, rules, thresholds, room)
        weight = forks.weight
        kept_in_all = kept_in_all + weight * kept
        total = total + weight
        for path, share in continued(stack[-1], committed, length):
            law[path] += weight * share
        more = forks.advance()
    assert total == pytest.approx(1, abs=1e-12)
    return law, kept_in_all


def continued(model: TableModel, path: Path, length: int) -> list[tuple[Path, float]]:
    """`path`, cut at `length` or continued to it by the model, with probabilities."""
    if len(path) >= length:
        return [(path[:length], 1.0)]
    row = model.table[model.row_index([*CONTEXT, *path])].tolist()
    return [
        (longer, share * rest)
        for token, share in enumerate(row)
        for longer, rest in continued(model, (*path, token), length)
    ]


def distance(law: dict[Path, float], model: TableModel, length: int) -> float:
    """Total variation from the model's own law."""
    truth = dict(continued(model, (), length))
    return (
        sum(
            abs(law.get(path, 0.0) - truth[path])
            for path in product(range(VOCABULARY), repeat=length)
        )
        / 2
    )


PAIRS_OF_RULES = list(product(("tokenwise", "blockwise", "hsd"), repeat=2))


@for_each("names, seed", [(names, i % 3) for i, names in enumerate(PAIRS_OF_RULES)])
def test_three_models_with_one_of_three_rules_at_either_level_are_lossless(
    forks: Forks, names: tuple[str, str], seed: int
):
    stack = models(seed)
    rules = [RULES[name] for name in names]
    law, kept = enumerate_step(forks, stack, rules, [1, 2], room=3, length=4)
    assert distance(law, stack[-1], 4) < 1e-12
    assert kept > 0.3


def test_with_two_drafted_tokens_at_each_level_the_stack_is_lossless(forks: Forks):
    stack = models(3)
    rules = [RULES["hsd"], RULES["hsd"]]
    law, _ = enumerate_step(forks, stack, rules, [2, 2], room=3, length=4)
    assert distance(law, stack[-1], 4) < 1e-12


def test_four_models_are_lossless(forks: Forks):
    stack = models(4, count=4)
    rules = [RULES["tokenwise"], RULES["hsd"], RULES["blockwise"]]
    law, _ = enumerate_step(forks, stack, rules, [1, 1, 1], room=2, length=3)
    assert distance(law, stack[-1], 3) < 1e-12


def test_a_level_that_stops_early_for_want_of_room_is_lossless(forks: Forks):
    stack = models(5)
    rules = [RULES["hsd"], RULES["hsd"]]
    for room in (1, 2):
        law, _ = enumerate_step(forks, stack, rules, [2, 4], room=room, length=room + 1)
        assert distance(law, stack[-1], room + 1) < 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_hsd_at_both_levels_keeps_more_than_token_wise(forks: Forks, seed: int):
    kept = {}
    for name in ("tokenwise", "hsd"):
        rules = [RULES[name], RULES[name]]
        _, kept[name] = enumerate_step(forks, models(seed), rules, [2, 2], room=3, length=1)
    assert kept["hsd"] > kept["tokenwise"] + 0.01


def test_a_lossy_rule_below_the_target_is_seen(forks: Forks):
    stack = models(0)
    rules = [RULES["hsd-released"], RULES["hsd"]]
    law, _ = enumerate_step(forks, stack, rules, [2, 2], room=4, length=4)
    assert distance(law, stack[-1], 4) > 1e-3


def test_such_rules_are_refused_below_the_target():
    from hsd import RunOptions

    for name in ("hsd-released", "naive-hsd", "fuzzy"):
        with pytest.raises(HsdError, match="cannot verify below the target"):
            RunOptions(system="stack", level_rules=(name,))

"""The planner of model stacks: worked inputs, brute force over all stacks, and simulations of the
process itself.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from bisect import bisect_right
from collections.abc import Iterator
from importlib import import_module
from itertools import accumulate
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from loops import for_each
from table_models import TableModel, TableSession, table_pair
from torch import Tensor

import hsd
from hsd import planner
from hsd.cli import main
from hsd.decoding.options import MAX_LEVELS, MAX_ROUNDS
from hsd.errors import HsdError
from hsd.models import View
from hsd.planner import Models
from hsd.planner.bounds import LowerBounds
from hsd.planner.inputs import MOST_MODELS, MOST_ROUNDS
from hsd.planner.measure import measure_stack
from hsd.planner.renewal import block_requests, draft_alone, per_token, select_offers
from hsd.sampling import Sampling

# Costs, acceptances, the best stack and its thresholds, its latency, and the latency of the best
# single draft.
WORKED = {
    "the second model is skipped": (
        "1,4,12,60",
        "0.80,0.72,0.62;0.85,0.75;0.90",
        (0, 2, 3),
        (5, 9),
        16.9,
        24.2,
    ),
    "one draft is best": (
        "1,15,30,60",
        "0.82,0.80,0.78;0.90,0.84;0.88",
        (0, 3),
        (11,),
        16.45,
        16.45,
    ),
    "all models": (
        ".2,2,10,60",
        "0.65,0.60,0.55;0.85,0.78;0.92",
        (0, 1, 2, 3),
        (3, 6, 12),
        12.6,
        18.7,
    ),
}


def read(costs: str, acceptance: str) -> Models:
    return Models(planner.read_numbers(costs), planner.read_acceptance(acceptance))


def random_laws(
    generator: np.random.Generator, count: int, contexts: int = 16, vocab: int = 6
) -> np.ndarray:
    """(count, contexts, vocab) next-token distributions, ever more like the last one."""
    laws = generator.dirichlet(np.full(vocab, 0.4), size=(count, contexts))
    away = np.append(np.sort(generator.uniform(0.05, 0.8, count - 1))[::-1], 0.0)[:, None, None]
    return away * laws + (1 - away) * laws[-1]


def random_models(seed: int, count: int, per_token: bool = False) -> Models:
    """Models whose acceptances come from distributions, so that they are possible; some cost
    nothing.
    """
    generator = np.random.default_rng(seed)
    laws = random_laws(generator, count)
    costs = np.sort(10 ** generator.uniform(-1, 2, count))
    costs *= np.append(generator.random(count - 1) > 0.1, 1)
    further = tuple((costs * generator.uniform(0, 0.2, count)).tolist()) if per_token else ()
    return Models(tuple(costs.tolist()), acceptances(laws), further)


def acceptances(laws: np.ndarray) -> tuple[tuple[float, ...], ...]:
    kept = np.minimum(laws[:, None], laws[None]).sum(-1).mean(-1)
    return tuple(tuple(kept[i, i + 1 :].tolist()) for i in range(len(laws) - 1))


def stacks(models: Models) -> Iterator[tuple[int, ...]]:
    """All stacks; plain decoding first."""
    for size in range(models.target + 1):
        for drafts in itertools.combinations(range(models.target), size):
            yield (*drafts, models.target)


def every_plan(models: Models, longest: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    for stack in stacks(models):
        for thresholds in itertools.product(range(1, longest + 1), repeat=len(stack) - 1):
            yield stack, thresholds


# Written from the definitions, without arrays: what the planner's passes are compared with.


def plain_mu(a: float, n: int) -> float:
    return n + 1 if a == 1 else (1 - a ** (n + 1)) / (1 - a)


def plain_cost(models: Models, model: int, drafts: float) -> float:
    """A pass reads one token more than it verifies; the first one is in the cost of the call."""
    return models.costs[model] + drafts * (models.per_token[model] if models.per_token else 0)


def plain_yield(a: float, n: int, k: int) -> float:
    return a**n if k == n + 1 else a ** (k - 1) * (1 - a) if 1 <= k <= n else 0.0


def plain_exact(models: Models, stack: tuple[int, ...], thresholds: tuple[int, ...]) -> float:
    """Cost per token, each level by following every number of tokens that it may hold."""
    if len(stack) == 1:
        return models.costs[-1]
    cost = thresholds[0] * models.costs[stack[0]]
    law = {thresholds[0]: 1.0}
    for below, model, threshold in zip(stack, stack[1:-1], thresholds[1:], strict=False):
        a = models.kept(below, model)
        verifying = plain_cost(models, model, sum(n * chance for n, chance in law.items()))
        gained = {
            k: sum(p * plain_yield(a, n, k) for n, p in law.items()) for k in range(1, max(law) + 2)
        }
        rounds = 0.0
        done = dict[int, float]()
        holding = {0: 1.0}
        while holding:
            held = min(holding)
            chance = holding.pop(held)
            if held >= threshold:
                done[held] = chance
                continue
            rounds += chance
            for k, p in gained.items():
                holding[held + k] = holding.get(held + k, 0.0) + chance * p
        cost = rounds * (verifying + cost)
        law = done
    below = stack[-2]
    kept = sum(p * plain_mu(models.kept(below, models.target), n) for n, p in law.items())
    return (plain_cost(models, models.target, sum(n * p for n, p in law.items())) + cost) / kept


def plain_fluid(models: Models, stack: tuple[int, ...], thresholds: tuple[int, ...]) -> float:
    cost = models.costs[stack[0]]
    for below, model, t in zip(stack, stack[1:], thresholds, strict=False):
        cost = (plain_cost(models, model, t) + t * cost) / plain_mu(models.kept(below, model), t)
    return cost


# The worked inputs


@pytest.mark.parametrize("name", WORKED)
def test_worked_inputs(name: str):
    costs, acceptance, stack, thresholds, latency, single = WORKED[name]
    found = planner.plan(read(costs, acceptance))
    assert (found.best.models, found.best.thresholds) == (stack, thresholds)
    assert found.best.latency == pytest.approx(latency, abs=0.05)
    assert found.single.latency == pytest.approx(single, abs=0.05)
    assert found.plain == planner.Stack((3,), (), 60.0)
    assert found.bound == found.best.latency
    fluid = planner.shortest_path(read(costs, acceptance))[-1]
    assert fluid <= found.best.latency <= 1.02 * fluid


def test_a_single_draft_is_the_known_formula():
    """Leviathan et al., theorem 3.8: (γ c + C) (1 - a) / (1 - a^{γ+1}) per token."""
    models = read("2,50", "0.7")
    for gamma in (1, 3, 8):
        expected = (gamma * 2 + 50) * (1 - 0.7) / (1 - 0.7 ** (gamma + 1))
        assert planner.latency(models, (0, 1), (gamma,)) == pytest.approx(expected, rel=1e-12)
        assert plain_fluid(models, (0, 1), (gamma,)) == pytest.approx(expected, rel=1e-12)


def test_no_draft_where_drafts_cost_too_much():
    found = planner.plan(read("50,55,60", "0.5,0.5;0.6"))
    assert found.best == found.plain == planner.Stack((2,), (), 60.0)
    assert found.single.latency > 60


def test_drafts_that_cost_nothing():
    found = planner.plan(read("0,0,60", "0.8,0.7;0.85"))
    assert found.best.latency == pytest.approx(60 * (1 - 0.85), rel=0.01)
    assert all(
        math.isfinite(level.passes)
        for level in planner.levels(read("0,0,60", "0.8,0.7;0.85"), (0, 1, 2), (2, 3))
    )


def test_a_draft_that_never_agrees_or_always_does():
    assert planner.plan(read("1,60", "0")).best.models == (1,)
    best = planner.plan(read("0,60", "1"), longest=9).best
    assert (best.thresholds, best.latency) == ((9,), 6.0)


# Brute force


@for_each("seed", range(20))
def test_the_shortest_path_agrees_with_brute_force(seed: int):
    models = random_models(seed, 2 + seed % 3, per_token=seed % 2 == 1)
    longest = 6 if models.target == 3 else 12
    best = min(plain_fluid(models, *one) for one in every_plan(models, longest))
    assert planner.shortest_path(models, longest)[-1] == pytest.approx(best, rel=1e-12)


@for_each("seed", range(20))
def test_the_plan_agrees_with_brute_force(seed: int):
    models = random_models(seed, 2 + seed % 3, per_token=seed % 2 == 1)
    longest = {1: 12, 2: 8, 3: 4}[models.target]
    found = planner.plan(models, longest)
    exact = {one: plain_exact(models, *one) for one in every_plan(models, longest)}
    assert found.best.latency == pytest.approx(min(exact.values()), rel=1e-12)
    assert exact[found.best.models, found.best.thresholds] == pytest.approx(
        found.best.latency, rel=1e-12
    )
    singles = [cost for (stack, _), cost in exact.items() if len(stack) == 2]
    assert found.single.latency == pytest.approx(min(singles), rel=1e-12)
    assert found.bound == found.best.latency


def similar_models(seed: int, count: int, ratio: float = 4.0, spread: float = 0.3) -> Models:
    """Models on a line, each `ratio` times as dear as the one before: long blocks and deep stacks
    pay.
    """
    at = np.sort(np.random.default_rng(seed).random(count))
    rows = tuple(
        tuple(float(1 - spread * (at[j] - at[i])) for j in range(i + 1, count))
        for i in range(count - 1)
    )
    return Models(tuple(float(c) for c in ratio ** np.arange(count)), rows)


def few_rounds(seed: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Models, int, dict[Any, float]]:
    """Models, the longest threshold, and all that a run allows, where it allows so few rounds that
    much is refused.
    """
    count = 3 + seed % 3
    allowed = 2 + seed % 11
    longest = {3: 5, 4: 4, 5: 3}[count]
    models = (
        similar_models(seed, count, 1.5 + seed % 5)
        if seed % 4 > 1
        else random_models(seed, count, seed % 8 == 0)
    )
    monkeypatch.setattr("hsd.planner.bounds.MOST_ROUNDS", allowed)
    monkeypatch.setattr("hsd.planner.bounds.HALVINGS", (allowed - 1).bit_length())
    ways = [one for one in every_plan(models, longest) if math.prod(one[1][1:]) <= allowed]
    return models, longest, {one: plain_exact(models, *one) for one in ways}


@for_each("seed", range(20))
def test_the_plan_is_the_best_of_those_that_a_run_allows(
    seed: int, monkeypatch: pytest.MonkeyPatch
):
    models, longest, exact = few_rounds(seed, monkeypatch)
    found = planner.plan(models, longest)
    assert found.best.latency == pytest.approx(min(exact.values()), rel=1e-12)
    assert exact[found.best.models, found.best.thresholds] == pytest.approx(
        found.best.latency, rel=1e-12
    )
    everything = tuple(range(models.target + 1))
    least = min(cost for (stack, _), cost in exact.items() if stack == everything)
    assert planner.best_of(models, everything, longest).latency == pytest.approx(least, rel=1e-12)


@for_each("seed", range(20))
def test_no_completion_of_a_stack_is_better_than_was_promised(
    seed: int, monkeypatch: pytest.MonkeyPatch
):
    models, longest, exact = few_rounds(seed, monkeypatch)
    least: dict[Any, float] = {}
    for (stack, thresholds), cost in exact.items():
        for k in range(1, len(thresholds) + 1):
            part = stack[: k + 1], thresholds[:k]
            least[part] = min(cost, least.get(part, math.inf))
    bounds = LowerBounds(
        models, longest, {m: range(m + 1, models.target + 1) for m in range(models.target)}
    )
    todo = [draft_alone(models, model, longest) for model in range(models.target)]
    for lower in todo:
        for model in range(lower.model + 1, models.target + 1):
            promised = bounds.of(lower, model, per_token(models, lower, model))
            for thresholds, promise in zip(lower.thresholds.tolist(), promised, strict=True):
                best = least.pop(((*lower.stack, model), tuple(thresholds)), math.inf)
                assert promise <= best * (1 + 1e-12)
            if model < models.target:
                places, choices = np.divmod(np.arange(len(promised) * longest), longest)
                todo.append(
                    select_offers(
                        block_requests(models, lower, model, longest), places, choices + 1
                    )
                )
    assert not least


@for_each("seed", range(12))
def test_no_way_that_is_left_out_leads_to_a_better_plan(seed: int, monkeypatch: pytest.MonkeyPatch):
    models = similar_models(seed, 4, 2.0) if seed % 2 else random_models(seed, 4)
    found = planner.plan(models, 12)
    with monkeypatch.context() as patch:
        patch.setattr(LowerBounds, "of", lambda _, lower, model, costs: np.zeros(len(costs)))
        patch.setattr(
            LowerBounds, "of_requests", lambda _, requests, uppers: np.zeros(requests.costs.shape)
        )
        everything = planner.plan(models, 12)
    assert found.bound == found.best.latency
    assert found.best.latency == pytest.approx(everything.best.latency, rel=1e-12)


@for_each("seed", range(8))
def test_longer_blocks_to_choose_from_never_make_a_plan_worse(seed: int):
    models = similar_models(seed, 5, 2.0 + seed % 3) if seed % 2 else random_models(seed, 5)
    bests = [planner.plan(models, longest).best.latency for longest in (1, 2, 3, 5, 8, 13, 21, 32)]
    assert all(more <= less * (1 + 1e-12) for less, more in itertools.pairwise(bests))


def test_where_too_many_ways_promise_something_the_bound_is_still_one():
    gaps = []
    for models in [similar_models(seed, 5) for seed in range(6)]:
        best = planner.plan(models).best.latency
        narrow = planner.plan(models, beam=1, most=2)
        first = planner.plan(models, beam=1, most=1).best.latency
        assert narrow.bound <= best <= narrow.best.latency * (1 + 1e-12)
        assert narrow.best.latency <= first
        gaps.append(narrow.best.latency / narrow.bound - 1)
    assert 0 < max(gaps) < 0.3


@for_each("seed", range(20))
def test_levels_are_consistent(seed: int):
    models = random_models(seed, 5)
    drafts = (0, 2, 3)
    top = models.target
    *lower, target = planner.levels(models, (*drafts, top), (3, 4, 7))
    for lower_level, level in itertools.pairwise(lower):
        assert math.fsum(level.lengths) == pytest.approx(1)
        assert not any(level.lengths[: level.threshold])
        assert level.cost == pytest.approx(
            level.passes * (models.costs[level.model] + lower_level.cost)
        )
    assert target.cost / target.tokens == planner.latency(models, (*drafts, top), (3, 4, 7))
    assert target.cost / target.tokens == pytest.approx(
        plain_exact(models, (*drafts, top), (3, 4, 7)), rel=1e-12
    )


# Simulations


class Process:
    """A stack that runs: who asks whom, until when, and what it costs. Tokens come from `draft` and
    `verify`.
    """

    def __init__(
        self, models: Models, stack: tuple[int, ...], thresholds: tuple[int, ...], tokens: Any
    ) -> None:
        self.models = models
        self.stack = stack
        self.thresholds = thresholds
        self.tokens = tokens
        self.cost = 0.0

    def ask(self, level: int) -> list[int]:
        """A request to one level: tokens until it holds its threshold of them."""
        block: list[int] = []
        while len(block) < self.thresholds[level]:
            block += self.round(level)
        return block

    def round(self, level: int) -> list[int]:
        """One forward pass of a level, and what it needs from below."""
        model = self.stack[level]
        if level == 0:
            self.cost += self.models.costs[model]
            return [self.tokens.draft(model)]
        drafts = self.ask(level - 1)
        self.cost += plain_cost(self.models, model, len(drafts))
        return self.tokens.verify(self.stack[level - 1], model, drafts)


class Tokens:
    """Tokens without content: each is kept by its coin alone, as the planner supposes."""

    def __init__(self, models: Models, seed: int) -> None:
        self.models = models
        self.coin = random.Random(seed).random

    def draft(self, model: int) -> int:
        return 0

    def verify(self, lower: int, upper: int, drafts: list[int]) -> list[int]:
        a = self.models.kept(lower, upper)
        kept = 0
        while kept < len(drafts) and self.coin() < a:
            kept += 1
        return [0] * (kept + 1)


class RealTokens:
    """Tokens of models that ignore the context, (K + 1, V) laws, by the token-wise rule."""

    def __init__(self, laws: np.ndarray, seed: int) -> None:
        self.laws = laws.tolist()
        self.coin = random.Random(seed).random

    def draft(self, model: int) -> int:
        return self.draw(self.laws[model])

    def verify(self, lower: int, upper: int, drafts: list[int]) -> list[int]:
        p = self.laws[upper]
        q = self.laws[lower]
        for kept, token in enumerate(drafts):
            if self.coin() * q[token] >= p[token]:
                return [
                    *drafts[:kept],
                    self.draw([max(x - y, 0.0) for x, y in zip(p, q, strict=True)]),
                ]
        return [*drafts, self.draw(p)]

    def draw(self, weights: list[float]) -> int:
        sums = list(accumulate(weights))
        return min(bisect_right(sums, self.coin() * sums[-1]), len(sums) - 1)


def simulated(process: Process, rounds: int) -> tuple[float, list[int]]:
    """Cost per committed token, and the committed tokens."""
    text = [token for _ in range(rounds) for token in process.round(len(process.stack) - 1)]
    return process.cost / len(text), text


STACKS = [
    ((3,), ()),
    ((1, 3), (5,)),
    ((0, 2, 3), (4, 6)),
    ((0, 1, 2, 3), (2, 5, 8)),
    ((0, 1, 3), (9, 3)),
]


@pytest.mark.parametrize(("stack", "thresholds"), STACKS)
@pytest.mark.parametrize("per_token", [(), (0.0, 0.5, 1.0, 3.0)], ids=["one cost", "cost by width"])
def test_the_exact_latency_is_that_of_a_simulation(stack, thresholds, per_token):
    models = Models((1, 4, 12, 60), ((0.80, 0.72, 0.62), (0.85, 0.75), (0.90,)), per_token)
    process = Process(models, stack, thresholds, Tokens(models, seed=1))
    if len(stack) == 1:
        assert planner.latency(models, stack, thresholds) == 60
        return
    cost, _ = simulated(process, 40_000)
    assert planner.latency(models, stack, thresholds) == pytest.approx(cost, rel=0.01)


@for_each("seed", range(4))
def test_a_single_draft_of_real_tokens_costs_that(seed: int):
    laws = random_laws(np.random.default_rng(seed), 2, contexts=1, vocab=8)
    models = Models((1, 60), acceptances(laws))
    cost, text = simulated(Process(models, (0, 1), (5,), RealTokens(laws[:, 0], seed)), 30_000)
    assert planner.latency(models, (0, 1), (5,)) == pytest.approx(cost, rel=0.01)
    assert_follows(text, laws[-1, 0])


@pytest.mark.parametrize(
    ("seed", "thresholds"),
    [(0, (3, 5)), (1, (9, 3)), pytest.param(2, (2, 8), marks=pytest.mark.slow)],
)
def test_real_tokens_in_a_stack_cost_what_their_kinds_say(seed: int, thresholds: tuple[int, int]):
    laws = random_laws(np.random.default_rng(seed), 3, contexts=1, vocab=8)
    models = Models((1, 8, 60), acceptances(laws))
    cost, text = simulated(
        Process(models, (0, 1, 2), thresholds, RealTokens(laws[:, 0], seed)), 30_000
    )
    assert by_kind(models, laws[:, 0], thresholds) == pytest.approx(cost, rel=0.01)
    assert_follows(text, laws[-1, 0])


def test_at_the_best_thresholds_independence_is_nearly_true():
    off = []
    for seed in range(60):
        laws = random_laws(np.random.default_rng(seed), 3, contexts=1)
        models = Models((1, 8, 60), acceptances(laws))
        best = planner.plan(models).best
        if len(best.models) == 3:
            off.append(abs(by_kind(models, laws[:, 0], best.thresholds) / best.latency - 1))
    assert len(off) > 20
    assert max(off) < 0.025
    assert float(np.median(off)) < 0.003


def by_kind(models: Models, laws: np.ndarray, thresholds: tuple[int, ...]) -> float:
    """Exact cost per token of two drafts under a target, for laws that ignore the context.

    The middle model's tokens are kept drafts, corrections or bonuses, and the target keeps each
    kind with a chance of its own, which is what the planner's independence leaves out.
    """
    bottom, middle, top = laws
    drafts, threshold = thresholds
    a = np.minimum(bottom, middle).sum()
    kept = np.minimum(1, top / middle)
    of_draft = (np.minimum(bottom, middle) * kept).sum() / a
    of_correction = (np.maximum(middle - bottom, 0) * kept).sum() / (1 - a)
    of_bonus = (middle * kept).sum()
    # by the number of tokens held, all of them kept by the target
    committed = [0.0] * threshold + [1.0] * (drafts + 1)
    for held in reversed(range(threshold)):
        for k in range(drafts + 1):
            chance, last = (a**k * (1 - a), of_correction) if k < drafts else (a**k, of_bonus)
            first = sum(of_draft**i for i in range(k + 1))
            committed[held] += chance * (first + of_draft**k * last * committed[held + k + 1])
    return planner.levels(models, (0, 1, 2), thresholds)[-1].cost / committed[0]


def assert_follows(text: list[int], law: np.ndarray) -> None:
    """Stacking loses nothing: the committed tokens are the target's."""
    shares = np.bincount(text, minlength=len(law)) / len(text)
    assert abs(shares - law).sum() / 2 < 0.01


def test_the_fluid_latency_is_not_that_of_a_simulation():
    """The simulation can tell the two apart: blocks of varying length cost several per cent."""
    models = Models((1, 4, 12, 60), ((0.80, 0.72, 0.62), (0.85, 0.75), (0.90,)))
    cost, _ = simulated(Process(models, (0, 1, 3), (9, 3), Tokens(models, seed=1)), 20_000)
    assert abs(plain_fluid(models, (0, 1, 3), (9, 3)) / cost - 1) > 0.02


# Bad input


@for_each(
    ("costs", "acceptance", "words"),
    [
        ("1,2,60", "0.9,0.5;0.9", "models 0, 1, 2"),
        ("1,2,60", "0.9,0.77;0.9", "models 0, 1, 2"),
        ("1,2,3,60", "0.8,0.8,0.8;0.8,0.2;0.8", "models 0, 1, 3"),
        ("1,60", "0.9,0.5", "row 0"),
        ("1,2,60", "0.9,0.8", "1 rows of acceptances for 3 models: give 2"),
        ("1,2,60", "0.9,0.8;0.7;0.6", "3 rows"),
        ("60", "", "1 costs: give 2"),
        ("1,2,3,4,5,6,7,8,9", "0.5", "9 costs: give 2 to 8"),
        ("-1,60", "0.9", "cost -1 of model 0"),
        ("nan,60", "0.9", "cost nan of model 0"),
        ("1,inf", "0.9", "cost inf of model 1"),
        ("1,0", "0.9", "cost 0 of the target"),
        ("1,60", "nan", "acceptance nan of models 0 and 1"),
        ("1,60", "-0.1", "acceptance -0.1"),
        ("1,60", "1.5", "acceptance 1.5"),
        ("1,many", "0.5", "'many' is not a number"),
        ("1,60", "", "0 acceptances in row 0"),
    ],
)
def test_bad_input_is_refused_by_name(costs: str, acceptance: str, words: str):
    with pytest.raises(HsdError, match=r"^.{20,200}$") as caught:
        planner.plan(read(costs, acceptance))
    assert words in str(caught.value)


@pytest.mark.parametrize("values", [(1.0,), (1.0, -1.0), (1.0, math.nan)])
def test_bad_costs_by_width_are_refused(values: tuple[float, ...]):
    with pytest.raises(HsdError, match="per further token"):
        Models((1, 60), ((0.5,),), values)


@pytest.mark.parametrize(
    ("stack", "thresholds"),
    [
        ((), ()),
        ((0, 1), (1,)),
        ((2, 0), (1,)),
        ((0, 2), ()),
        ((0, 2), (0,)),
        ((0, 2), (65,)),
        ((0, 0, 2), (1, 1)),
    ],
)
def test_stacks_that_cannot_be_are_refused(stack: tuple[int, ...], thresholds: tuple[int, ...]):
    models = read("1,2,60", "0.8,0.7;0.8")
    with pytest.raises(HsdError, match=r"stack|threshold"):
        planner.latency(models, stack, thresholds)


def test_acceptances_that_only_rounding_makes_impossible_are_taken():
    assert planner.plan(read("1,2,60", "0.83,0.67;0.85")).best.latency < 60


def test_costs_that_do_not_rise_are_told():
    warnings = read("5,4,4,60", "0.8,0.7,0.6;0.8,0.7;0.8").warnings()
    assert [line.split(" costs")[0] for line in warnings] == ["model 1", "model 2"]
    assert read("1,2,60", "0.8,0.7;0.8").warnings() == []


# Measuring


def test_measured_acceptances_are_overlaps_on_the_target_s_text():
    pair = table_pair(vocab=4, order=2, seed=5)
    worse = table_pair(vocab=4, order=2, seed=5, closeness=0.4).draft
    models = [worse, pair.draft, pair.target]
    prompts = ["abca", "dd"]
    found = measure_stack(pair, models, prompts, new_tokens=30, sampling=Sampling())
    overlaps = [
        [
            np.minimum(row(models[i], before), row(models[j], before)).sum()
            for i, j in ((0, 1), (0, 2), (1, 2))
        ]
        for seed, prompt in enumerate(prompts)
        for before in contexts(pair, prompt, seed)
    ]
    assert found.positions == len(overlaps) == 60
    assert [a for row in found.models.acceptance for a in row] == pytest.approx(
        np.mean(overlaps, 0), rel=1e-5
    )
    assert all(cost > 0 for cost in found.models.costs)
    assert len(found.models.per_token) == 3


def row(model: Any, before: list[int]) -> np.ndarray:
    return model.table[model.row_index(before)].numpy()


def contexts(pair: hsd.Pair, prompt: str, seed: int) -> list[list[int]]:
    """What comes before every token that the target writes."""
    trace = hsd.run(pair, prompt, system="plain", max_new_tokens=30, seed=seed)
    return [[*trace.prompt.ids, *trace.tokens[:i]] for i in range(30)]


def test_models_that_are_the_same_keep_everything():
    pair = table_pair(vocab=4, order=2, seed=5)
    found = measure_stack(
        pair, [pair.target, pair.target], ["abca"], new_tokens=12, sampling=Sampling(0.0)
    )
    assert found.models.acceptance == ((1.0,),)


class SlowModel(TableModel):
    """A model whose calls take 2 ms and 0.5 ms per token, by a clock of its own."""

    now = 0.0

    def start(self) -> TableSession:
        return SlowSession(self)


class SlowSession(TableSession):
    def forward(self, tokens: Tensor, keep: int, view: View | None = None) -> Tensor:
        SlowModel.now += 0.002 + 0.0005 * len(tokens)
        return super().forward(tokens, keep, view)


def test_measured_costs_are_those_of_one_call_and_of_further_tokens(
    monkeypatch: pytest.MonkeyPatch,
):
    clock = SimpleNamespace(perf_counter=lambda: SlowModel.now)
    monkeypatch.setattr(import_module("hsd.models.reading"), "time", clock)
    pair = table_pair(vocab=4, order=2, seed=5)
    model: Any = pair.target
    found = measure_stack(
        pair,
        [SlowModel(model.table), SlowModel(model.table)],
        ["abca"],
        new_tokens=12,
        sampling=Sampling(),
    )
    assert found.models.costs == pytest.approx((2.5, 2.5))
    assert found.models.per_token == pytest.approx((0.5, 0.5))


def test_a_measured_plan_can_be_made_again_from_its_numbers(
    byte_folders, capsys: pytest.CaptureFixture[str]
):
    where = ["--target", byte_folders[0], "--draft", byte_folders[1], "--device", "cpu"]
    assert main(["plan", *where, "--limit", "2", "--new-tokens", "8", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    found = first.pop("measured")
    assert found["machine"]["load"] >= 0
    words = [f"--costs={joined(found['costs'])}", f"--per-token={joined(found['per_token'])}"]
    assert (
        main(
            ["plan", *words, f"--acceptance={';'.join(map(joined, found['acceptance']))}", "--json"]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out) == first


def joined(numbers: list[float]) -> str:
    return ",".join(map(repr, numbers))


def test_the_embedded_models_are_a_stack_of_three(capsys: pytest.CaptureFixture[str]):
    words = ["--pair", "tiny", "--device", "cpu", "--limit", "2", "--new-tokens", "16"]
    assert main(["plan", *words]) == 0
    report = capsys.readouterr().out
    for part in (
        "tiny smallest: ",
        "tiny draft: ",
        "tiny target: ",
        "ms a call",
        "load",
        "no draft",
    ):
        assert part in report


# The command


def test_the_command_prints_one_object(capsys: pytest.CaptureFixture[str]):
    assert (
        main(
            [
                "plan",
                "--costs",
                "1,4,12,60",
                "--acceptance",
                "0.80,0.72,0.62;0.85,0.75;0.90",
                "--json",
            ]
        )
        == 0
    )
    output = capsys.readouterr()
    result = json.loads(output.out)
    assert (result["stack"], result["thresholds"], output.err) == ([0, 2, 3], [5, 9], "")
    assert result["latency"] == pytest.approx(16.9, abs=0.05)
    assert result["best_single"] == pytest.approx(24.2, abs=0.05)
    assert result["plain"] == 60
    assert result["levels"][-1]["cost"] / result["levels"][-1]["tokens"] == pytest.approx(
        result["latency"]
    )


def test_the_command_tells_people_the_same(capsys: pytest.CaptureFixture[str]):
    assert (
        main(["plan", "--costs", "1,15,30,60", "--acceptance", "0.82,0.80,0.78;0.90,0.84;0.88"])
        == 0
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "best: model 0 (11 tokens) → target"
    assert any("16.454" in line for line in lines)


def test_the_command_warns_and_goes_on(capsys: pytest.CaptureFixture[str]):
    assert main(["plan", "--costs", "5,4,60", "--acceptance", "0.8,0.7;0.8", "--json"]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out)["warnings"]
    assert output.err.count("\n") == 1
    assert "model 1 costs 4" in output.err


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--costs", "1,60"],
        ["--acceptance", "0.5"],
        ["--costs", "1,60", "--acceptance", "0.5", "--pair", "tiny"],
        ["--costs", "1,2,60", "--acceptance", "0.9,0.5;0.9"],
        ["--costs", "1,60", "--acceptance", "0.5", "--longest", "0"],
        ["--costs", "1,60", "--acceptance", "0.5", "--longest", "1000"],
        ["--costs", "1,60", "--acceptance", "0.5", "--per-token", "1"],
        ["--pair", "no such pair"],
        ["--pair", "tiny", "--new-tokens", "0"],
        ["--pair", "tiny", "--limit", "0"],
    ],
)
def test_the_command_refuses_in_one_line(words: list[str], capsys: pytest.CaptureFixture[str]):
    try:
        status = main(["plan", *words])
    except SystemExit as end:
        status = int(end.code or 0)
    output = capsys.readouterr()
    assert (status, output.out) == (2, "")
    assert output.err.count("\n") == 1
    assert "Traceback" not in output.err


def test_the_stack_that_a_beam_loses_is_found():
    """The cheapest ways below are not those of the best stack: 14.0963 at thresholds 5, 10, 4 is
    not the best.
    """
    rows = planner.read_acceptance("0.89,0.81,0.56;0.92,0.66;0.75")
    models = Models((0.18, 0.71, 7.45, 38.06), rows)
    best = planner.plan(models).best
    assert (best.models, best.thresholds) == ((0, 1, 2, 3), (4, 7, 4))
    assert best.latency == pytest.approx(13.9393, abs=1e-4)
    for less, more in itertools.pairwise([6, 8, 12, 20, 32]):
        assert planner.plan(models, more).best.latency <= planner.plan(models, less).best.latency


def test_a_deep_stack_near_the_limit_of_rounds_is_found():
    best = planner.plan(similar_models(2, 6)).best
    assert (best.models, best.thresholds) == ((0, 1, 3, 4, 5), (14, 2, 18, 28))
    assert best.latency == pytest.approx(94.5201, abs=1e-4)


@for_each("seed", range(4), every=2)
def test_a_plan_can_be_run(seed: int):
    """No threshold above 32, and no step of more than 1,024 rounds."""
    models = similar_models(seed, 6)
    for way in (planner.plan(models).best, planner.best_of(models, range(6))):
        assert max(way.thresholds) <= 32
        assert math.prod(way.thresholds[1:]) <= 1_024
    assert (MOST_ROUNDS, MOST_MODELS) == (MAX_ROUNDS, MAX_LEVELS)
    with pytest.raises(HsdError, match="choose a whole number from 1 to 32"):
        planner.plan(models, 40)

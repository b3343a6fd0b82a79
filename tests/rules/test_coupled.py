"""Coupled draft and target: its joint law, the coin that tells it, and how much is kept by it."""

from __future__ import annotations

import math
import random

import pytest
import torch
from hypothesis import given
from reference import RULES as REFERENCE
from reference import Problem
from test_laws import problems, tensors
from torch import Tensor

from hsd import RULES
from hsd.audit import context_free_models, output_law, random_models, target_law, total_variation
from hsd.rules import Law
from hsd.rules.coupled import coins, coupled_residual, leads, race_winners

TOY = [0.2, 0.5, 0.3], [0.1, 0.7, 0.2]
ROWS = [
    TOY,
    ([0.6, 0.4, 0.0], [0.0, 0.5, 0.5]),
    ([0.6, 0.4, 0.0, 0.0], [0.0, 0.0, 0.7, 0.3]),
    ([0.5, 0.3, 0.2], [0.5, 0.3, 0.2]),
    ([0.5, 0.3, 0.2], [0.0, 1.0, 0.0]),
    ([0.0, 1.0, 0.0], [0.3, 0.3, 0.4]),
    ([1e-6, 1 - 1e-6], [0.5, 0.5]),
    ([0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]),
]


def row(values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def joint(p: Tensor, q: Tensor) -> Tensor:
    """(V, V): how likely q picks x and p picks y."""
    found = torch.zeros(len(p), len(p), dtype=torch.float64)
    for x in q.nonzero().flatten():
        found[x] = q[x] * coupled_residual(p, q, x)
        found[x, x] = q[x] * p[x] / (p[x] + leads(p[None], q[None], x[None])[0])
    return found


def times(count: int, vocab: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return -torch.log1p(-torch.rand(count, vocab, generator=generator, dtype=torch.float64))


@pytest.mark.parametrize(("p", "q"), ROWS)
def test_the_joint_law_has_both_rows_as_its_sums(p: list[float], q: list[float]):
    found = joint(row(p), row(q))
    assert float((found.sum(1) - row(q)).abs().max()) < 1e-15
    assert float((found.sum(0) - row(p)).abs().max()) < 1e-15
    assert float(found.min()) >= 0


def test_the_joint_law_has_both_rows_as_its_sums_on_many_random_rows():
    rng = random.Random(0)
    for _ in range(300):
        vocab = rng.randint(2, 9)
        p, q = (
            row([rng.random() ** 4 * (rng.random() > 0.2) + 1e-9 for _ in range(vocab)])
            for _ in range(2)
        )
        found = joint(p / p.sum(), q / q.sum())
        assert float((found.sum(1) - q / q.sum()).abs().max()) < 1e-14
        assert float((found.sum(0) - p / p.sum()).abs().max()) < 1e-14


def test_the_sums_hold_on_rows_of_a_real_models_size():
    generator = torch.Generator().manual_seed(3)
    logits, noise = torch.randn(2, 40_000, generator=generator, dtype=torch.float64)
    p = (3 * logits).softmax(0)
    q = (3 * logits + noise).softmax(0)
    for token in torch.multinomial(q, 3, generator=generator):
        stays = p[token] / (p[token] + leads(p[None], q[None], token[None])[0])
        assert float(coupled_residual(p, q, token).sum()) == pytest.approx(
            1 - float(stays), abs=1e-12
        )


def test_on_the_toy_it_keeps_nearly_what_can_be_kept():
    p, q = map(row, TOY)
    assert float(joint(p, q).trace()) == pytest.approx(0.7935, abs=5e-5)
    # no rule keeps more of one position
    assert float(torch.minimum(p, q).sum()) == pytest.approx(0.8)
    assert float((p * q).sum()) == pytest.approx(0.43)  # sample and compare


@pytest.mark.parametrize(("p", "q"), ROWS)
def test_picks_on_equal_times_follow_the_joint_law(p: list[float], q: list[float]):
    count = 40_000
    wanted = joint(row(p), row(q))
    run = times(count, len(p))
    x, y = (race_winners(row(w).expand(count, -1), run) for w in (q, p))
    counts = torch.zeros_like(wanted).index_put_(
        (x, y), torch.ones(count, dtype=torch.float64), accumulate=True
    )
    assert not counts[wanted < 1e-15].any()
    spread = (wanted * (1 - wanted) / count).sqrt()
    assert float(((counts / count - wanted).abs() - 5 * spread).max()) <= 1e-9


@pytest.mark.parametrize(("p", "q"), ROWS)
def test_the_coin_of_a_drafted_token_is_uniform_and_says_whether_both_pick_the_same(
    p: list[float], q: list[float]
):
    count = 20_000
    run = times(count, len(p), seed=1)
    both = [row(w).expand(count, -1) for w in (p, q)]
    drafted = race_winners(both[1], run)
    found = coins(*both, drafted, run)
    lead = leads(*both, drafted)
    px = row(p)[drafted]
    assert bool(((found >= 0) & (found < 1)).all())
    assert torch.equal(found < px / (px + lead), race_winners(both[0], run) == drafted)
    for x in set(drafted.tolist()):
        # where no other token is ahead it is kept, whatever the coin
        told = found[(drafted == x) & (lead > 0)]
        assert not len(told) or uniform(told)
    if len(set(drafted.tolist())) > 1 and bool((lead > 0).all()):
        assert uniform(found)


def uniform(numbers: Tensor) -> bool:
    """Kolmogorov and Smirnov at a level of 10⁻⁶."""
    ordered = numbers.sort().values
    n = len(numbers)
    gap = (ordered - (torch.arange(n) + 0.5) / n).abs().max() + 0.5 / n
    return float(gap) * math.sqrt(n) < 2.7


def test_numbers_that_are_not_uniform_are_noticed():
    assert uniform(torch.rand(5_000, generator=torch.Generator().manual_seed(0)))
    assert not uniform(torch.rand(5_000, generator=torch.Generator().manual_seed(0)) ** 1.2)


def test_the_winners_time_alone_would_be_no_coin():
    """It says nothing about how near the target is to another token."""
    count = 20_000
    p, q = map(row, TOY)
    run = times(count, 3)
    drafted = race_winners(q.expand(count, -1), run)
    alone = torch.exp(-run.gather(-1, drafted[:, None]).squeeze(-1) / q[drafted])
    assert uniform(alone)
    stays = p[drafted] / (p[drafted] + leads(p.expand(count, -1), q.expand(count, -1), drafted))
    assert (
        float(
            ((alone < stays) == (race_winners(p.expand(count, -1), run) == drafted)).double().mean()
        )
        < 0.9
    )


@given(problem=problems())
def test_coupled_picks_keep_as_much_as_its_reference_and_no_more_than_any_rule_can(
    problem: Problem,
):
    p, q, tokens = tensors(problem.p, problem.q, problem.tokens)
    law = RULES["coupled"].law(p, q, tokens)
    wanted = REFERENCE["coupled"](problem)
    assert law.stop.tolist() == pytest.approx(wanted.stop, abs=1e-12)
    for t in range(problem.gamma):
        stays = joint(p[t], q[t]).diagonal()
        assert bool((stays <= torch.minimum(p[t], q[t]) + 1e-12).all())
        assert float(law.leftover(t)[1]) == pytest.approx(1 - float(law.threshold[t]), abs=1e-12)


def test_a_draft_that_is_certain_is_kept_as_often_as_the_target_says_it():
    p, q, tokens = tensors([[0.2, 0.5, 0.3]] * 3, [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], [1, 0])
    law = RULES["coupled"].law(p, q, tokens)
    assert law.threshold.tolist() == pytest.approx([0.5, 0.2], abs=1e-15)
    assert law.next(0).tolist() == pytest.approx([0.4, 0.0, 0.6], abs=1e-15)


def test_what_follows_depends_on_the_token_that_was_rejected():
    rows = [[0.1, 0.2, 0.3, 0.4]] * 2, [[0.4, 0.3, 0.2, 0.1]]
    after = [RULES["coupled"].law(*tensors(*rows, [x])).next(0).tolist() for x in (0, 1, 2)]
    assert after[0] != pytest.approx(after[1], abs=1e-3)
    assert after[2] == pytest.approx([0, 0, 0, 1])  # the only one with a larger p/q


# ---- wrong variants: each misses the target


def different_numbers(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
    """Draft and target pick with numbers of their own, and the residual of equal numbers is drawn
    from all the same.
    """
    return law_with(p, q, tokens, RULES["agreement"].law(p, q, tokens).threshold)


def token_wise_test(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
    """A coupled residual after token-wise tests."""
    return law_with(p, q, tokens, RULES["tokenwise"].law(p, q, tokens).threshold)


def token_wise_residual(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
    """max(p - q, 0) after coupled picks."""
    right = RULES["coupled"].law(p, q, tokens)
    return Law(p, q, right.threshold, True, torch.ones_like(right.threshold))


def residual_of_another_token(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
    """What is left depends on the token that was rejected, not on the one that follows."""
    return law_with(p, q, (tokens + 1) % p.shape[-1], RULES["coupled"].law(p, q, tokens).threshold)


def law_with(p: Tensor, q: Tensor, tokens: Tensor, threshold: Tensor) -> Law:
    right = RULES["coupled"].law(p, q, tokens)
    return type(right)(p, q, threshold, True, right.a, tokens=tokens)


@pytest.mark.parametrize(
    "law",
    [different_numbers, token_wise_test, token_wise_residual, residual_of_another_token],
    ids=lambda x: x.__name__,
)
def test_enumeration_catches_a_wrong_coupling(law):
    pairs = [*(random_models(3, 2, seed) for seed in range(3)), context_free_models(*TOY, 2)]
    assert max(total_variation(output_law(m, law)[0], target_law(m)) for m in pairs) > 1e-3

"""The rules that give up exactness by a number: their law, their ends, and how far off they are."""

from __future__ import annotations

import math

import pytest
import reference
import torch
from hypothesis import given
from hypothesis import strategies as st
from loops import for_each, some
from reference import Problem
from test_laws import close, problems, tensors

from hsd import RULES, HsdError, RunOptions, load_pair, run
from hsd.audit import context_free_models, output_law, random_models, target_law, total_variation
from hsd.bench.peers import draft_always
from hsd.paths import ASSETS
from hsd.rules import Law
from hsd.rules.relaxed import AFTER

NUMBERS = [0.0, 0.03, 0.09, 0.5, 0.9, 1.0]
TOY = ([1 / 3, 2 / 3], [2 / 3, 1 / 3])
RELAXED = {"ensemble": reference.ensemble, "typical": reference.typical}
each_number = pytest.mark.parametrize("number", NUMBERS)


def law_of(rule: str, number: float, problem: Problem) -> Law:
    return RULES[rule].tuned(number).law(*tensors(problem.p, problem.q, problem.tokens))


@pytest.mark.parametrize("rule", RELAXED)
@each_number
@given(problem=problems())
def test_the_law_is_the_literal_one_at_every_number(rule: str, number: float, problem: Problem):
    law = law_of(rule, number, problem)
    wanted = RELAXED[rule](problem, number)
    if rule == "typical" and any(abs(p - bar) < 1e-12 for p, bar in bars(problem, number)):
        return  # a tie, which rounding may break either way
    assert close(law.stop, wanted.stop)
    for t, row in enumerate(wanted.next):
        if wanted.stop[t] > 1e-9:  # a residual of next to no mass is mostly rounding
            assert close(law.next(t), row, max(1e-6, 1e-13 / max(wanted.mass[t], 1e-13)))


def bars(problem: Problem, epsilon: float) -> list[tuple[float, float]]:
    found = []
    for row, token in zip(problem.p[:-1], problem.tokens, strict=True):
        entropy = -sum(x * math.log(x) for x in row if x > 0)
        found.append((row[token], min(epsilon, math.sqrt(epsilon) * math.exp(-entropy))))
    return found


@pytest.mark.parametrize("rule", RELAXED)
@each_number
@given(problem=problems())
def test_the_grounds_give_the_threshold(rule: str, number: float, problem: Problem):
    law = law_of(rule, number, problem)
    grounds = law.grounds(torch.tensor(problem.tokens))
    assert [one.threshold for one in grounds] == pytest.approx(law.threshold.tolist(), abs=1e-12)


@given(problem=problems())
def test_an_ensemble_without_the_draft_is_token_wise_and_one_of_the_draft_alone_keeps_all(
    problem: Problem,
):
    exact = RULES["tokenwise"].law(*tensors(problem.p, problem.q, problem.tokens))
    none, all_ = (law_of("ensemble", weight, problem) for weight in (0.0, 1.0))
    assert torch.equal(none.threshold, exact.threshold)
    assert all(torch.equal(none.next(t), exact.next(t)) for t in range(none.gamma + 1))
    assert all_.stop.tolist() == [0.0] * all_.gamma + [1.0]


@given(problem=problems(), epsilon=st.sampled_from([0.0, 1e-300]))
def test_typical_acceptance_keeps_all_that_the_target_can_write_where_nothing_is_asked(
    problem: Problem, epsilon: float
):
    law = law_of("typical", epsilon, problem)
    possible = [problem.p[t][x] > 1e-290 for t, x in enumerate(problem.tokens)]
    assert law.threshold.tolist() == [float(one) for one in possible]


@pytest.mark.parametrize(
    ("epsilon", "x", "kept"), [(0.09, 0.05, 0), (0.09, 0.07, 1), (0.03, 0.029, 0), (0.03, 0.035, 1)]
)
def test_the_bar_is_the_lower_of_epsilon_and_its_root_over_the_entropy(
    epsilon: float, x: float, kept: int
):
    """Four other tokens share the rest, so exp(-H) is about 0.22: the bars are √0.09 · 0.22 = 0.066
    and 0.03 itself.
    """
    row = [x] + [(1 - x) / 4] * 4
    law = law_of("typical", epsilon, Problem([row, row], [row], [0]))
    assert law.threshold.tolist() == [kept]


@pytest.mark.parametrize("seed", range(4))
def test_no_coin_and_no_draft_decides_typical_acceptance(seed: int):
    models = random_models(4, 3, seed)
    tokens = torch.tensor([0, 1, 2])
    p = models.rows(models.target, (0, 1, 2), 4)
    q = models.rows(models.draft, (0, 1, 2), 3)
    law = RULES["typical"].law(p, q, tokens)
    assert set(law.threshold.tolist()) <= {0.0, 1.0}
    assert torch.equal(law.threshold, RULES["typical"].law(p, q.flip(-1), tokens).threshold)
    assert all(close(law.next(t), p[t].tolist(), 1e-15) for t in range(4))


@pytest.mark.parametrize("weight", [0.0, 0.25, 0.5, 1.0])
def test_an_ensemble_is_off_by_its_weight_times_the_distance_of_the_rows(weight: float):
    """p = (1/3, 2/3), q = (2/3, 1/3), γ = 1: their distance is 1/3, and Σ min(p, q) = 2/3."""
    models = context_free_models(*TOY, gamma=1)
    output, kept = output_law(models, RULES["ensemble"].tuned(weight).law)
    assert total_variation(output, target_law(models)) == pytest.approx(weight / 3, abs=1e-15)
    assert kept == pytest.approx(2 / 3 + weight / 3)


def test_typical_acceptance_by_hand():
    """p = (.05, .95), q = (.5, .5), γ = 1: H = .198, so the bar is min(.09, .3 · .820) = .09, and
    only b passes.

    The first token is b with .5, and with the other .5 follows p: a with .025, b with .975. Off by
    .025.
    """
    models = context_free_models([0.05, 0.95], [0.5, 0.5], gamma=1)
    output, kept = output_law(models, RULES["typical"].law)
    assert kept == pytest.approx(0.5)
    assert output.sum(1).tolist() == pytest.approx([0.025, 0.975])
    assert total_variation(output, target_law(models)) == pytest.approx(0.025)


@pytest.mark.parametrize("name", ["draft_weight", "epsilon"])
@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, "much", True])
def test_a_number_that_is_none_of_them_is_refused_in_one_line(name: str, value: object):
    with pytest.raises(HsdError, match=f"{name} .*: choose a number from 0 to 1"):
        RunOptions(**{name: value})


@pytest.mark.parametrize("rule", RELAXED)
def test_they_are_for_one_draft(rule: str):
    with pytest.raises(HsdError, match=f"rule {rule} does not fit several drafts"):
        RunOptions(rule=rule, drafts=2)


@pytest.mark.parametrize(("weight", "gamma"), some([(0.1, 4), (0.5, 1), (0.8, 4)], 2))
def test_an_ensemble_at_temperature_0_writes_what_transformers_writes(weight: float, gamma: int):
    """`generate` itself, greedy with `assistant_ensemble_weight` 1 - w; some texts are not the
    target's alone.
    """
    pair = load_pair(
        target=str(ASSETS / "tiny" / "target"), draft=str(ASSETS / "tiny" / "draft"), device="cpu"
    )
    found = set()
    for prompt in ("Once upon a time", "The dog was", "Lily had a red ball and"):
        ids = torch.tensor([pair.encode(prompt)])
        draft_always(pair.draft.model, gamma)
        with torch.inference_mode():
            output = pair.target.model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                pad_token_id=0,
                do_sample=False,
                max_new_tokens=40,
                assistant_model=pair.draft.model,
                assistant_ensemble_weight=1 - weight,
            )
        how = {"gamma": gamma, "temperature": 0, "max_new_tokens": 40}
        ours = run(pair, prompt, rule="ensemble", draft_weight=weight, seed=1, **how)
        assert ours.tokens == output[0, ids.shape[1] :].tolist()
        assert ours.replay() == ours.tokens
        found.add(ours.tokens == run(pair, prompt, rule="tokenwise", **how).tokens)
    assert weight < 0.3 or False in found


def test_an_ensemble_at_temperature_0_by_hand():
    """v = (.35, .45, .2) names b, which q drafted and p did not; then (.375, .375, .25) names the
    first of equals, not b.
    """
    p = torch.tensor([[0.6, 0.3, 0.1], [0.25, 0.5, 0.25], [0.1, 0.2, 0.7]])
    q = torch.tensor([[0.1, 0.6, 0.3], [0.5, 0.25, 0.25]])
    rule = RunOptions(rule="ensemble", draft_weight=0.5, temperature=0).find("ensemble")
    ones = torch.nn.functional.one_hot(torch.tensor([0, 1, 2]), 3).float()
    law = rule.law(
        ones,
        torch.nn.functional.one_hot(torch.tensor([1, 1]), 3).float(),
        torch.tensor([1, 1]),
        (p, q),
    )
    assert law.threshold.tolist() == [1, 0]
    assert [int(law.next(t).argmax()) for t in range(3)] == [1, 0, 2]
    grounds = law.grounds(torch.tensor([1, 1]))
    assert [one.form.name for one in grounds] == ["leads", "trails"]
    assert [(one.mixed, one.rival) for one in grounds] == [
        pytest.approx((0.45, 0.35)),
        (0.375, 0.375),
    ]
    # the first of the equals, though 0 is not b
    first = rule.law(ones, ones[:2], torch.tensor([0, 0]), (p, q))
    assert first.threshold.tolist() == [0, 1]
    assert [one.threshold for one in first.grounds(torch.tensor([0, 0]))] == [0, 1]


def test_above_temperature_0_an_ensemble_throws_its_coin_however_certain_the_rows():
    rule = RunOptions(rule="ensemble", draft_weight=0.3, temperature=0.01).find("ensemble")
    ones = torch.eye(2)
    assert rule.law(ones, ones[1:], torch.tensor([1])).threshold.tolist() == [pytest.approx(0.3)]


def test_typical_acceptance_goes_on_with_the_likeliest_token_where_that_is_asked():
    p, q, tokens = (
        torch.tensor(x) for x in ([[0.05, 0.35, 0.6], [0.3, 0.3, 0.4]], [[0.5, 0.2, 0.3]], [0])
    )
    drawn, likeliest = (
        RunOptions(rule="typical", after_kept=name).find("typical") for name in AFTER
    )
    assert [likeliest.law(p, q, tokens).next(t).tolist() for t in (0, 1)] == [[0, 0, 1], [0, 0, 1]]
    assert [drawn.law(p, q, tokens).next(t).tolist() for t in (0, 1)] == [
        pytest.approx(row, abs=1e-7) for row in p.tolist()
    ]
    assert torch.equal(
        likeliest.law(p, q, tokens).next_at(torch.tensor(1)), torch.tensor([0.0, 0, 1])
    )
    laws = [
        rule.law(p, q, torch.tensor([x])).threshold.tolist()
        for rule in (drawn, likeliest)
        for x in range(3)
    ]
    assert laws == [[0.0], [1.0], [1.0]] * 2


# Drafts that are certain


@for_each("seed", range(30))
def test_a_draft_that_is_certain_makes_all_lossless_rules_one(seed: int):
    """q one-hot: p/q = p(x) is at most 1, so no ratio has anything to cap, and every prefix is kept
    with its p.
    """
    generator = torch.Generator().manual_seed(seed)
    vocab = 2 + seed % 5
    gamma = 1 + seed % 6
    p = torch.rand(gamma + 1, vocab, generator=generator, dtype=torch.float64) ** 3
    p[torch.rand(p.shape, generator=generator) < 0.2] = 0.0
    p[:, 0] += 0.1
    p /= p.sum(-1, keepdim=True)
    tokens = torch.randint(vocab, (gamma,), generator=generator)
    q = torch.nn.functional.one_hot(tokens, vocab).double()
    wanted = RULES["tokenwise"].law(p, q, tokens)
    lossless = [rule for rule in RULES.values() if rule.lossless]
    assert len(lossless) == 6
    for rule in lossless:
        law = rule.law(p, q, tokens)
        assert close(law.stop, wanted.stop.tolist(), 1e-13), rule.name
        for t, stop in enumerate(wanted.stop.tolist()):
            assert stop < 1e-12 or close(law.next(t), wanted.next(t).tolist(), 1e-12), rule.name

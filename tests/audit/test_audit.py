"""Exact enumeration: which rules are lossless, how much they keep, and the numbers of the textbook
toy.
"""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from loops import for_each, some

from hsd import RULES, HsdError, audit
from hsd.audit import (
    audit_rules,
    context_free_models,
    ideal_kept,
    output_law,
    random_models,
    target_law,
    total_variation,
)

LOSSLESS = ("tokenwise", "blockwise", "hsd", "naive-hsd", "agreement", "coupled")
SHAPES = [(2, 1), (2, 3), (3, 2), (4, 2), (2, 5), (5, 1), (3, 3), (1, 3)]  # (V, γ)

# p = (1/3, 2/3), q = (2/3, 1/3), context-free: γ → token-wise, block = HSD, as released, its
# distance, naive = ideal.
TOY = {
    1: (0.6667, 0.6667, 0.6667, 0.000, 0.6667),
    2: (1.1111, 1.2222, 1.3333, 0.111, 1.3333),
    3: (1.4074, 1.6667, 1.7778, 0.062, 1.8519),
    4: (1.6049, 2.0494, 2.2963, 0.119, 2.3704),
    6: (1.8244, 2.6516, 3.0206, 0.115, 3.2099),
    8: (1.9220, 3.1068, 3.5748, 0.109, 3.9031),
    10: (1.9653, 3.4593, 4.0021, 0.102, 4.4824),
}


@for_each("seed", range(12))
def test_lossless_rules_follow_the_target_exactly(seed: int):
    vocab, gamma = SHAPES[seed % len(SHAPES)]
    found = audit(vocab=vocab, gamma=gamma, seed=seed)["rules"]
    for name in LOSSLESS:
        assert found[name]["total_variation"] < 1e-12, name
        assert found[name]["lossless"] is True
        assert RULES[name].lossless


@pytest.mark.long
@for_each("seed", range(8), every=3)
def test_the_released_code_does_not_follow_the_target(seed: int):
    found = audit(vocab=3, gamma=3, seed=seed)["rules"]
    assert 0.004 < found["hsd-released"]["total_variation"] < 0.12
    assert found["hsd-released"]["lossless"] is False
    assert found["hsd-released"]["expected_accepted"] > found["hsd"]["expected_accepted"]


@pytest.mark.long
@pytest.mark.parametrize("seed", some(range(10), 3))
def test_the_fuzzy_rule_does_not_follow_the_target_and_keeps_more_for_it(seed: int):
    found = audit(vocab=3, gamma=3, seed=seed)["rules"]
    assert found["fuzzy"]["total_variation"] > 0.004
    assert found["fuzzy"]["lossless"] is False
    assert not RULES["fuzzy"].lossless
    assert found["fuzzy"]["expected_accepted"] > found["tokenwise"]["expected_accepted"]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_only_naive_hsd_reaches_the_ideal(seed: int):
    result = audit(vocab=3, gamma=3, seed=seed)
    kept = {name: row["expected_accepted"] for name, row in result["rules"].items()}
    assert kept["naive-hsd"] == pytest.approx(result["ideal"], abs=1e-12)
    assert kept["hsd"] == pytest.approx(kept["blockwise"], abs=1e-12)
    assert kept["tokenwise"] < kept["hsd"] < result["ideal"]


@pytest.mark.parametrize("gamma", [1, 2, 3, 4, 6])
def test_the_textbook_toy(gamma: int):
    models = context_free_models([1 / 3, 2 / 3], [2 / 3, 1 / 3], gamma)
    found = audit_rules(models)
    ideal = ideal_kept(models)
    tokenwise, capped, released, distance, naive = TOY[gamma]
    kept = {name: row["expected_accepted"] for name, row in found.items()}
    assert kept["tokenwise"] == pytest.approx(tokenwise, abs=5e-5)
    assert kept["blockwise"] == pytest.approx(capped, abs=5e-5)
    assert kept["hsd"] == pytest.approx(capped, abs=5e-5)
    assert kept["hsd-released"] == pytest.approx(released, abs=5e-5)
    assert kept["naive-hsd"] == pytest.approx(naive, abs=5e-5)
    assert ideal == pytest.approx(naive, abs=5e-5)
    assert found["hsd-released"]["total_variation"] == pytest.approx(distance, abs=6e-4)
    assert max(found[name]["total_variation"] for name in LOSSLESS) < 1e-12


@pytest.mark.long
@pytest.mark.parametrize("gamma", [8, 10])
def test_the_textbook_toy_at_length(gamma: int):
    """As above without spelling out every output: what is kept depends only on how often each token
    was drafted.
    """
    p = [1 / 3, 2 / 3]
    q = [2 / 3, 1 / 3]
    tokenwise, capped, released, _, naive = TOY[gamma]
    wanted = {
        "tokenwise": tokenwise,
        "blockwise": capped,
        "hsd": capped,
        "hsd-released": released,
        "naive-hsd": naive,
    }
    p_rows = torch.tensor([p] * (gamma + 1), dtype=torch.float64)
    q_rows = torch.tensor([q] * gamma, dtype=torch.float64)
    mean = dict.fromkeys(wanted, 0.0)
    for draft in itertools.product(range(2), repeat=gamma):
        weight = math.prod(q[x] for x in draft)
        for name in wanted:
            law = RULES[name].law(p_rows, q_rows, torch.tensor(draft))
            mean[name] += weight * float(law.expected_kept)
    assert mean == pytest.approx(wanted, abs=5e-5)


def test_enumerated_laws_are_laws():
    models = random_models(vocab=3, gamma=2, seed=1)
    truth = target_law(models)
    assert truth.shape == (3, 3, 3)
    assert float(truth.sum()) == pytest.approx(1)
    for rule in RULES.values():
        output, _ = output_law(models, rule.law, rule.resamples)
        assert float(output.sum()) == pytest.approx(1, abs=1e-12)
        assert float(output.min()) >= 0


def test_total_variation_of_known_laws():
    half = torch.tensor([0.5, 0.5])
    sure = torch.tensor([1.0, 0.0])
    assert total_variation(half, half) == 0
    assert total_variation(half, sure) == 0.5
    assert total_variation(sure, sure.flip(0)) == 1


def test_equal_seeds_give_equal_audits_and_others_differ():
    assert audit(vocab=2, gamma=2, seed=5) == audit(vocab=2, gamma=2, seed=5)
    assert audit(vocab=2, gamma=2, seed=5) != audit(vocab=2, gamma=2, seed=6)


@pytest.mark.parametrize(
    ("vocab", "gamma"), [(50, 5), (0, 3), (3, 0), (-1, 2), (2, 200), (10**9, 32)]
)
def test_requests_that_cannot_be_enumerated_are_refused(vocab: int, gamma: int):
    with pytest.raises(HsdError) as error:
        audit(vocab=vocab, gamma=gamma, seed=0)
    assert "\n" not in str(error.value)

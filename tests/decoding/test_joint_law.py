"""What decoding writes follows the target's own law: table models, many seeds, chi-square with
fixed seeds.
"""

from __future__ import annotations

from collections import Counter

import pytest
from joint_law import chi_square_p, exact_law, first_tokens, toy_pair
from loops import for_each
from table_models import table_pair
from tree_cases import TREE_CASES

import hsd
from hsd import RULES
from hsd.audit import audit_rules, context_free_models

pytestmark = pytest.mark.long

LOSSLESS = [name for name, rule in RULES.items() if rule.lossless]
# All rules by exact enumeration elsewhere; here one of them quickly, and all in the slow tests.
FEW = [rule if rule == "hsd" else pytest.param(rule, marks=pytest.mark.slow) for rule in LOSSLESS]
WHOLE_BLOCKS = {"gamma": 5, "max_new_tokens": 40}
ENDING = toy_pair((0.6, 0.3, 0.1), (0.2, 0.2, 0.6), end_ids=frozenset({2}))


@pytest.mark.parametrize("rule", FEW)
def test_first_tokens_follow_the_target(rule: str):
    pair = table_pair(vocab=3, order=2, seed=11, closeness=1.5)
    counts = first_tokens(pair, 3, range(600), rule=rule, **WHOLE_BLOCKS)
    assert chi_square_p(counts, exact_law(pair, 3)) > 1e-4


@pytest.mark.parametrize("rule", FEW)
def test_tokens_follow_the_target_where_the_draft_is_bad(rule: str):
    pair = toy_pair((0.1, 0.5, 0.4), (0.8, 0.1, 0.1))
    counts = first_tokens(pair, 3, range(600), rule=rule, **WHOLE_BLOCKS)
    assert chi_square_p(counts, exact_law(pair, 3)) > 1e-4


def test_plain_decoding_follows_the_target():
    pair = table_pair(vocab=3, order=2, seed=11)
    counts = first_tokens(pair, 3, range(500), system="plain", max_new_tokens=3)
    assert chi_square_p(counts, exact_law(pair, 3)) > 1e-4


@pytest.mark.parametrize("rule", FEW)
@for_each(
    "warping",
    [
        {"temperature": 0.6},
        {"temperature": 1.8},
        {"top_k": 2},
        {"top_p": 0.7},
        {"temperature": 1.3, "top_k": 3, "top_p": 0.8},
    ],
    ids=str,
    every=2,
)
def test_warped_tokens_follow_the_warped_target(rule: str, warping: dict[str, float]):
    """With top-k and top-p the draft may propose what the target excludes, and conversely."""
    pair = table_pair(vocab=4, order=1, seed=3)
    counts = first_tokens(pair, 2, range(300), rule=rule, gamma=4, max_new_tokens=20, **warping)
    assert chi_square_p(counts, exact_law(pair, 2, **warping)) > 1e-4


@pytest.mark.parametrize("rule", FEW)
def test_two_new_tokens_of_run_follow_the_target(rule: str):
    """By the public `hsd.run`, with a budget that cuts the block: two tokens, 400 seeds."""
    pair = table_pair(vocab=4, order=2, seed=5)
    options = {"rule": rule, "max_new_tokens": 2, "trace": False}
    counts = Counter(tuple(hsd.run(pair, "ab", seed=seed, **options).tokens) for seed in range(400))
    assert chi_square_p(counts, exact_law(pair, 2, prompt="ab")) > 1e-4


@pytest.mark.parametrize("rule", FEW)
@pytest.mark.parametrize("gamma", [3, pytest.param(5, marks=pytest.mark.slow)])
def test_texts_that_end_inside_a_block_follow_the_target(rule: str, gamma: int):
    """The draft ends most texts too early: a drafted end is often rejected and the text goes on."""
    counts = first_tokens(ENDING, 4, range(600), rule=rule, gamma=gamma, max_new_tokens=40)
    assert chi_square_p(counts, exact_law(ENDING, 4)) > 1e-4


@pytest.mark.parametrize(
    ("rule", "tree"),
    [
        case if case == ("recursive-hsd", "paths") else pytest.param(*case, marks=pytest.mark.slow)
        for case in TREE_CASES
    ],
)
def test_several_drafts_follow_the_target(rule: str, tree: str):
    """Texts end inside these trees, so their branches are of unequal length."""
    options = {"rule": rule, "tree": tree, "drafts": 3, "gamma": 2, "max_new_tokens": 20}
    assert chi_square_p(first_tokens(ENDING, 3, range(300), **options), exact_law(ENDING, 3)) > 1e-4


@pytest.mark.slow
def test_trees_that_run_out_of_tokens_follow_the_target():
    """Four drafts with different first tokens, of a vocabulary of three."""
    pair = toy_pair((0.2, 0.5, 0.3), (0.6, 0.1, 0.3))
    for rule, tree in (
        ("traversal", "distinct"),
        ("top-down", "distinct"),
        ("one-hot", "top"),
        ("one-hot", "grown"),
    ):
        options = {"rule": rule, "tree": tree, "drafts": 4, "gamma": 2, "max_new_tokens": 20}
        assert chi_square_p(first_tokens(pair, 3, range(500), **options), exact_law(pair, 3)) > 1e-4


@pytest.mark.parametrize("gamma", [pytest.param(2, marks=pytest.mark.slow), 4])
def test_the_released_code_fails_this_kind_of_test(gamma: int):
    pair = toy_pair((1 / 3, 2 / 3), (2 / 3, 1 / 3))
    options = {"gamma": gamma, "max_new_tokens": gamma + 1}
    law = exact_law(pair, gamma + 1)
    assert (
        chi_square_p(first_tokens(pair, gamma + 1, range(400), rule="hsd-released", **options), law)
        < 1e-6
    )
    assert (
        chi_square_p(first_tokens(pair, gamma + 1, range(400), rule="hsd", **options), law) > 1e-4
    )


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_kept_tokens_agree_with_the_enumeration(rule: str):
    """Mean kept tokens of the first step, decoded, against the same mean from the laws: within 4
    standard errors.
    """
    pair = toy_pair((0.2, 0.5, 0.3), (0.4, 0.2, 0.4))
    gamma = 3
    count = 1_000
    models = context_free_models([0.2, 0.5, 0.3], [0.4, 0.2, 0.4], gamma)
    expected = audit_rules(models)[rule]["expected_accepted"]
    kept = []
    for seed in range(count):
        step = next(
            hsd.decode(pair, "a", rule=rule, gamma=gamma, max_new_tokens=20, seed=seed, trace=False)
        )
        kept.append(step.kept)
    mean = sum(kept) / count
    deviation = (sum((k - mean) ** 2 for k in kept) / count) ** 0.5
    # some rules keep everything here
    assert abs(mean - expected) < 4 * deviation / count**0.5 + 1e-9

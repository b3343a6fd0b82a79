"""The most that a lossless rule can keep on a tree, held to closed forms, to the rules, and to
plain enumeration.
"""

from __future__ import annotations

import itertools

import pytest
import torch
from loops import for_each, some

pytest.importorskip("scipy")

from hsd.audit import audit, audit_rules, context_free_models, output_law, random_models
from hsd.audit.chains import Prefix, TableModels
from hsd.audit.optimum import optima, optimum, tree_law
from hsd.audit.trees import (
    OpenTree,
    TreeShape,
    audit_tree_rules,
    paths_shape,
    regular_shape,
    shapes,
)
from hsd.rules import RULES


def smallest_cut(p: list[float], q: list[float], drafts: int) -> float:
    """One position, independent drafts: the least over sets H of tokens of p(H) + 1 - q(H)^K, by
    max-flow min-cut.
    """
    tokens = range(len(p))
    sets = itertools.chain.from_iterable(
        itertools.combinations(tokens, size) for size in range(len(p) + 1)
    )
    return min(sum(p[x] for x in h) + 1 - sum(q[x] for x in h) ** drafts for h in sets)


@for_each("seed", range(6))
@for_each(("vocab", "gamma"), [(2, 4), (3, 1), (3, 3), (4, 2)])
def test_one_draft_can_keep_what_block_verification_keeps(vocab: int, gamma: int, seed: int):
    models = random_models(vocab, gamma, seed)
    _, kept = output_law(models, RULES["blockwise"].law)
    assert optimum(models, paths_shape(1, gamma)) == pytest.approx(kept, abs=1e-8)


@for_each("drafts", [1, 2, 3])
@for_each(
    ("p", "q"),
    [
        ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]),
        ([0.6, 0.4], [0.9, 0.1]),
        ([0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]),
        ([0.5, 0.5, 0.0], [0.0, 0.2, 0.8]),
        ([0.3, 0.7], [1.0, 0.0]),
    ],
)
def test_one_position_has_a_closed_form(p: list[float], q: list[float], drafts: int):
    most = optimum(context_free_models(p, q, 1), paths_shape(drafts, 1))
    assert most == pytest.approx(smallest_cut(p, q, drafts), abs=1e-8)
    if drafts == 1:
        assert most == pytest.approx(sum(map(min, p, q)), abs=1e-8)
    if len(p) == 2:  # all drafts miss a token with chance (1 - q)^K, or the target does not want it
        assert most == pytest.approx(
            1 - sum(max(q[1 - x] ** drafts - p[1 - x], 0) for x in (0, 1)), abs=1e-8
        )


def test_a_chosen_tree_can_keep_every_prefix_as_often_as_the_target_says_it():
    models = random_models(3, 2, seed=5)
    shape = regular_shape(2, 2, "chosen")
    (tree,) = tree_law(models, shape) or {}
    said = sum(models.joint(models.target, prefix) for prefix in tree)
    assert optimum(models, shape) == pytest.approx(said, abs=1e-8)


@pytest.mark.parametrize(
    ("vocab", "gamma", "drafts"),
    some([(3, 1, 2), (3, 2, 2), (4, 1, 3), (2, 3, 2)], 3),
)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]
)
def test_no_lossless_rule_keeps_more(vocab: int, gamma: int, drafts: int, seed: int):
    models = random_models(vocab, gamma, seed)
    most = optima(models, drafts)
    found, _ = audit_tree_rules(models, drafts)
    judged = {name: row["expected_accepted"] for name, row in found.items() if row["lossless"]}
    assert judged
    for name, kept in judged.items():
        limit = most[name.split(", ", 1)[1]]
        assert limit is None or kept <= limit + 1e-8, name
    one = audit_rules(models)["hsd"]["expected_accepted"]
    assert one <= (most["paths"] or 0) + 1e-8


def test_more_drafts_leave_more_to_the_best_rule_than_to_ours():
    """One position, two drafts: recursive rejection is known not to be optimal there."""
    models = random_models(3, 1, seed=0)
    found, _ = audit_tree_rules(models, 2)
    best = optimum(models, paths_shape(2, 1))
    ours = found["recursive-tokenwise, paths"]["expected_accepted"]
    assert best is not None
    assert best - ours == pytest.approx(0.0118, abs=1e-4)


def test_naive_hsd_is_none_of_these_rules():
    """It asks the target again after a rejection, and keeps more than any rule that does not."""
    models = random_models(3, 3, seed=0)
    naive = audit_rules(models)["naive-hsd"]["expected_accepted"]
    assert naive > (optimum(models, paths_shape(1, 3)) or 9) + 0.01


@pytest.mark.parametrize(
    "layout", ["paths", "comb", "distinct-comb", "full, distinct", "full, independent", "top"]
)
def test_the_law_of_the_trees_is_that_of_drawing_every_node(layout: str):
    models = random_models(3, 2, seed=2)
    shape = shapes(2, 2, 3)[layout]
    drawn = plainly(models, shape)
    law = tree_law(models, shape)
    assert law is not None
    assert law == pytest.approx(drawn, abs=1e-12)


def plainly(models: TableModels, shape: TreeShape) -> dict[frozenset[Prefix], float]:
    """Every node drawn in turn, as the audit of the rules draws them."""
    waiting = [(1.0, OpenTree(models, shape))]
    found = dict[frozenset[Prefix], float]()
    while waiting:
        weight, tree = waiting.pop()
        missing = [node for node in range(1, len(shape.parents) + 1) if node not in tree.drawn]
        if missing:
            waiting += [(weight * chance, longer) for chance, longer in tree.draws(missing[0])]
        else:
            texts = frozenset(tree.path(node) for node in tree.drawn)
            found[texts] = found.get(texts, 0.0) + weight
    return found


def test_what_is_too_large_is_said_and_not_tried():
    models = context_free_models([0.25] * 4, [0.1, 0.2, 0.3, 0.4], 4)
    assert optimum(models, regular_shape(3, 4, "independent")) is None


def test_the_audit_has_the_optimum_of_every_layout():
    found = audit(vocab=2, gamma=2, drafts=2, seed=1)["optimum"]
    assert found == optima(random_models(2, 2, 1), 2)
    assert "optimum" not in audit(vocab=2, gamma=2)
    assert torch.tensor([kept for kept in found.values() if kept]).max() <= 2 + 1e-9

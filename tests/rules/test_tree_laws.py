"""Rules for several drafts and trees: lossless by enumeration, and equal to a reference that works
by other means.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial

import pytest
import reference
import torch
import tree_reference
from loops import for_each, slow, some
from torch import Tensor
from tree_reference import Given, Outcome, expected_kept, law_of, random_drafts, random_tree

from hsd import HsdError
from hsd.audit import audit, context_free_models, random_models, target_law, total_variation
from hsd.audit.chains import TableModels
from hsd.audit.trees import (
    TreeShape,
    audit_tree_rules,
    comb_shape,
    outcomes,
    paths_shape,
    regular_shape,
    shapes,
    tree_output_law,
)
from hsd.rules import (
    RULES,
    TREE_RULES,
    DraftTree,
    Ending,
    TreePath,
    TreeRule,
    check_fit,
    decide,
    endings,
    find_tree_rule,
)
from hsd.rules.tree import Process

EXACT = 1e-12
SIZES = [
    (2, 1, 2),
    (3, 1, 3),
    (2, 2, 1),
    (3, 2, 2),
    (2, 2, 3),
    (4, 1, 3),
    (3, 3, 1),
    (2, 2, 2),
    (4, 2, 1),
    (2, 1, 3),
]
# V, depth, K, seed
MODELS = [(*SIZES[seed % len(SIZES)], seed) for seed in range(30)] + [(2, 3, 2, 30), (4, 2, 2, 31)]
SAMPLED = ("paths", "comb", "distinct", "full, independent", "full, distinct", "full, mixed")
SOURCES: dict[str, Callable[[Given], Iterator[Outcome]]] = {
    "top-down": tree_reference.top_down,
    "traversal": tree_reference.traversal,
    "one-hot": tree_reference.one_hot,
    **{
        f"recursive-{name}": partial(tree_reference.recursive, reference.RULES[name])
        for name in ("tokenwise", "blockwise", "hsd", "agreement")
    },
}


def fitting(shape: TreeShape) -> list[TreeRule]:
    """The lossless rules that a layout is made for."""
    return [
        rule
        for name, rule in TREE_RULES.items()
        if rule.lossless
        and shape.siblings in rule.siblings
        and (shape.paths or not name.startswith("recursive"))
    ]


def law_on_average(
    rule: TreeRule, models: TableModels, shape: TreeShape
) -> dict[tuple[int, ...], Tensor]:
    """tokens kept → (V,): how likely they are kept, times the law of the token after them."""
    found: dict[tuple[int, ...], Tensor] = defaultdict(
        lambda: torch.zeros(models.vocab, dtype=torch.float64)
    )
    for weight, tree, ending in outcomes(rule, models, shape):
        found[tree.path(ending.node)] += weight * ending.next
    return found


def kept_on_average(rule: TreeRule, models: TableModels, shape: TreeShape) -> float:
    return sum(
        weight * len(tree.path(ending.node))
        for weight, tree, ending in outcomes(rule, models, shape)
    )


# Enumeration


def marked(at: int, model: tuple[int, ...]) -> object:
    """One model at once, one of each size usually, all where there is time."""
    return (
        model
        if at == 0
        else pytest.param(*model, marks=pytest.mark.long if at < 5 else pytest.mark.slow)
    )


@pytest.mark.parametrize(
    ("vocab", "depth", "drafts", "seed"), [marked(*one) for one in enumerate(MODELS)]
)
def test_every_rule_follows_the_target_on_every_layout_it_fits(
    vocab: int, depth: int, drafts: int, seed: int
):
    models = random_models(vocab, depth, seed)
    truth = target_law(models)
    judged = 0
    for layout, shape in shapes(drafts, depth, vocab).items():
        for rule in fitting(shape):
            law = tree_output_law(rule, models, shape)
            assert law is not None, f"{rule.name}, {layout}"
            assert total_variation(law[0], truth) < EXACT, f"{rule.name}, {layout}"
            assert 0 <= law[1] <= depth + EXACT
            judged += 1
    assert judged >= 13


@pytest.mark.long
@pytest.mark.parametrize(
    ("p", "q"),
    some(
        [
            ([0.5, 0.5, 0], [0, 0.3, 0.7]),
            ([1, 0, 0], [0.2, 0.5, 0.3]),
            ([0, 0.2, 0.8], [0.9, 0.1, 0]),
        ],
        2,
    ),
)
def test_zeros_in_either_row_lose_nothing(p: list[float], q: list[float]):
    models = context_free_models(p, q, 2)
    found, skipped = audit_tree_rules(models, 2)
    assert skipped == []
    exact = {name: row for name, row in found.items() if TREE_RULES[name.split(", ")[0]].lossless}
    assert len(exact) > 20
    assert all(row["total_variation"] < EXACT for row in exact.values())


@pytest.mark.long
@pytest.mark.parametrize("layout", some(shapes(2, 2, 3), 3))
def test_the_probabilities_of_all_outcomes_sum_to_one(layout: str):
    models = random_models(3, 2, 0)
    shape = shapes(2, 2, 3)[layout]
    for rule in fitting(shape):
        total = sum(weight for weight, _, _ in outcomes(rule, models, shape))
        assert total == pytest.approx(1, abs=EXACT)


@pytest.mark.long
def test_the_audit_judges_every_rule_and_layout_and_says_what_it_skipped():
    found = audit(vocab=3, gamma=2, seed=3, drafts=2)
    names = {
        f"{rule.name}, {layout}"
        for layout, shape in shapes(2, 2, 3).items()
        for rule in fitting(shape)
    }
    assert names <= set(found["rules"])
    assert found["skipped"] == []
    assert all(found["rules"][name]["lossless"] is True for name in names)
    assert (
        audit(vocab=2, gamma=1, seed=0, drafts=3)["rules"].keys() & {"top-down, distinct"} == set()
    )


@pytest.mark.long
def test_what_is_too_large_is_skipped_by_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.modules[tree_output_law.__module__], "MAX_ENDINGS", 40)
    found, skipped = audit_tree_rules(random_models(3, 2, 0), 2)
    assert "top-down, full, independent" in skipped
    assert "one-hot, top" in found
    assert not set(skipped) & set(found)


def test_with_one_audited_draft_there_are_no_trees():
    assert "skipped" not in audit(vocab=2, gamma=2, seed=0, drafts=1)
    with pytest.raises(HsdError, match="drafts 0"):
        audit(vocab=2, gamma=2, seed=0, drafts=0)


# Trees that are drawn only as far as a rule looks, against all trees drawn in full


def rows(
    models: TableModels,
    shape: TreeShape,
    tokens: tuple[int, ...],
    table: dict[tuple[int, ...], Tensor],
) -> Tensor:
    """(n+1, V): the row after every node."""
    paths: list[tuple[int, ...]] = [()]
    for token, parent in zip(tokens, shape.parents, strict=True):
        paths.append((*paths[parent], token))
    return torch.stack([table[path] for path in paths])


def chance_of(shape: TreeShape, tokens: tuple[int, ...], q: Tensor) -> float:
    """How likely a tree has these tokens."""
    result = 1.0
    for node, (token, parent) in enumerate(zip(tokens, shape.parents, strict=True), start=1):
        before = [tokens[i - 1] for i in range(1, node) if shape.parents[i - 1] == parent]
        row = q[parent].tolist()
        if shape.siblings == "independent":
            result *= row[token]
        elif token in before:
            return 0.0
        elif shape.siblings == "mixed" and not before:
            many = shape.parents.count(parent) - 1
            chosen = sorted(range(len(row)), key=lambda x, row=row: -row[x])[:many]
            result *= 0.0 if token in chosen else row[token] / (1 - sum(row[x] for x in chosen))
        elif shape.siblings == "distinct":
            result *= row[token] / (1 - sum(row[x] for x in before))
        elif row[token] < max(value for x, value in enumerate(row) if x not in before):
            return 0.0
    return result


def brute_force(
    rule: TreeRule, models: TableModels, shape: TreeShape
) -> tuple[dict[tuple[int, ...], float], float]:
    """The law of (kept tokens, next token), from every tree drawn in full; and how many are kept on
    average.
    """
    law: dict[tuple[int, ...], float] = defaultdict(float)
    mean = 0.0
    for tokens in itertools.product(range(models.vocab), repeat=len(shape.parents)):
        p = rows(models, shape, tokens, models.target)
        q = rows(models, shape, tokens, models.draft)
        if not (chance := chance_of(shape, tokens, q)):
            continue
        drawn = frozenset[int]()
        if shape.siblings == "mixed":
            q = without_chosen(shape, tokens, q)
            drawn = frozenset(shape.parents.index(n) + 1 for n in shape.parents)
        tree = DraftTree(tokens, shape.parents, p, q, shape.paths, shape.siblings, drawn)
        for weight, ending in endings(partial(rule.process, tree)):
            path = tree.path(ending.node)
            mean += chance * weight * len(path)
            for token, probability in enumerate(ending.next.tolist()):
                law[(*path, token)] += chance * weight * probability
    return law, mean


def without_chosen(shape: TreeShape, tokens: tuple[int, ...], q: Tensor) -> Tensor:
    """(n+1, V): the rows that the first child of every node was drawn from, which its siblings are
    no part of.
    """
    left = q.clone()
    for node in set(shape.parents):
        for child in shape.children(node)[1:]:
            left[node, tokens[child - 1]] = 0
    return left / left.sum(-1, keepdim=True)


SMALL: dict[str, TreeShape] = {
    "paths": paths_shape(2, 2),
    "comb": comb_shape(2, 2),
    "distinct": paths_shape(2, 2, "distinct"),
    "top": paths_shape(2, 2, "chosen"),
    "three at the root": regular_shape(3, 1, "distinct"),
    "uneven": TreeShape((0, 0, 1, 1, 3), siblings="independent"),
    "uneven, distinct": TreeShape((0, 0, 1, 1, 3), siblings="distinct"),
    "numbered across levels": TreeShape((0, 1, 0, 1), siblings="distinct"),
    "mixed": regular_shape(2, 2, "mixed"),
}


@pytest.mark.long
@pytest.mark.parametrize("layout", some([slow("comb"), *(n for n in SMALL if n != "comb")], 2))
def test_trees_drawn_on_demand_give_the_law_of_all_trees_drawn_in_full(layout: str):
    shape = SMALL[layout]
    models = random_models(
        3, max(len(lineage(shape, n)) for n in range(len(shape.parents) + 1)), seed=len(layout)
    )
    for rule in fitting(shape):
        wanted, mean = brute_force(rule, models, shape)
        found: dict[tuple[int, ...], float] = defaultdict(float)
        for weight, tree, ending in outcomes(rule, models, shape):
            for token, probability in enumerate(ending.next.tolist()):
                found[(*tree.path(ending.node), token)] += weight * probability
        assert all(
            found[path] == pytest.approx(wanted[path], abs=EXACT) for path in {*found, *wanted}
        ), rule.name
        assert kept_on_average(rule, models, shape) == pytest.approx(mean, abs=EXACT)


def lineage(shape: TreeShape, node: int) -> list[int]:
    return [node, *lineage(shape, shape.parents[node - 1])] if node else []


# What the theory promises


@for_each("seed", range(20))
def test_on_chosen_trees_the_kept_tokens_are_what_the_target_gives_the_paths(seed: int):
    """Σ p(path) over the nodes: no lossless rule can keep more of a tree that was not drawn."""
    vocab, depth, drafts = [(2, 2, 2), (3, 2, 2), (4, 1, 3), (3, 3, 1), (3, 2, 3)][seed % 5]
    models = random_models(vocab, depth, 100 + seed)
    for siblings in (regular_shape(drafts, depth, "chosen"), paths_shape(drafts, depth, "chosen")):
        [(_, tree, _), *_] = [
            o for o in outcomes(TREE_RULES["one-hot"], models, siblings) if o[1].drawn
        ]
        full = tree
        for node in range(1, len(siblings.parents) + 1):
            if node not in full.drawn:
                [(_, full)] = list(full.draws(node))
        best = sum(models.joint(models.target, full.path(node)) for node in full.drawn)
        assert kept_on_average(TREE_RULES["one-hot"], models, siblings) == pytest.approx(
            best, abs=EXACT
        )


def compare_chain(chain: str, tree_rule: str, seed: int) -> None:
    """All endings of a tree rule on one draft are those of the chain rule's law, test by test."""
    models = random_models(3, 3, seed)
    for tokens in itertools.product(range(3), repeat=3):
        p = models.rows(models.target, tokens, 4)
        q = models.rows(models.draft, tokens, 3)
        law = RULES[chain].law(p, q, torch.tensor(tokens))
        tree = DraftTree(tokens, (0, 1, 2), p, q, (TreePath((1, 2, 3)),))
        coin = 0.0 if law.forward else 1.0  # what goes on to the next test
        _, made = decide(TREE_RULES[tree_rule].process(tree), lambda test, coin=coin: coin)
        tested = [test.node for test, _, _ in made]
        assert tested == list(law.order())[: len(tested)]
        assert len(tested) == 3 or law.threshold[len(tested) - 1] == 0
        for test, _, _ in made:
            assert test.threshold == pytest.approx(float(law.threshold[test.node - 1]), abs=EXACT)
        found = {
            ending.node: (weight, ending.next)
            for weight, ending in endings(lambda t=tree: process(tree_rule, t))
        }
        for kept, stop in enumerate(law.stop.tolist()):
            weight, row = found.get(kept, (0.0, law.next(kept)))
            assert weight == pytest.approx(stop, abs=EXACT)
            assert torch.allclose(row, law.next(kept), rtol=0, atol=1e-11)


def process(name: str, tree: DraftTree) -> Process:
    return TREE_RULES[name].process(tree)


@for_each("seed", range(4), every=2)
@for_each(
    ("chain", "tree_rule"),
    [
        ("hsd", "traversal"),
        ("hsd", "recursive-hsd"),
        ("blockwise", "recursive-blockwise"),
        ("tokenwise", "recursive-tokenwise"),
        ("tokenwise", "top-down"),
    ],
)
def test_on_one_draft_a_tree_rule_is_the_chain_rule(chain: str, tree_rule: str, seed: int):
    compare_chain(chain, tree_rule, seed)


@pytest.mark.long
@pytest.mark.parametrize("layout", ["paths", "comb"])
@pytest.mark.parametrize("seed", some(range(4), 2))
def test_draft_after_draft_by_hsd_and_by_block_verification_are_one_law(layout: str, seed: int):
    models = random_models(3, 2, seed)
    shape = shapes(2, 2, 3)[layout]
    hsd, block = (
        law_on_average(TREE_RULES[name], models, shape)
        for name in ("recursive-hsd", "recursive-blockwise")
    )
    for case in {*hsd, *block}:
        assert torch.allclose(hsd[case], block[case], rtol=0, atol=EXACT), case


@pytest.mark.long
@for_each("seed", range(30), every=3)
def test_traversal_keeps_at_least_as_much_as_top_down(seed: int):
    """On every sampled layout of 30 random models; with one level they are the same rule."""
    vocab, depth, drafts = [(2, 2, 2), (3, 2, 2), (2, 2, 3), (3, 1, 2)][seed % 4]
    models = random_models(vocab, depth, 300 + seed)
    for layout, shape in shapes(drafts, depth, vocab).items():
        if layout in SAMPLED:
            more, less = (
                kept_on_average(TREE_RULES[name], models, shape)
                for name in ("traversal", "top-down")
            )
            assert more >= less - EXACT, layout
            if depth == 1:
                assert more == pytest.approx(less, abs=EXACT)


@pytest.mark.long
@pytest.mark.parametrize("seed", some(range(8), 2))
def test_more_drafts_keep_more(seed: int):
    models = random_models(3, 2, 500 + seed)
    for rule in ("recursive-tokenwise", "recursive-hsd", "traversal", "top-down"):
        kept = [
            kept_on_average(TREE_RULES[rule], models, paths_shape(drafts, 2)) for drafts in (1, 2)
        ]
        assert kept[1] > kept[0], rule


# The reference


def as_tree(given: Given, dtype: torch.dtype = torch.float64) -> DraftTree:
    p = torch.tensor(given.p, dtype=dtype)
    q = torch.tensor(given.q, dtype=dtype)
    drafts = tuple(TreePath(nodes, fork) for nodes, fork in given.drafts)
    return DraftTree(
        given.tokens,
        given.parents,
        p,
        q,
        drafts,
        "independent" if given.replacement else "distinct",
    )


def law_of_rule(rule: TreeRule, given: Given) -> dict[int, tuple[float, list[float]]]:
    found: Iterator[tuple[float, Ending]] = endings(partial(rule.process, as_tree(given)))
    return law_of(Outcome(weight, ending.node, ending.next.tolist()) for weight, ending in found)


def assert_equal_laws(
    found: dict[int, tuple[float, list[float]]], wanted: dict[int, tuple[float, list[float]]]
) -> None:
    for node in {*found, *wanted}:
        (mine, row), (other, other_row) = (law.get(node, (0.0, [])) for law in (found, wanted))
        assert mine == pytest.approx(other, abs=EXACT), f"how likely node {node} is kept"
        assert row == pytest.approx(other_row or [0.0] * len(row), abs=EXACT) or not row, (
            f"what follows node {node}"
        )


@pytest.mark.parametrize("name", ["top-down", "traversal", "one-hot"])
@pytest.mark.parametrize("replacement", [True, False])
def test_rules_agree_with_the_reference_on_trees_of_any_form(name: str, replacement: bool):
    for seed in range(160):
        rng = random.Random(seed)
        given = random_tree(
            rng.randint(1, 6), rng.randint(0, 6), replacement, rng, bushy=bool(seed % 2)
        )
        assert_equal_laws(law_of_rule(TREE_RULES[name], given), law_of(SOURCES[name](given)))


@pytest.mark.parametrize("name", [name for name in SOURCES if name.startswith("recursive")])
def test_rules_agree_with_the_reference_on_drafts_of_any_form(name: str):
    for seed in range(100):
        rng = random.Random(seed)
        given = random_drafts(rng.randint(1, 4), rng.randint(1, 4), rng.randint(1, 3), rng)
        assert_equal_laws(law_of_rule(TREE_RULES[name], given), law_of(SOURCES[name](given)))


def test_the_reference_covers_every_rule():
    assert set(SOURCES) == {name for name, rule in TREE_RULES.items() if rule.lossless}
    for source in SOURCES.values():
        given = random_drafts(3, 2, 2, random.Random(3))
        assert sum(outcome.weight for outcome in source(given)) == pytest.approx(1, abs=EXACT)
        assert 0 <= expected_kept(given, source(given)) <= 2


# Worked by hand


def test_traversal_on_a_small_tree_by_hand():
    """Root with children a, b; p = (.5, .3, .2), q = (.6, .3, .1). Rejected a leaves max(p - q, 0)
    = (0, 0, .1).
    """
    p = torch.tensor([[0.5, 0.3, 0.2]] * 3, dtype=torch.float64)
    q = torch.tensor([[0.6, 0.3, 0.1]] * 3, dtype=torch.float64)
    found = {
        e.node: (w, e.next.tolist())
        for w, e in endings(partial(process, "traversal", DraftTree((0, 1), (0, 0), p, q)))
    }
    assert found[1] == (pytest.approx(5 / 6), pytest.approx([0.5, 0.3, 0.2]))
    assert found[0] == (pytest.approx(1 / 6), pytest.approx([0, 0, 1]))
    assert 2 not in found


def test_traversal_gives_up_a_branch_from_which_nothing_can_be_reached():
    """Node 1 has rate .5 and its target is below its draft everywhere: after one child failed no
    other is asked.
    """
    p = torch.tensor([[0.25, 0.75], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]], dtype=torch.float64)
    q = torch.tensor([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]], dtype=torch.float64)
    tree = DraftTree((0, 0, 1), (0, 1, 1), p, q)
    ending, made = decide(TREE_RULES["traversal"].process(tree), lambda test: 0.999)
    assert [(test.node, test.threshold) for test, _, _ in made] == [(2, 0.5), (1, 0.0)]
    assert ending.node == 0
    assert ending.next.tolist() == [0.0, 1.0]


def test_a_shared_prefix_is_no_second_draw():
    """The second draft leaves the first one after its first token; where that was rejected it says
    nothing new.
    """
    p = torch.tensor([[0.25, 0.75], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]], dtype=torch.float64)
    q = torch.tensor([[0.5, 0.5]] * 4, dtype=torch.float64)
    tree = DraftTree((0, 0, 1), (0, 1, 1), p, q, (TreePath((1, 2)), TreePath((1, 3), fork=1)))
    for name in ("recursive-tokenwise", "recursive-hsd"):
        ending, made = decide(TREE_RULES[name].process(tree), lambda test: 0.999)
        assert {test.draft for test, _, _ in made} == {0}
        assert (ending.node, ending.next.tolist()) == (0, [0.0, 1.0])


def test_a_draft_that_misses_what_was_kept_is_passed_over():
    """After `a` of the first draft, a second draft that begins with `b` is not verified; a third
    with `a` is.
    """
    p = torch.tensor(
        [[0.5, 0.5], [0.1, 0.9], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]
    )
    q = torch.full((7, 2), 0.5)
    tree = DraftTree(
        (0, 0, 1, 0, 0, 1),
        (0, 1, 0, 3, 0, 5),
        p.double(),
        q.double(),
        tuple(map(TreePath, ((1, 2), (3, 4), (5, 6)))),
    )
    ending, made = decide(TREE_RULES["recursive-tokenwise"].process(tree), lambda test: 0.5)
    assert [(test.draft, test.node) for test, _, _ in made] == [(0, 1), (0, 2), (2, 6)]
    assert ending.node == 6


def test_a_rule_that_does_not_fit_is_refused_with_those_that_do():
    for siblings in ("independent", "distinct", "chosen"):
        for rule in TREE_RULES.values():
            if siblings in rule.siblings:
                check_fit(rule, "some", siblings)
                continue
            with pytest.raises(
                HsdError, match=r"drafts 2, tree 'some': rule .* does not fit"
            ) as error:
                check_fit(rule, "some", siblings)
            assert "one-hot" in str(error.value)
    assert find_tree_rule("hsd") is TREE_RULES["recursive-hsd"]
    with pytest.raises(HsdError, match="does not fit several drafts"):
        find_tree_rule("naive-hsd")
    with pytest.raises(HsdError, match="unknown rule 'best'"):
        find_tree_rule("best")

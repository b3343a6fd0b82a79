"""The rules that judge by the target's rows clipped to the draft's: their law, and what of the
tolerance it spends.
"""

from __future__ import annotations

import itertools
import math

import pytest
import reference
import torch
from hypothesis import given
from hypothesis import strategies as st
from loops import for_each, some
from table_models import table_pair
from test_fuzzy import decoded_law, entropy_between, going_on, kl, models_of
from test_laws import rows_of_both
from torch import Tensor

from hsd import RULES, HsdError, run
from hsd.audit import TableModels, random_models, target_law, total_variation
from hsd.audit.trees import outcomes, regular_shape, shapes
from hsd.rules.clipped import clip, clipped_tree
from hsd.trace import Trace, step_in_words

EXACT = 1e-12
TOLERANCES = [0.01, 0.1, 0.4, 2.0, math.inf]
CLIPPED = ["clipped", "clipped-hsd"]


def clipped_models(models: TableModels, tolerance: float) -> TableModels:
    """The target replaced by L wherever a token is drafted."""
    rows = {
        x: clip(row[None], models.draft[x][None], tolerance)[0] if len(x) < models.gamma else row
        for x, row in models.target.items()
    }
    return TableModels(rows, models.draft, models.vocab, models.gamma)


# The law L


@given(st.integers(1, 6).flatmap(rows_of_both), st.sampled_from([0.0, 1e-3, *TOLERANCES]))
def test_it_spends_the_tolerance_exactly_or_all_that_the_draft_is_off(
    rows: tuple[list[float], list[float]], T: float
):
    p, q = (torch.tensor([row], dtype=torch.float64) for row in rows)
    row = clip(p, q, T)
    off = kl(p[0], q[0])  # of q from p: infinite where q writes what p does not
    assert float(row.sum()) == pytest.approx(1, abs=1e-9)
    assert float(row[p == 0].sum()) == 0
    spent = float(kl(p[0], row[0]))
    assert spent <= T + 1e-9
    if math.isfinite(float(off)):
        assert spent == pytest.approx(min(T, float(off)), abs=1e-9)
    assert row[0].tolist() == pytest.approx(reference.clip(*rows, T), abs=1e-7)


def test_it_spends_no_more_where_the_target_hardly_writes_what_the_draft_does():
    """Over a large vocabulary with ratios q/p of 10¹⁰ and more, of which a difference of sums would
    leave nothing.
    """
    numbers = torch.Generator().manual_seed(1)
    p, q = (
        (8 * torch.randn(4, 20_000, generator=numbers, dtype=torch.float64)).softmax(-1)
        for _ in "pq"
    )
    for T in (0.02, 0.3, 2.0):
        row = clip(p, q, T)
        spent = torch.xlogy(row, row / p).sum(-1)
        assert spent.tolist() == pytest.approx([T] * 4, abs=1e-9)
        assert row.sum(-1).tolist() == pytest.approx([1.0] * 4, abs=1e-12)


@for_each(
    "q", [[0.1, 0.3, 0.6], [0.0, 0.9, 0.1], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.2, 0.8]]
)
@for_each("T", [0.01, 0.05, 0.3])
def test_no_law_within_the_tolerance_shares_more_with_the_draft(q: list[float], T: float):
    """Against every law of three tokens on a grid; q = 1 stands for a token that was chosen."""
    p = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    q = torch.tensor(q, dtype=torch.float64)
    grid = [(i / 80, j / 80, (80 - i - j) / 80) for i in range(81) for j in range(81 - i)]
    laws = torch.tensor(grid, dtype=torch.float64)
    within = laws[(torch.xlogy(laws, laws) - torch.xlogy(laws, p)).sum(-1) <= T]
    best = torch.minimum(within, q).sum(-1).max()
    found = torch.minimum(clip(p[None], q[None], T), q).sum()
    assert best - EXACT <= found <= best + 0.03
    assert found > torch.minimum(p, q).sum() + 1e-3 or float(torch.minimum(p, q).sum()) > 1 - EXACT


# Chains


@pytest.mark.parametrize("name", CLIPPED)
@for_each("tolerance", [-1.0, *TOLERANCES], every=2)
@for_each("seed", range(4))
def test_a_text_follows_the_clipped_rows_and_its_divergence_is_what_these_spend(
    name: str, tolerance: float, seed: int
):
    """Step after step, by enumeration. KL(text‖target) = E[Σ KL(L‖p)], which is T a token while q
    is farther off.
    """
    models = models_of(seed)
    rows = clipped_models(models, tolerance)
    text = decoded_law(models, RULES[name].tuned(tolerance))
    assert total_variation(text, target_law(rows)) < EXACT
    costs = {x: float(kl(models.target[x], row)) for x, row in rows.target.items()}
    spent = sum(
        float(text[x].sum()) * sum(costs[x[:t]] for t in range(models.gamma))
        for x in itertools.product(range(models.vocab), repeat=models.gamma)
    )
    assert entropy_between(text, target_law(models)) == pytest.approx(spent, abs=1e-9)
    off = {
        x: float(kl(models.target[x], models.draft[x]))
        for x in rows.target
        if len(x) < models.gamma
    }
    for x, most in off.items():
        if math.isfinite(most):
            assert costs[x] == pytest.approx(min(most, max(tolerance, 0.0)), abs=1e-9)


@pytest.mark.parametrize("exact", ["tokenwise", "blockwise", "hsd"])
def test_it_is_a_lossless_rule_with_l_in_place_of_p(exact: str):
    """So block verification of L is HSD of L, draft by draft; a tolerance below 0 is the rule
    itself.
    """
    models = models_of(2)
    name = "clipped" if exact == "tokenwise" else "clipped-hsd"
    for tolerance in (-1.0, 0.1):
        rows = clipped_models(models, tolerance)
        for draft in itertools.product(range(models.vocab), repeat=models.gamma):
            p, near = (one.rows(one.target, draft, models.gamma + 1) for one in (models, rows))
            q = models.rows(models.draft, draft, models.gamma)
            tokens = torch.tensor(draft)
            mine = RULES[name].tuned(tolerance).law(p, q, tokens)
            wanted = RULES[exact].law(near, q, tokens)
            assert torch.allclose(mine.stop, wanted.stop, atol=EXACT)
            for t, stop in enumerate(mine.stop.tolist()):
                assert stop < 1e-9 or torch.allclose(mine.next(t), wanted.next(t), atol=1e-9)


def test_for_one_tolerance_it_keeps_more_than_fsd_which_spends_no_less():
    """FSD with D = KL(q‖p): what it spends on a token is 0 or D; clipped spends no more on any, and
    shares more.
    """
    models = random_models(4, 1, 3)
    p = models.target[()]
    q = models.draft[()]
    off = float(kl(p, q))
    for tolerance in (off / 4, off / 2, 0.99 * off):
        row = clip(p[None], q[None], tolerance)[0]
        # which is FSD's: D > T
        assert float(torch.minimum(row, q).sum()) > float(torch.minimum(p, q).sum()) + 0.01
        assert float(kl(p, row)) == pytest.approx(tolerance, abs=EXACT)


# Trees


def proposal(tree: list[int], draft: Tensor, siblings: str) -> Tensor:
    """What L is clipped to: the draft's row; with chosen siblings 1 on each of them, and on the
    rest what is drawn.
    """
    if siblings == "independent":
        return draft
    chosen = draft.topk(len(tree) - (siblings == "mixed")).indices
    rest = draft.index_fill(0, chosen, 0.0)
    row = rest / rest.sum() if siblings == "mixed" else torch.zeros_like(draft)
    return row.index_fill(0, chosen, 1.0)


@pytest.mark.parametrize("siblings", ["independent", "chosen", "mixed"])
@pytest.mark.parametrize(
    "tolerance", [-1.0, 0.1, *(pytest.param(x, marks=pytest.mark.slow) for x in (0.02, 5.0))]
)
def test_a_tree_writes_the_rows_clipped_to_what_its_siblings_were_proposed_from(
    siblings: str, tolerance: float
):
    models = random_models(3, 2, seed=5)
    shape = regular_shape(2, 2, siblings)
    near = {x: proposal(shape.children(0), row, siblings) for x, row in models.draft.items()}
    rows = {
        x: clip(p[None], near[x][None], tolerance)[0] if len(x) < 2 else p
        for x, p in models.target.items()
    }
    rule = clipped_tree(RULES["clipped"], tolerance)
    found = [
        (weight, tree.path(end.node), end.next)
        for weight, tree, end in outcomes(rule, models, shape)
    ]
    assert (
        total_variation(going_on(found, rows), target_law(TableModels(rows, models.draft, 3, 2)))
        < EXACT
    )
    # the exact optimum of one group: all that L gives the chosen ones, and Σ min(L, q′)
    if siblings != "independent":
        kept = sum(weight for weight, path, _ in found if path)
        assert kept == pytest.approx(float(torch.minimum(rows[()], near[()]).sum()), abs=EXACT)


def test_a_chosen_tree_spends_its_tolerance_on_its_children():
    """Their mass P rises to a with a·ln(a/P) + (1 − a)·ln((1 − a)/(1 − P)) = T."""
    models = random_models(4, 1, seed=1)
    T = 0.05
    rule = clipped_tree(RULES["clipped"], T)
    shape = shapes(2, 1, 4)["full, chosen"]
    kept = sum(weight for weight, tree, end in outcomes(rule, models, shape) if end.node)
    P = float(models.target[()][models.draft[()].topk(2).indices].sum())
    spent = kept * math.log(kept / P) + (1 - kept) * math.log((1 - kept) / (1 - P))
    assert spent == pytest.approx(T, abs=EXACT)
    assert kept > P


# Runs


@pytest.mark.parametrize("rule", CLIPPED)
def test_a_run_says_that_it_is_not_lossless_and_where_it_is(rule: str):
    pair = table_pair(vocab=5, order=2, seed=4)
    shared = {"gamma": 3, "max_new_tokens": 24, "seed": 3}
    trace = run(pair, "abc", rule=rule, tolerance=0.1, **shared)
    assert any("not lossless" in note for note in trace.setup.notes)
    assert Trace.from_json(trace.to_json()) == trace
    exact = {"clipped": "tokenwise", "clipped-hsd": "hsd"}[rule]
    below = run(pair, "abc", rule=rule, tolerance=-0.01, **shared)
    assert below.tokens == run(pair, "abc", rule=exact, **shared).tokens
    assert any("exact" in note for note in below.setup.notes)
    cold = run(pair, "abc", rule=rule, tolerance=2.0, **{**shared, "temperature": 0})
    assert cold.tokens == run(pair, "abc", system="plain", **{**shared, "temperature": 0}).tokens
    assert not any("lossless" in note for note in cold.setup.notes)


def test_its_tests_are_told_by_l():
    from hsd.facts import facts

    pair = table_pair(vocab=5, order=2, seed=4)
    trace = run(pair, "abc", rule="clipped", tolerance=0.1, gamma=3, max_new_tokens=24, seed=3)
    words = "\n".join(step_in_words(trace, i, facts()) for i in range(len(trace.steps)))
    assert "min(1, L/q) with L = " in words
    assert "clipped to the draft’s, up to T = 0.1 nats off" in words


@pytest.mark.parametrize("tree", some(["grown", "mixed", "top", "paths"], 2))
def test_trees_of_a_run_are_judged_by_it(tree: str):
    pair = table_pair(vocab=5, order=2, seed=4)
    shared = {"tree": tree, "drafts": 3, "gamma": 3, "max_new_tokens": 24, "seed": 3}
    trace = run(pair, "abc", rule="clipped", tolerance=0.1, **shared)
    assert {d.grounds.form for step in trace.steps for d in step.verdict.decisions} == {
        "clipped-token"
    }
    assert any("not lossless" in note for note in trace.setup.notes)
    exact = "one-hot" if tree in ("grown", "top") else "top-down"
    assert (
        run(pair, "abc", rule="clipped", tolerance=0, **shared).tokens
        == run(pair, "abc", rule=exact, **shared).tokens
    )
    with pytest.raises(HsdError, match="tree 'distinct': rule clipped does not fit"):
        run(pair, "abc", rule="clipped", **shared | {"tree": "distinct"})

"""Teeth: mistakes that are easily made in a rule or in a loop, each of which must be caught.

Every wrong law below passes for a verification rule at first sight. The enumeration that finds the
shipped rules exact to 1e-12 must find these off by more than 1e-3; what enumeration cannot see is
caught by decoding with chosen numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest
import torch
from joint_law import chi_square_p, exact_law, first_tokens, toy_pair
from table_models import TableModel, table_pair
from torch import Tensor

import hsd
from hsd import RULES
from hsd.audit import (
    context_free_models,
    output_law,
    random_models,
    target_law,
    total_variation,
    trees,
)
from hsd.audit.trees import OpenTree, comb_shape, regular_shape, tree_output_law
from hsd.rng import Streams
from hsd.rules import TREE_RULES, Law, PrefixRatios, TreePath
from hsd.rules.law import both_masses
from hsd.sampling import draw

pytestmark = pytest.mark.long

LawFunction = Callable[[Tensor, Tensor, Tensor], Law]
hsd_law = RULES["hsd"].law
tokenwise_law = RULES["tokenwise"].law


def largest_distance(law: LawFunction, resamples: bool = False, gamma: int = 3) -> float:
    """The worst total variation from the target over a few pairs of models."""
    pairs = [random_models(vocab=3, gamma=gamma, seed=seed) for seed in range(4)]
    pairs.append(context_free_models([1 / 3, 2 / 3], [2 / 3, 1 / 3], gamma))
    return max(total_variation(output_law(m, law, resamples)[0], target_law(m)) for m in pairs)


# Wrong laws


def uncapped_end(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
    """The whole draft is tested with min(1, r) in place of min(1, r*)."""
    right = hsd_law(p, q, tokens)
    whole = PrefixRatios.of(p, q, tokens).log[-1:].exp().clamp_max(1)
    return replace(right, threshold=torch.cat([right.threshold[:-1], whole]))


def uncapped_throughout(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
    """min(1, r_t) is used in place of c_t: a surplus is paid back later although it is gone."""
    weight = PrefixRatios.of(p, q, tokens).log.exp().clamp_max(1)
    missing, _ = both_masses(p[:-1], q, weight[:-1])
    inner = (missing / (missing + 1 - weight[:-1]))[1:]
    return Law(p, q, torch.cat([inner, weight[-1:]]), forward=False, a=weight[:-1])


def unscaled_residual(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
    """The correction comes from max(p - q, 0), as in the token-wise rule."""
    right = hsd_law(p, q, tokens)
    return replace(right, a=torch.ones_like(right.a))


def scaled_residual_for_tokenwise(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
    """Token-wise tests with the residual of block verification."""
    return replace(tokenwise_law(p, q, tokens), a=hsd_law(p, q, tokens).a)


def forward_instead_of_backward(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
    """HSD's tests taken from the first position on, stopping at the first failure."""
    return replace(hsd_law(p, q, tokens), forward=True)


def missing_one_minus_c(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
    """The inner test divides by 1 - c_t alone."""
    right = hsd_law(p, q, tokens)
    missing, _ = both_masses(p[:-1], q, right.a)
    inner = (missing / (1 - right.a).clamp_min(1e-12)).clamp_max(1)[1:]
    return replace(right, threshold=torch.cat([inner, right.threshold[-1:]]))


def tokenwise_tests_backward(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
    """The right ratios of single tokens, but the last success decides."""
    return replace(tokenwise_law(p, q, tokens), forward=False)


def always_accept_what_the_target_likes(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
    """A token is accepted with p(x): the draft's probability is forgotten."""
    right = tokenwise_law(p, q, tokens)
    return replace(right, threshold=p[:-1].gather(-1, tokens.unsqueeze(-1)).squeeze(-1))


@dataclass(frozen=True)
class GivesUpAtFirstFailure(Law):
    """Goes backward, but the first coin that fails ends it: all of the draft or nothing."""

    @property
    def stop(self) -> Tensor:  # type: ignore[override]
        whole = self.threshold[-1]
        law = torch.zeros(self.gamma + 1, dtype=torch.float64)
        law[-1] = whole
        law[0] = 1 - whole
        return law


@dataclass(frozen=True)
class CorrectsFromTarget(Law):
    """The correction is drawn from the target and not from what is left of it."""

    def next(self, t: int) -> Tensor:
        return self.p[t]


@dataclass(frozen=True)
class CorrectsOneTooLate(Law):
    """The residual of the position after the rejected one."""

    def next(self, t: int) -> Tensor:
        return super().next(min(t + 1, self.gamma))


@dataclass(frozen=True)
class CorrectsOneTooEarly(Law):
    """The residual of the last kept position."""

    def next(self, t: int) -> Tensor:
        return super().next(t if t == self.gamma else max(t - 1, 0))


@dataclass(frozen=True)
class BonusOneTooEarly(Law):
    """After a whole draft the target's row before the last token is used again."""

    def next(self, t: int) -> Tensor:
        return self.p[t - 1] if t == self.gamma else super().next(t)


def as_class(kind: type[Law], base: LawFunction) -> LawFunction:
    """`base` with its laws turned into `kind`."""

    def law(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
        right = base(p, q, tokens)
        return kind(right.p, right.q, right.threshold, right.forward, right.a, right.b)

    law.__name__ = kind.__name__
    return law


WRONG_LAWS: list[LawFunction] = [
    uncapped_end,
    uncapped_throughout,
    unscaled_residual,
    scaled_residual_for_tokenwise,
    forward_instead_of_backward,
    missing_one_minus_c,
    tokenwise_tests_backward,
    always_accept_what_the_target_likes,
    as_class(GivesUpAtFirstFailure, hsd_law),
    as_class(CorrectsFromTarget, hsd_law),
    as_class(CorrectsFromTarget, tokenwise_law),
    as_class(CorrectsOneTooLate, hsd_law),
    as_class(CorrectsOneTooEarly, hsd_law),
    as_class(BonusOneTooEarly, hsd_law),
]


@pytest.mark.parametrize("law", WRONG_LAWS, ids=lambda law: law.__name__)
def test_enumeration_catches_the_wrong_law(law: LawFunction):
    assert largest_distance(law) > 1e-3


def test_enumeration_finds_nothing_wrong_with_the_right_laws():
    for rule in RULES.values():
        if rule.lossless:
            assert largest_distance(rule.law, rule.resamples) < 1e-12


def test_naive_hsd_without_resampling_is_caught():
    assert largest_distance(RULES["naive-hsd"].law, resamples=False) > 1e-3


def test_resampling_after_a_rule_that_needs_none_is_caught():
    assert largest_distance(RULES["hsd"].law, resamples=True) > 1e-3


def test_at_one_drafted_token_the_uncapped_end_makes_no_difference():
    """Why γ must be above 1 in these tests: there is no earlier surplus to cap."""
    assert largest_distance(uncapped_end, gamma=1) < 1e-12


# Wrong comparisons and draws: checked with the numbers that tell them apart


class AcceptsTies(Law):
    """Compares with <= where < belongs."""

    def kept(self, coins: Tensor) -> Tensor:
        return super().kept(coins.nextafter(torch.full_like(coins, -1.0)))


def keeps_an_impossible_token(kind: type[Law]) -> bool:
    """Whether a coin of 0 makes some rule keep a token that the target gives no probability."""
    p = torch.tensor([[0.0, 1.0], [0.5, 0.5]])
    q = torch.tensor([[0.5, 0.5]])
    # the target of the ensemble is not p alone
    asking = [rule for rule in RULES.values() if rule.name != "ensemble"]
    laws = [as_class(kind, rule.law)(p, q, torch.tensor([0])) for rule in asking]
    return any(int(law.kept(torch.zeros(1, dtype=torch.float64))) for law in laws)


def test_accepting_at_equality_is_caught():
    assert keeps_an_impossible_token(AcceptsTies)
    assert not keeps_an_impossible_token(Law)


def draw_from_the_left(row: Tensor, number: Tensor) -> Tensor:
    """Inverts the cumulative sum with the boundary on the wrong side."""
    return torch.searchsorted(row.double().cumsum(-1), number.double()).squeeze(-1)


def draws_an_impossible_token(picker: Callable[[Tensor, Tensor], Tensor]) -> bool:
    row = torch.tensor([0.0, 0.5, 0.0, 0.5, 0.0], dtype=torch.float64)
    numbers = torch.tensor([0.0, 0.25, 0.5, 0.75, 1 - 2**-53], dtype=torch.float64)
    return any(float(row[int(picker(row, number))]) == 0 for number in numbers)


def test_drawing_on_the_wrong_side_of_a_boundary_is_caught():
    assert draws_an_impossible_token(draw_from_the_left)
    assert not draws_an_impossible_token(draw)


# Wrong streams: the law of each part is right, but one number serves twice


class CoinsFromDraft(Streams):
    """The number that drew a token also judges it."""

    def draft(self, count: int) -> Tensor:
        self.used = super().draft(count)
        return self.used

    def coins(self, count: int) -> Tensor:
        return self.used[:count]


class ResidualFromCoins(Streams):
    """The coin of the first position also draws the token after the kept ones."""

    def coins(self, count: int) -> Tensor:
        self.used = super().coins(count)
        return self.used

    def after(self, count: int) -> Tensor:
        return self.used[:count]


class ResidualFromDraft(CoinsFromDraft):
    """The number that drew the first token also draws the one after the kept ones."""

    def coins(self, count: int) -> Tensor:
        return Streams.coins(self, count)

    def after(self, count: int) -> Tensor:
        return self.used[:count]


@pytest.mark.parametrize(
    ("rule", "streams"),
    [
        ("hsd", CoinsFromDraft),
        pytest.param("tokenwise", ResidualFromCoins, marks=pytest.mark.slow),
        ("hsd", ResidualFromDraft),
        pytest.param("tokenwise", CoinsFromDraft, marks=pytest.mark.slow),
        pytest.param("hsd", ResidualFromCoins, marks=pytest.mark.slow),
        pytest.param("tokenwise", ResidualFromDraft, marks=pytest.mark.slow),
    ],
)
def test_statistics_catch_a_number_that_is_used_twice(rule: str, streams: type[Streams]):
    assert stream_p_value(rule, streams) < 1e-6


@pytest.mark.parametrize("rule", [pytest.param("tokenwise", marks=pytest.mark.slow), "hsd"])
def test_statistics_find_nothing_wrong_with_three_streams(rule: str):
    assert stream_p_value(rule, Streams) > 1e-3


def stream_p_value(rule: str, streams: type[Streams]) -> float:
    """Chi-square of the first two tokens, decoded with numbers from `streams`; residuals have two
    tokens to choose.
    """
    pair = toy_pair((0.4, 0.0, 0.35, 0.25), (0.7, 0.1, 0.1, 0.1))
    counts = first_tokens(
        pair, 2, range(1_500), numbers=streams, rule=rule, gamma=2, max_new_tokens=3
    )
    return chi_square_p(counts, exact_law(pair, 2))


# Wrong uses of a tree


@pytest.mark.parametrize("rule", ["top-down", "traversal"])
@pytest.mark.parametrize("seed", range(6))
def test_the_drafts_softmax_on_a_chosen_tree_is_caught(
    rule: str, seed: int, monkeypatch: pytest.MonkeyPatch
):
    """Chosen tokens were not drawn: a test of them by p/q follows another law than the target's."""
    models = random_models(3, 2, seed)
    shape = regular_shape(2, 2, "chosen")
    right = tree_output_law(TREE_RULES[rule], models, shape)
    monkeypatch.setattr(trees, "OpenTree", Forgetful)
    wrong = tree_output_law(TREE_RULES[rule], models, shape)
    assert wrong is not None
    assert right is not None
    assert total_variation(wrong[0], target_law(models)) > 0.02
    assert total_variation(right[0], target_law(models)) < 1e-12


@dataclass(frozen=True)
class Forgetful(OpenTree):
    """Siblings that differ or were chosen, to a rule that takes them for independent draws."""

    def proposal(self, node: int) -> Tensor:
        return self.models.draft[self.path(self.shape.parents[node - 1])]

    def draws(self, node: int) -> Iterator[tuple[float, OpenTree]]:
        known = OpenTree(self.models, self.shape, self.drawn).draws(node)
        return (
            (chance, Forgetful(self.models, self.shape, drawn.drawn)) for chance, drawn in known
        )


@pytest.mark.parametrize(
    "rule",
    [name for name, rule in TREE_RULES.items() if "distinct" in rule.siblings and rule.lossless],
)
def test_a_rule_that_forgets_what_earlier_siblings_took_is_caught(
    rule: str, monkeypatch: pytest.MonkeyPatch
):
    """All but the rules that look at no q: agreement, and the one for chosen trees."""
    models = random_models(3, 2, 1)
    shape = comb_shape(2, 2, "distinct")
    distances = []
    for tree in (OpenTree, Forgetful):
        monkeypatch.setattr(trees, "OpenTree", tree)
        found = tree_output_law(TREE_RULES[rule], models, shape)
        assert found is not None
        distances.append(total_variation(found[0], target_law(models)))
    assert distances[0] < 1e-12
    assert (distances[1] < 1e-12) == (rule in ("recursive-agreement", "one-hot"))


def test_a_fork_that_is_not_told_is_caught():
    """A comb whose drafts claim to be independent from the root on, although they share their first
    tokens.
    """
    models = random_models(3, 2, 1)
    told = comb_shape(2, 2)
    hidden = replace(told, paths=tuple(TreePath(path.nodes) for path in told.paths))
    distances = []
    for shape in (told, hidden):
        found = tree_output_law(TREE_RULES["recursive-hsd"], models, shape)
        assert found is not None
        distances.append(total_variation(found[0], target_law(models)))
    assert distances[0] < 1e-12
    assert distances[1] > 1e-3


@pytest.mark.parametrize("warping", [{"top_p": 0.6}, {"top_k": 2}, {"temperature": 0.5}], ids=str)
def test_a_draft_that_is_not_cut_like_the_target_is_caught(warping: dict[str, float]):
    """A model that drafts for itself keeps everything, as long as the same filters apply on both
    sides.
    """
    model = table_pair(vocab=5, order=2, seed=4)
    twins = replace(model, draft=TableModel(model.target.table))
    assert (
        hsd.run(twins, "ab", gamma=4, max_new_tokens=60, **warping).stats()["acceptance_rate"] == 1
    )
    cut = replace(
        model,
        draft=TableModel(model.target.table**3 / (model.target.table**3).sum(-1, keepdim=True)),
    )
    assert hsd.run(cut, "ab", gamma=4, max_new_tokens=60, **warping).stats()["acceptance_rate"] < 1

"""What every rule keeps to, whatever rows, drafts, trees and coins it is given."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from loops import for_each
from test_laws import close, of_rounding, problems, rows_of_both, tensors
from test_tree_laws import as_tree
from torch import Tensor
from tree_reference import Given, Outcome, law_of, random_rows

from hsd import RULES
from hsd.decoding.judge import ChainDecision
from hsd.draft import Draft
from hsd.rules import TREE_RULES, Change, DraftTree, Ending, TreeRule, decide, endings
from hsd.rules import Test as Asked
from hsd.sampling import draw as draw_token

pytestmark = pytest.mark.long

LAST = 1 - 2**-53  # the largest coin there is
COINS = st.sampled_from([0.0, LAST]) | st.floats(0, LAST)
BOTH = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
# rules that do not look at q: accept with p(x), strike out what fails
BLIND = ("one-hot", "recursive-agreement")
LOSSLESS = [rule for rule in TREE_RULES.values() if rule.lossless]
EVERY_RULE = pytest.mark.parametrize("rule", LOSSLESS, ids=lambda rule: rule.name)


# Trees


@st.composite
def free_trees(draw: st.DrawFn) -> Given:
    """Any form: every node hangs below some earlier one. Distinct siblings only where siblings are
    distinct.
    """
    vocab = draw(st.integers(1, 4))
    replacement = draw(st.booleans())
    both = [draw(rows_of_both(vocab)) for _ in range(draw(st.integers(1, 7)))]
    p = [a for a, _ in both]
    q = [b for _, b in both]
    tokens: list[int] = []
    parents: list[int] = []
    for _ in range(len(both) - 1):
        above = draw(st.integers(0, len(tokens)))
        taken = {token for token, parent in zip(tokens, parents, strict=True) if parent == above}
        left = [x for x in range(vocab) if q[above][x] > 0 and (replacement or x not in taken)]
        if left:
            parents.append(above)
            tokens.append(draw(st.sampled_from(left)))
    return Given(tuple(tokens), tuple(parents), p, q, replacement)


@st.composite
def forks(draw: st.DrawFn) -> list[tuple[int, int]]:
    """(fork, length) of each draft: independent ones, a comb, or drafts of any length that leave
    the first anywhere.
    """
    depth = draw(st.integers(1, 3))
    count = draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["paths", "comb", "free"]))
    if kind == "paths":
        return [(0, depth)] * count
    if kind == "comb":
        return [(0, depth), *((fork, depth) for fork in range(depth))]
    return [
        (0, depth),
        *((draw(st.integers(0, depth - 1)), draw(st.integers(1, 3))) for _ in range(count - 1)),
    ]


@st.composite
def several_drafts(draw: st.DrawFn) -> Given:
    """Drafts that may draw equal tokens: nodes of their own, but the rows after equal texts are
    equal.
    """
    vocab = draw(st.integers(1, 4))
    parents: list[int] = []
    drafts: list[tuple[tuple[int, ...], int]] = []
    for fork, length in draw(forks()):
        nodes = list(drafts[0][0][:fork]) if drafts else []
        while len(nodes) < max(length, fork + 1):
            parents.append(nodes[-1] if nodes else 0)
            nodes.append(len(parents))
        drafts.append((tuple(nodes), fork))
    after = {(): draw(rows_of_both(vocab))}
    texts: list[tuple[int, ...]] = [()]
    for above in parents:
        q_above = after[texts[above]][1]
        text = (*texts[above], draw(st.sampled_from([x for x in range(vocab) if q_above[x] > 0])))
        if text not in after:
            after[text] = draw(rows_of_both(vocab))
        texts.append(text)
    p = [after[text][0] for text in texts]
    q = [after[text][1] for text in texts]
    return Given(tuple(text[-1] for text in texts[1:]), tuple(parents), p, q, True, tuple(drafts))


def trees_for(rule: TreeRule) -> st.SearchStrategy[Given]:
    """Rules that go draft after draft need drafts; the others take any tree."""
    return (
        several_drafts() if rule.name.startswith("recursive") else free_trees() | several_drafts()
    )


def all_endings(rule: TreeRule, tree: DraftTree) -> list[tuple[float, Ending]]:
    return list(endings(partial(rule.process, tree)))


def played(
    rule: TreeRule, tree: DraftTree, data: st.DataObject
) -> tuple[Ending, list[tuple[Asked, float, bool]]]:
    """The rule's decisions with coins of hypothesis' choice."""
    return decide(
        rule.process(tree), lambda test: data.draw(COINS | st.sampled_from(near(test.threshold)))
    )


def near(threshold: float) -> list[float]:
    """Coins at a threshold and next to it."""
    candidates = (threshold, math.nextafter(threshold, 0), math.nextafter(threshold, 1))
    return [coin for coin in candidates if 0 <= coin < 1] or [0.5]


def is_distribution(row: Tensor, tolerance: float) -> bool:
    return (
        bool(row.isfinite().all() and (row >= 0).all())
        and abs(float(row.double().sum()) - 1) <= tolerance
    )


# Laws of trees


@BOTH
@EVERY_RULE
@given(data=st.data())
def test_every_ending_is_a_law_of_the_next_token(
    rule: TreeRule, dtype: torch.dtype, data: st.DataObject
):
    tree = as_tree(data.draw(trees_for(rule)), dtype)
    found = all_endings(rule, tree)
    assert sum(weight for weight, _ in found) == pytest.approx(1, abs=1e-12)
    for _, ending in found:
        assert is_distribution(ending.next, 1e-12 if dtype == torch.float64 else 1e-5)
        assert not ending.next[tree.target(ending.node) == 0].any()


@BOTH
@EVERY_RULE
@given(data=st.data())
def test_thresholds_are_probabilities_and_follow_from_their_grounds(
    rule: TreeRule, dtype: torch.dtype, data: st.DataObject
):
    _, made = played(rule, as_tree(data.draw(trees_for(rule)), dtype), data)
    for test, coin, accepted in made:
        assert 0 <= test.threshold <= 1
        assert accepted == (coin < test.threshold)
        assert test.threshold == pytest.approx(
            test.grounds.threshold, abs=of_rounding(test.grounds, dtype)
        )
        assert (test.grounds.form.name == "chosen") == (rule.name in BLIND)


@BOTH
@EVERY_RULE
@given(data=st.data())
def test_no_coin_keeps_a_token_that_the_target_excludes(
    rule: TreeRule, dtype: torch.dtype, data: st.DataObject
):
    tree = as_tree(data.draw(trees_for(rule)), dtype)
    coin = data.draw(st.sampled_from([0.0, 1e-300, None]))
    ending, _ = decide(
        rule.process(tree), lambda test: coin if coin is not None else data.draw(COINS)
    )
    node = ending.node
    while node:
        above = tree.parents[node - 1]
        assert float(tree.target(above)[tree.token(node)]) > 0
        node = above


@EVERY_RULE
@given(data=st.data())
def test_what_coins_decide_is_one_of_the_possible_endings(rule: TreeRule, data: st.DataObject):
    tree = as_tree(data.draw(trees_for(rule)))
    ending, made = played(rule, tree, data)
    chance = math.prod(
        test.threshold if accepted else 1 - test.threshold for test, _, accepted in made
    )
    assert chance > 0
    same = [
        w
        for w, e in all_endings(rule, tree)
        if e.node == ending.node and torch.equal(e.next, ending.next)
    ]
    assert sum(same) >= chance * (1 - 1e-9)


@EVERY_RULE
@given(data=st.data())
def test_uniform_coins_lead_to_the_endings_with_their_probabilities(
    rule: TreeRule, data: st.DataObject
):
    """All combinations of passed and failed tests, each by coins in the middle of what passes and
    of what fails.
    """
    tree = as_tree(data.draw(trees_for(rule)))
    wanted = outcome_law(rule, tree)
    found = []
    waiting: list[tuple[bool, ...]] = [()]
    while waiting:
        answers = waiting.pop()
        script = iter(answers)
        ending, made = decide(
            rule.process(tree), lambda test, script=script: coin_for(test, next(script, False))
        )
        found.append(
            Outcome(
                math.prod(chance(test, ok) for test, _, ok in made),
                ending.node,
                ending.next.tolist(),
            )
        )
        taken = [accepted for _, _, accepted in made]
        for turn in range(len(answers), len(made)):
            if made[turn][0].threshold > 0:
                waiting.append((*taken[:turn], True))
    assert_same_law(law_of(iter(found)), wanted, 1e-9)


def coin_for(test: Asked, passes: bool) -> float:
    return test.threshold / 2 if passes and test.threshold > 0 else (1 + test.threshold) / 2


def chance(test: Asked, accepted: bool) -> float:
    return test.threshold if accepted else 1 - test.threshold


@EVERY_RULE
@given(data=st.data())
def test_a_process_asks_the_same_each_time(rule: TreeRule, data: st.DataObject):
    """Rules keep nothing between runs, and leave the tree as it was."""
    tree = as_tree(data.draw(trees_for(rule)))
    p = torch.as_tensor(tree.p).clone()
    q = torch.as_tensor(tree.q).clone()
    coins = data.draw(st.lists(COINS, min_size=12, max_size=12))
    runs = []
    for _ in range(2):
        script = iter(coins)
        ending, made = decide(rule.process(tree), lambda test, script=script: next(script, 0.5))
        runs.append(
            (
                ending.node,
                ending.next.tolist(),
                [(t.node, t.threshold, t.kind, ok) for t, _, ok in made],
            )
        )
    assert runs[0] == runs[1]
    assert torch.equal(p, tree.p)
    assert torch.equal(q, tree.q)


# What rejections leave over


@EVERY_RULE
@given(data=st.data())
def test_every_change_is_what_its_rejection_left_over(rule: TreeRule, data: st.DataObject):
    """max(weight · p - q, 0) with the p and q that were valid until then; for chosen trees p
    without the token.
    """
    tree = as_tree(data.draw(trees_for(rule)))
    ending, made = decide(
        rule.process(tree), lambda test: data.draw(st.sampled_from([0.0, LAST, LAST]) | COINS)
    )
    valid = Valid(tree, by_text=rule.name.startswith("recursive"))
    told = [*(test.changes for test, _, _ in made), ending.changes]
    for turn, changes in enumerate(told):
        for change in changes:
            rejected = made[turn - 1][0]
            assert not made[turn - 1][2] or rule.name.startswith("recursive")
            valid.check(change, rejected, rule.name in BLIND)
    if ending.changes:
        assert torch.equal(ending.changes[-1].target, ending.next)


class Valid:
    """The rows that are valid at each branch while rejections change them.

    by_text: drafts that share their tokens share the branch, whichever nodes they have.
    """

    def __init__(self, tree: DraftTree, by_text: bool) -> None:
        self.tree = tree
        self.by_text = by_text
        self.p: dict[Any, Tensor] = {}
        self.q: dict[int, Tensor] = {}

    def check(self, change: Change, rejected: Asked, chosen: bool) -> None:
        key = self.tree.path(change.node) if self.by_text else change.node
        p = self.p.get(key, self.tree.target(change.node))
        q = self.q.get(change.node, self.tree.q[change.node])
        x = self.tree.token(rejected.node)
        left = (
            (change.weight * p - q).clamp_min(0)
            if not chosen
            else p.index_fill(0, torch.tensor([x]), 0.0)
        )
        assert change.mass == pytest.approx(float(left.sum()), abs=1e-12)
        if change.mass > 1e-9:
            assert torch.allclose(
                change.target, left / left.sum(), rtol=0, atol=1e-6 if change.mass < 1e-5 else 1e-9
            )
        elif change.mass == 0 and not chosen:
            assert torch.equal(change.target, p)
        self.p[key] = change.target
        if self.tree.siblings == "distinct":
            struck = q.index_fill(0, torch.tensor([x]), 0.0)
            self.q[change.node] = struck / struck.sum() if struck.sum() > 0 else struck


@given(data=st.data())
def test_traversal_tells_the_rate_of_every_changed_branch(data: st.DataObject):
    """A branch that has nothing left to test is tested itself with the rate that its last change
    told.
    """
    rule = TREE_RULES["traversal"]
    tree = as_tree(data.draw(free_trees()))
    _, made = decide(
        rule.process(tree), lambda test: data.draw(st.sampled_from([LAST, LAST, 0.0]) | COINS)
    )
    told: dict[int, float] = {}
    for test, _, _ in made:
        for change in test.changes:
            assert change.rate is not None
            assert 0 <= change.rate <= 1
            assert change.rate == 1 or change.node
            told[change.node] = change.rate
        assert test.kind == ("prefix" if tree.children(test.node) else "draft")
        if test.kind == "prefix":
            assert told[test.node] == test.threshold


# Symmetries


def outcome_law(rule: TreeRule, tree: DraftTree) -> dict[int, tuple[float, list[float]]]:
    return law_of(Outcome(weight, e.node, e.next.tolist()) for weight, e in all_endings(rule, tree))


def assert_same_law(
    found: dict[int, tuple[float, list[float]]],
    wanted: dict[int, tuple[float, list[float]]],
    tolerance: float,
) -> None:
    for node in {*found, *wanted}:
        (mine, row), (other, other_row) = (law.get(node, (0.0, [])) for law in (found, wanted))
        assert mine == pytest.approx(other, abs=tolerance)
        width = max(len(row), len(other_row))
        assert (row or [0.0] * width) == pytest.approx(other_row or [0.0] * width, abs=tolerance)


def renamed(given_tree: Given, order: list[int]) -> Given:
    """Token x becomes order[x]."""
    where = [order.index(x) for x in range(len(order))]
    p, q = ([[row[x] for x in where] for row in rows] for rows in (given_tree.p, given_tree.q))
    tokens = tuple(order[x] for x in given_tree.tokens)
    return Given(tokens, given_tree.parents, p, q, given_tree.replacement, given_tree.drafts)


@EVERY_RULE
@given(data=st.data())
def test_renaming_tokens_renames_the_law_of_a_tree(rule: TreeRule, data: st.DataObject):
    given_tree = data.draw(trees_for(rule))
    order = data.draw(st.permutations(range(len(given_tree.p[0]))))
    here, there = (
        outcome_law(rule, as_tree(one)) for one in (given_tree, renamed(given_tree, order))
    )
    moved = {
        node: (w, [row[order.index(x)] for x in range(len(order))])
        for node, (w, row) in here.items()
    }
    assert_same_law(there, moved, 1e-9)


@pytest.mark.parametrize("rule", RULES)
@given(problem=problems(), data=st.data())
def test_renaming_tokens_renames_the_law_of_a_draft(rule: str, problem: Any, data: st.DataObject):
    order = data.draw(st.permutations(range(len(problem.p[0]))))
    p, q, tokens = tensors(problem.p, problem.q, problem.tokens)
    where = [order.index(x) for x in range(len(order))]
    one = RULES[rule].law(p, q, tokens)
    other = RULES[rule].law(p[:, where], q[:, where], torch.tensor(order)[tokens])
    assert close(one.stop, other.stop.tolist())
    for t, stop in enumerate(one.stop.tolist()):
        assert close(stop * one.next(t)[where], (stop * other.next(t)).tolist())


@pytest.mark.parametrize("rule", [r for r in LOSSLESS if r.name not in BLIND], ids=lambda r: r.name)
@given(data=st.data())
def test_equal_models_keep_the_first_draft_to_its_end(rule: TreeRule, data: st.DataObject):
    drawn = data.draw(several_drafts())
    tree = as_tree(Given(drawn.tokens, drawn.parents, drawn.q, drawn.q, True, drawn.drafts))
    [(weight, ending)] = all_endings(rule, tree)
    assert weight == 1
    assert ending.node == drawn.drafts[0][0][-1]
    assert torch.equal(ending.next, tree.target(ending.node))


@EVERY_RULE
@for_each("seed", range(12))
def test_single_precision_is_near_to_double(rule: TreeRule, seed: int):
    rng = random.Random(seed)
    vocab = rng.randint(2, 5)
    p, q = ([[math.exp(rng.gauss(0, 1)) for _ in range(vocab)] for _ in range(9)] for _ in range(2))
    p, q = ([[x / sum(row) for x in row] for row in rows] for rows in (p, q))
    parents = (0, 1, 2, 0, 4, 5, 1, 7)
    drafts = (((1, 2, 3), 0), ((4, 5, 6), 0), ((1, 7, 8), 1))
    given_tree = Given(tuple(rng.randrange(vocab) for _ in parents), parents, p, q, True, drafts)
    double, single = (
        outcome_law(rule, as_tree(given_tree, kind)) for kind in (torch.float64, torch.float32)
    )
    assert_same_law(single, double, 1e-4)


@pytest.mark.parametrize("rule", RULES)
@for_each("seed", range(12))
def test_single_precision_is_near_to_double_on_one_draft(rule: str, seed: int):
    rng = random.Random(seed)
    vocab = rng.randint(2, 6)
    gamma = rng.randint(1, 8)
    p, q = (
        [[math.exp(rng.gauss(0, 1)) for _ in range(vocab)] for _ in range(gamma + 1)]
        for _ in range(2)
    )
    p, q = ([[x / sum(row) for x in row] for row in rows] for rows in (p, q))
    tokens = [rng.randrange(vocab) for _ in range(gamma)]
    single, double = (
        RULES[rule].law(*tensors(p, q[:-1], tokens, kind))
        for kind in (torch.float32, torch.float64)
    )
    assert close(single.stop, double.stop.tolist(), 1e-4)
    for t, stop in enumerate(double.stop.tolist()):
        assert close(stop * single.next(t), (stop * double.next(t)).tolist(), 1e-4)


# Drawing


@BOTH
@pytest.mark.parametrize(
    "row", [[0.1] * 10 + [0.0], [0.0, 1.0], [0.3, 0.7, 0.0, 0.0], [1.0], [0.2, 0.0, 0.8]], ids=len
)
def test_a_number_that_was_rounded_up_to_one_draws_the_last_token_with_mass(
    dtype: torch.dtype, row: list[float]
):
    picked = int(draw_token(torch.tensor(row, dtype=dtype), torch.ones(1, dtype=torch.float64)))
    assert picked == max(x for x, value in enumerate(row) if value > 0)


# Decisions about one draft


@pytest.mark.parametrize("rule", RULES)
@given(problem=problems(), data=st.data())
def test_recorded_decisions_lead_to_what_is_kept(rule: str, problem: Any, data: st.DataObject):
    p, q, tokens = tensors(problem.p, problem.q, problem.tokens)
    law = RULES[rule].law(p, q, tokens)
    coins = [data.draw(COINS | st.sampled_from(near(t))) for t in law.threshold.tolist()]
    numbers = torch.tensor(coins, dtype=torch.float64)
    kept = int(law.kept(numbers))
    made = ChainDecision(law, Draft.chain(tokens, q, numbers, numbers)).tests
    assert [d.node for d in made] == list(law.order())[: len(made)]
    assert all(
        d.accepted == (d.coin < d.test.threshold) and d.coin == coins[d.node - 1] for d in made
    )
    passed = [d.node for d in made if d.accepted]
    assert kept == (max(passed, default=0) if law.forward else sum(passed))
    assert len(passed) <= 1 or law.forward
    assert float(law.stop[kept]) > 0


# a mixture gives the draft's tokens what p does not
ASKING_P = [name for name in RULES if name != "ensemble"]


@pytest.mark.parametrize("rule", ASKING_P)
@given(problem=problems(), coin=st.sampled_from([0.0, 5e-324, 1e-300]))
def test_no_coin_keeps_a_drafted_token_that_the_target_excludes(
    rule: str, problem: Any, coin: float
):
    law = RULES[rule].law(*tensors(problem.p, problem.q, problem.tokens))
    kept = int(law.kept(torch.full((law.gamma,), coin, dtype=torch.float64)))
    assert all(problem.p[t][problem.tokens[t]] > 0 for t in range(kept))
    if coin == 0:
        assert not law.next(kept)[torch.tensor(problem.p[kept]) == 0].any()


@pytest.mark.parametrize("rule", ASKING_P)
def test_a_law_does_not_depend_on_what_was_never_drafted_below_it(rule: str):
    """Rows after the first impossible token cannot matter: they are never reached."""
    rng = random.Random(4)
    p, q = random_rows(3, 5, rng)
    p[1] = [0.0, 0.5, 0.5]
    q = [[0.2, 0.5, 0.3]] * 4
    laws: list[Callable[[], Any]] = []
    for tail in itertools.product([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], repeat=2):
        laws.append(RULES[rule].law(*tensors([*p[:2], *tail, p[4]], q, [1, 0, 1, 2])))
    for law in laws[1:]:
        assert law.stop.tolist() == laws[0].stop.tolist()
        assert law.stop[2:].tolist() == [0.0, 0.0, 0.0]


@for_each("rule", [name for name in RULES if name != "agreement"])
@for_each("gamma", [1, 2, 5])
def test_a_branch_with_nothing_to_correct_is_kept_for_certain(rule: str, gamma: int):
    """0/0 counts as 1. Such a test is never reached, because what follows it passes; but it is
    explained and drawn.
    """
    row = [0.5, 0.25, 0.25]
    law = RULES[rule].law(*tensors([row] * (gamma + 1), [row] * gamma, [1] * gamma))
    assert law.threshold.tolist() == [1.0] * gamma

"""Verifiers that are wrong where one random pair does not look: each must be found, and every right
one must pass.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from loops import for_each, some
from torch import Tensor
from verifiers import Kept, Row, Verify, adapter, cut_to, is_one_hot, plain, verifier, where

from hsd import HsdError
from hsd.audit import random_models
from hsd.conform import Adapter, conform
from hsd.conform.battery import REPEATS, battery
from hsd.conform.coverage import cells, coverage_in_words
from hsd.conform.judge import counterexample, equal_rules, judge
from hsd.conform.recover import Unsteady, rows_along
from hsd.rules import RULES, Law
from hsd.sampling import draw

pytestmark = pytest.mark.long


def from_position(first: int) -> Kept:
    """Right up to a position, and from there on everything is kept."""

    def kept(law: Law, coins: Tensor) -> int:
        return law.gamma if (count := plain(law, coins)) >= first else count

    return kept


def one_coin_more(law: Law, coins: Tensor) -> int:
    return law.gamma if 0.97 < float(coins[0]) < 0.971 else plain(law, coins)


def at_sizes(sizes: Callable[[int, int], bool]) -> Kept:
    """Keeps the whole draft at such numbers of tokens and of drafted ones."""
    return where(lambda p, q: sizes(p.shape[1], len(q)))


Where = Callable[[int, int, int, int, int], bool]
"""Whether a verifier is wrong at a row, by V, γ, its place and the numbers of tokens of q and p."""


def row_is(found: Where, p: Tensor, q: Tensor, t: int) -> bool:
    """Whether the row after t tokens is such; after the whole draft q has 0 tokens."""
    of_draft = int(q[t].count_nonzero()) if t < len(q) else 0
    return found(p.shape[1], len(q), t + 1, of_draft, int(p[t].count_nonzero()))


def cut_q(count: int, found: Where) -> Verify:
    """The draft's row is cut to its likeliest tokens before it is judged."""

    def verify(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
        q = q.clone()
        for t, row in enumerate(q):
            if row_is(found, p, q, t):
                lost = row.argsort(descending=True)[count:]
                q[t] = row.index_fill(0, lost, 0) / (1 - row[lost].sum())
        for t, token in enumerate(tokens.tolist()):
            if uniforms[t] * q[t, token] >= p[t, token]:
                left = (p[t] - q[t]).clamp_min(0)
                return [*tokens[:t].tolist(), int(draw(left / left.sum(), noise))]
        return [*tokens.tolist(), int(draw(p[-1], noise))]

    return verify


def cut_next(count: int, found: Where) -> Verify:
    """The law of the token after the kept ones is cut to its likeliest tokens."""

    def row(following: Tensor, law: Law, kept: int) -> Tensor:
        if not row_is(found, law.p, law.q, kept):
            return following
        left = following.index_fill(0, following.argsort(descending=True)[count:], 0)
        return left / left.sum()

    return verifier(row=row)


def keep_one_more(found: Where) -> Verify:
    """What is rejected is kept."""

    def kept(law: Law, coins: Tensor) -> int:
        count = plain(law, coins)
        return count + (count < law.gamma and row_is(found, law.p, law.q, count))

    return verifier(kept)


def cut_in_long_drafts(following: Tensor, law: Law, kept: int) -> Tensor:
    return cut_to(20)(following, law, kept) if law.gamma > 1 else following


def without_last_coin(law: Law, coins: Tensor) -> int:
    """Where there are many tokens and coins, a draft of which all but the last token is kept is
    kept whole.
    """
    count = plain(law, coins)
    return law.gamma if law.p.shape[1] > 3 and law.gamma > 3 and count == law.gamma - 1 else count


def has_rare(row: Tensor) -> bool:
    return bool((row < 2e-3).any() and (row > 0).all()) and len(row) == 4


def third_coin(law: Law, coins: Tensor) -> int:
    return law.gamma if law.gamma == 3 and 0.5 < float(coins[2]) < 0.5011 else plain(law, coins)


def some_noise(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
    found = verifier()(p, q, tokens, uniforms, noise)
    return [*found[:-1], 0] if 0.97 < float(noise) < 0.971 else found


def after_bonus(condition: Callable[[Tensor], bool]) -> Row:
    """A bonus that is drawn from the draft's last row instead, where the target's row is such."""
    return lambda row, law, kept: law.q[-1] if kept == law.gamma and condition(row) else row


WRONG: dict[str, tuple[str, Verify]] = {
    "residual cut to its two likeliest tokens": ("6 tokens, γ = 1", verifier(row=cut_to(2))),
    "residual cut to its three likeliest tokens": ("6 tokens, γ = 2", verifier(row=cut_to(3))),
    "residual cut to fifty tokens": (
        "V 1,000, γ 1, place 1, q 2, p 1,000",
        verifier(row=cut_to(50)),
    ),
    "wrong from the fourth position on": ("2 tokens, γ = 6", verifier(from_position(3))),
    "wrong from the fifth position on": ("2 tokens, γ = 6", verifier(from_position(4))),
    "wrong from the fourth token on": (
        "6 tokens, γ = 1",
        verifier(where(lambda p, q: len(p[0]) > 3)),
    ),
    "wrong where the draft is one-hot": (
        "one-hot draft",
        verifier(where(lambda p, q: is_one_hot(q[0]))),
    ),
    "wrong where the target is one-hot": (
        "one-hot target",
        verifier(where(lambda p, q: is_one_hot(p[0]))),
    ),
    "wrong for rare tokens of the target": (
        "rare for the target",
        verifier(where(lambda p, q: has_rare(p[0]))),
    ),
    "wrong for rare tokens of the draft": (
        "rare for the draft",
        verifier(where(lambda p, q: has_rare(q[0]))),
    ),
    "wrong bonus where it is certain": ("one-hot bonus", verifier(row=after_bonus(is_one_hot))),
    "wrong for sharp rows": (
        "sharp target, flat draft",
        verifier(where(lambda p, q: float(p[0].max()) > 0.9)),
    ),
    "wrong for long rows": (
        "V 1,000, γ 1, place 1, q 2, p 1,000",
        verifier(where(lambda p, q: len(p[0]) > 30)),
    ),
    "wrong where nothing is in common": (
        "nothing in common",
        verifier(where(lambda p, q: not (p[0] * q[0]).any())),
    ),
    "wrong where both are one-hot": (
        "both one-hot",
        verifier(where(lambda p, q: is_one_hot(p[0] + q[0] - p[0] * q[0]))),
    ),
    "wrong where rows are equal": (
        "equal in places",
        verifier(where(lambda p, q: torch.equal(p[0], q[0]))),
    ),
    "wrong where a target is nearly certain": (
        "nearly certain",
        verifier(where(lambda p, q: 0.999 < p.max() < 1)),
    ),
    "wrong in long drafts": ("3 tokens, γ = 12", verifier(from_position(9))),
    "wrong for several tokens and a long draft": (
        "4 tokens, γ = 3",
        verifier(at_sizes(lambda v, n: v > 3 and n > 2)),
    ),
    "wrong for many tokens and two drafted": (
        "17 tokens, γ = 2",
        verifier(at_sizes(lambda v, n: v > 16 and n > 1)),
    ),
    "wrong from five tokens and four drafted on": (
        "5 tokens, γ = 4",
        verifier(at_sizes(lambda v, n: v >= 5 and n >= 4)),
    ),
    "wrong from 24 tokens and ten drafted on": (
        "V 200, γ 12, place 4, q 24, p 200",
        verifier(at_sizes(lambda v, n: v >= 24 and n >= 10)),
    ),
    "wrong from 500 tokens and three drafted on": (
        "V 1,000, γ 4, place 4, q 2, p 300",
        verifier(at_sizes(lambda v, n: v >= 500 and n >= 3)),
    ),
    "wrong for medium sizes of both": (
        "8 tokens, γ = 3",
        verifier(at_sizes(lambda v, n: 6 < v < 12 and 2 < n < 5)),
    ),
    "residual cut in a long draft of many tokens": (
        "V 100, γ 3, place 2, q 60, p 100",
        verifier(row=cut_in_long_drafts),
    ),
    "the last of several coins is not read": ("5 tokens, γ = 4", verifier(without_last_coin)),
    "q cut to 20 tokens where all of 40 are drafted": (
        "V 40, γ 1, place 1, q 40, p 40",
        cut_q(20, lambda v, n, t, q, p: v == 40 and n == 1 and q > 20),
    ),
    "q cut to 64 tokens in large vocabularies": (
        "V 200, γ 1, place 1, q 200, p 200",
        cut_q(64, lambda v, n, t, q, p: v >= 200 and t == 1 and q > 64),
    ),
    "q cut to 20 tokens at place 3 of longer drafts": (
        "V 24, γ 4, place 3, q 24, p 24",
        cut_q(20, lambda v, n, t, q, p: v < 40 and n > 3 and t == 3 and q > 20),
    ),
    "residual cut to eight where many are drafted at place 2": (
        "V 1,000, γ 2, place 2, q 100, p 24",
        cut_next(8, lambda v, n, t, q, p: v >= 500 and t == 2 and q >= 24),
    ),
    "residual cut to eight where many are drafted at place 3": (
        "V 200, γ 3, place 3, q 200, p 200",
        cut_next(8, lambda v, n, t, q, p: t == 3 and q >= 100),
    ),
    "residual cut to eight at place 4, with few drafted": (
        "V 1,000, γ 4, place 4, q 2, p 300",
        cut_next(8, lambda v, n, t, q, p: t == 4 and q == 2 and p >= 200),
    ),
    "residual cut to 64 late in long drafts": (
        "V 1,000, γ 12, place 9, q 24, p 200",
        cut_next(64, lambda v, n, t, q, p: v >= 1_000 and t > 5 and p >= 100),
    ),
    "a bonus of fifty tokens": (
        "V 1,000, γ 1, place 2, q 0, p 1,000",
        cut_next(50, lambda v, n, t, q, p: q == 0),
    ),
    "keeps too much of many drafted before a certain target": (
        "V 20, γ 3, place 2, q 20, p 1",
        keep_one_more(lambda v, n, t, q, p: t == 2 and q >= 9 and p == 1),
    ),
    "keeps too much late in drafts of a medium vocabulary": (
        "V 20, γ 6, place 5, q 20, p 2",
        keep_one_more(lambda v, n, t, q, p: 9 <= v < 24 and n > 5 and t > 4 and q > 8),
    ),
    "keeps too much of a copy at place 4": (
        "V 100, γ 4, place 4, q 1, p 30",
        keep_one_more(lambda v, n, t, q, p: n == 4 and t == 4 and q == 1 and p >= 24),
    ),
    "keeps too much of medium rows at place 4": (
        "V 40, γ 6, place 4, q 12, p 30",
        keep_one_more(lambda v, n, t, q, p: t == 4 and 8 < q < 24 and 24 <= p < 99),
    ),
    "wrong for some noise": ("2 tokens, γ = 2, swept", some_noise),
    "wrong for a few third coins": ("2 tokens, γ = 3, swept", verifier(third_coin)),
    "wrong for a few coins": ("2 tokens, γ = 2, swept", verifier(one_coin_more)),
}
"""What is wrong: the pair of models that must show it, and the verifier."""

CASES = {case.name: case for case in battery(0, False)}


@pytest.mark.parametrize("name", some(WRONG, 6))  # the whole battery, below, finds all
def test_a_verifier_that_is_wrong_somewhere_is_found(name: str):
    where_to_look, verify = WRONG[name]
    case = CASES[where_to_look]
    wrong = Adapter("wrong.py", verify)
    found = judge(wrong, case.models, case.sweep)
    assert found.total_variation > wrong.tolerance
    shown = counterexample(found, wrong.tolerance / 10)
    first, _, second = shown.words().partition(" where ")
    assert first.split()[-1] != second.removeprefix("at most ").split()[0], (
        "the two numbers are told apart"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_the_whole_battery_finds_it_and_names_the_pair(name: str):
    pair, verify = WRONG[name]
    found = conform(Adapter("wrong.py", verify))
    assert found["lossless"] is False
    assert found["cause"].startswith("wrong on ")
    assert found["pairs"][pair]["total_variation"] > found["tolerance"]


# in turn, and few of the pairs of many tokens: both verifiers on every pair are slow
PAIRS = [("hsd" if i % 2 else "tokenwise", name) for i, name in enumerate(CASES)]
WIDE = [pair for pair in PAIRS if "place" in pair[1]]
QUICK = [pair for pair in PAIRS if pair not in WIDE] + WIDE[::12]
SLOW = [(rule, name) for name in CASES for rule in ("tokenwise", "hsd")]


@for_each("rule, name", QUICK, every=4)
def test_right_verifiers_pass_in_turn(rule: str, name: str):
    assert judge(adapter(RULES[rule].law), CASES[name].models).total_variation < 1e-12


@pytest.mark.slow
@for_each("rule, name", SLOW)
def test_both_right_verifiers_pass_on_every_pair(rule: str, name: str):
    assert judge(adapter(RULES[rule].law), CASES[name].models).total_variation < 1e-12


def test_a_few_coins_are_counted_exactly():
    """Keeping all where .97 < u < .971 moves at most a thousandth; the law is exact again once the
    sweep has met it.
    """
    models = CASES["2 tokens, γ = 2, swept"].models
    more = 0.0
    for draft in models.drafts():
        first, second = RULES["tokenwise"].law(*rows_along(models, draft)).threshold.tolist()
        # of the coins between, those that keep the first token anyway
        passing = min(max(first, 0.97), 0.971) - 0.97
        more += models.joint(models.draft, draft) * (passing * (1 - second) + (0.001 - passing) * 2)
    found = judge(Adapter("coins.py", WRONG["wrong for a few coins"][1]), models, sweep=True)
    right = judge(adapter(RULES["tokenwise"].law), models)
    assert 1e-5 < found.total_variation < 1e-3
    assert found.kept - right.kept == pytest.approx(more, abs=1e-11)


@pytest.mark.slow
def test_the_whole_battery_says_what_was_done():
    found = conform(adapter(RULES["blockwise"].law), expect="hsd")
    assert (found["lossless"], found["as_expected"], found["rule"]) == (True, True, "blockwise")
    assert set(CASES) < set(found["pairs"])
    assert any(said.startswith("17,270 random numbers on 1 pair") for said in found["claim"])
    assert all(one["covers"] for one in found["pairs"].values())


def test_the_verdict_lists_the_sizes_that_were_judged_together():
    right = adapter(RULES["tokenwise"].law)
    found = conform(right, vocab=2, gamma=2, quick=True)
    assert found["sizes"] == [
        *((2, 2, 1, 2, 2), (2, 2, 2, 2, 2), (2, 2, 3, 0, 2)),
        *((4, 2, 1, 3, 3), (4, 2, 2, 3, 3), (4, 2, 3, 0, 3)),
    ]
    assert found["pairs"]["zeros"]["tokens"] == "V 4, q 3×2, p 3×3"
    assert "combinations were judged together" in found["claim"][-2]
    assert "what is wrong at other numbers" in found["claim"][-1]
    assert {cell[:2] for cell in conform(right, calls=100)["sizes"]} == {(3, 3)}


@pytest.mark.parametrize("race", [False, True])
def test_any_two_of_sizes_places_and_counts_of_tokens_are_judged_together(race: bool):
    judged = set().union(*(cells(case.models) for case in battery(0, race)))
    said = coverage_in_words(judged)[0]
    assert said.endswith("230 of 230 combinations were judged together")
    fewer = {cell for cell in judged if cell[3] < 100 or cell[2] != 3}
    missed = coverage_in_words(fewer)[0].partition(" but not ")[2].split("; ")
    assert "place 3 with q 100+" in missed


@pytest.mark.parametrize("race", [False, True])
def test_the_battery_has_many_tokens_and_long_drafts_together(race: bool):
    sizes = {(case.models.vocab, case.models.gamma) for case in battery(0, race)}
    for vocab, gamma in ((4, 3), (5, 4), (4, 6), (17, 2), (24, 4), (40, 12), (100, 4)):
        assert any(v >= vocab and n >= gamma for v, n in sizes), (vocab, gamma)
    assert len({case.name for case in battery(0, race)}) == len(battery(0, race)), (
        "a name for each pair"
    )


def test_the_headline_is_the_largest_of_all_pairs():
    found = conform(Adapter("wrong.py", verifier(where(lambda p, q: not p.all()))), quick=True)
    assert found["lossless"] is False
    assert found["total_variation"] == found["pairs"]["zeros"]["total_variation"] > 0.01
    assert found["pairs"]["random pair, seed 0"]["total_variation"] < 1e-12
    assert found["cause"] == (
        "wrong on 1 of 2 pairs, most on 'zeros' (tokens that the target, or the draft, never says)"
    )


def test_another_law_than_the_expected_one_is_told():
    """Block verification that falls back to single tokens in silence is lossless, but not what was
    promised.
    """

    def verify(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
        rule = RULES["tokenwise" if len(tokens) > 4 else "blockwise"]
        law = rule.law(p, q, tokens)
        return [
            *tokens[: (kept := int(law.kept(uniforms)))].tolist(),
            int(draw(law.next(kept), noise)),
        ]

    cases = [CASES["2 tokens, γ = 6"], CASES["6 tokens, γ = 2"]]
    back = Adapter("back.py", verify)
    assert equal_rules([judge(back, case.models) for case in cases], back.tolerance) == []
    assert (
        conform(adapter(RULES["tokenwise"].law), expect="blockwise", quick=True)["as_expected"]
        is False
    )


# Randomness of its own, and memory


def now_and_then(every: float) -> Verify:
    own = torch.Generator().manual_seed(0)
    right = verifier()

    def verify(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
        if float(torch.rand((), generator=own)) < every:
            return [*tokens.tolist(), 0]
        return right(p, q, tokens, uniforms, noise)

    return verify


@pytest.mark.parametrize("every", [0.5, 1 / 500, 1 / 2_000])
def test_randomness_of_its_own_is_named(every: float):
    named = r"for the same numbers: it (draws numbers|now and then draws a number) of"
    with pytest.raises(HsdError, match=named) as error:
        judge(
            Adapter("own.py", now_and_then(every)),
            random_models(3, 3, 0),
            points=5_000,
            repeats=REPEATS,
        )
    assert isinstance(error.value, Unsteady) is (every < 0.1)


def test_what_is_kept_from_earlier_calls_is_named():
    seen = [0]
    right = verifier()

    def verify(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
        seen[0] += 1
        return [*tokens.tolist(), 0] if seen[0] > 5_000 else right(p, q, tokens, uniforms, noise)

    with pytest.raises(
        HsdError, match="for the same numbers: it keeps something from earlier calls"
    ):
        judge(Adapter("late.py", verify), random_models(3, 3, 0), points=5_000, repeats=REPEATS)


def neighbours(coins: Tensor) -> Tensor:
    return coins.roll(1, 0)


def last_of_odd_batch(coins: Tensor) -> Tensor:
    return torch.cat([coins[:-1], coins[:1]]) if len(coins) % 2 else coins


@pytest.mark.parametrize("mixed", [neighbours, last_of_odd_batch])
def test_a_batch_whose_texts_touch_each_other_is_named(mixed: Callable[[Tensor], Tensor]):
    right = verifier()

    def verify(
        p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor
    ) -> list[list[int]]:
        return [right(*row) for row in zip(p, q, tokens, mixed(uniforms), noise, strict=True)]

    with pytest.raises(HsdError, match="depends on the others of its batch, or on its place there"):
        judge(Adapter("leaks.py", verify, batched=True), random_models(3, 2, 0), repeats=REPEATS)

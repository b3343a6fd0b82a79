"""A verifier as a black box: from outside its law must come out as it is known from inside."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from loops import some
from new_rule import TEMPERED
from test_wrong_variants import WRONG_LAWS, AcceptsTies, as_class, draw_from_the_left
from torch import Tensor
from verifiers import Kept, LawFunction, adapter, race

from hsd import HsdError
from hsd.audit import audit, random_models
from hsd.conform import Adapter, rows_models
from hsd.conform import conform as conform_thoroughly
from hsd.conform.boxes import Box, Outcome, Point, Search, boxes
from hsd.conform.recover import recover
from hsd.conform.sampled import ERROR, chain_models, sample
from hsd.rules import RULES, Fuzzy, Law, fuzzy_rule
from hsd.sampling import draw

pytestmark = pytest.mark.long
conform = partial(conform_thoroughly, quick=True)  # the whole battery is test_conform_battery.py's


def one_coin(law: Law, coins: Tensor) -> int:
    """The last coin decides on the whole draft: the longer the prefix, the smaller it must be."""
    return int((law.stop.cumsum(0) <= 1 - coins[-1]).sum().clamp(max=law.gamma))


def other_order(law: Law, coins: Tensor) -> int:
    """Token t takes the coin that belongs to another, and large ones accept."""
    return int(law.kept(1 - coins.flip(0)))


# Right and wrong ones


@pytest.mark.parametrize("name", some(RULES, 2))
def test_a_known_rule_is_found_as_it_is_known_from_inside(name: str):
    found = conform(adapter(RULES[name].law))
    known = audit()["rules"][name]
    assert found["expected_kept"] == pytest.approx(known["expected_accepted"], abs=1e-11)
    assert name in {one.split(" (")[0] for one in found["equals"]}
    assert found["lossless"] is (known["lossless"] and name != "naive-hsd")
    if name != "naive-hsd":  # its further calls are not seen
        first = found["pairs"]["random pair, seed 0"]
        assert first["total_variation"] == pytest.approx(known["total_variation"], abs=1e-11)


def test_a_rule_whose_number_cannot_be_fitted_is_found_at_its_default(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setitem(RULES, TEMPERED.name, TEMPERED)
    assert conform(adapter(TEMPERED.law))["equals"] == [TEMPERED.name]


@pytest.mark.parametrize("name", ["clipped", "clipped-hsd"])
def test_the_tolerance_of_a_clipped_rule_is_read_off_its_law(name: str):
    found = conform(adapter(RULES[name].tuned(0.02).law), gamma=2)
    assert found["lossless"] is False
    assert found["equals"] == [f"{name} (tolerance 0.02)"]


def test_block_verification_and_hsd_are_one_law_and_no_other_two_are():
    equals = [
        tuple(conform(adapter(rule.law), gamma=2)["equals"])
        for rule in RULES.values()
        if not rule.knob
    ]
    assert equals[1] == equals[2] == ("blockwise", "hsd")
    assert [len(names) for names in equals] == [1, 2, 2, 1, 1, 1, 1]


@pytest.mark.parametrize("law", some(WRONG_LAWS, 3), ids=lambda law: law.__name__)
def test_every_known_mistake_is_found_with_a_counterexample(law: LawFunction):
    found = conform(adapter(law))
    assert found["lossless"] is False
    assert found["rule"] in ("none", "hsd-released")
    shown = found["counterexample"]
    assert "keeps the target" in shown["words"]
    assert len(shown["p"][0]) <= 3
    assert len(shown["q"]) <= 3


def test_a_counterexample_holds_by_hand():
    """p = (.3, .7), q = (.5, .5): of the draft (b, a) at most min(1, p(b)/q(b)) p(a)/q(a) = .6 may
    be kept, not .84.
    """
    shown = conform(adapter(RULES["hsd-released"].law))["counterexample"]
    assert (
        shown["words"]
        == "draft (b, a): its first 2 tokens are kept with 0.8400 where at most 0.6000 keeps the "
        "target"
    )
    assert (shown["p"], shown["q"]) == ([[0.3, 0.7]] * 3, [[0.5, 0.5]] * 2)
    law = RULES["hsd-released"].law(
        *(torch.tensor(shown[name]) for name in "pq"), torch.tensor([1, 0])
    )
    assert float(law.stop[2]) == pytest.approx(0.84)


def test_a_mistake_of_the_bonus_is_shown_with_rows_that_change():
    law = next(law for law in WRONG_LAWS if law.__name__ == "BonusOneTooEarly")
    shown = conform(adapter(law))["counterexample"]
    assert "after the whole draft (" in shown["words"]
    assert shown["p"][0] != shown["p"][1]


def test_numbers_at_the_ends_of_their_range_are_tried():
    ties = conform(adapter(as_class(AcceptsTies, RULES["hsd"].law)), gamma=2)
    assert ties["lossless"] is True, "a coin of exactly 0 has no probability"
    assert ["coin of exactly 0" in words for words in ties["edges"]] == [True]
    left = conform(adapter(RULES["hsd"].law, pick=draw_from_the_left), gamma=2)
    assert ["noise of exactly 0" in words for words in left["edges"]] == [True]
    assert conform(adapter(RULES["hsd"].law), gamma=2)["edges"] == []


# Whatever its numbers are used for


@pytest.mark.parametrize("name", ["tokenwise", "hsd", "hsd-released", "agreement"])
@pytest.mark.parametrize("kept", [one_coin, other_order])
def test_coins_may_be_used_in_any_order_or_one_for_all(name: str, kept: Kept):
    models = random_models(3, 2, 1)
    laws, _ = recover(adapter(RULES[name].law, kept), models)
    for draft, found in laws.items():
        law = RULES[name].law(
            models.rows(models.target, draft, 3),
            models.rows(models.draft, draft, 2),
            torch.tensor(draft),
        )
        if kept is other_order:
            continue
        assert found.stop.tolist() == pytest.approx(law.stop.tolist(), abs=1e-11)
    total = sum(float(found.stop.sum()) for found in laws.values())
    assert total == pytest.approx(len(laws), abs=1e-11)


def test_the_cumulative_sum_may_take_the_tokens_in_any_order():
    backwards = adapter(
        RULES["hsd"].law, pick=lambda row, noise: len(row) - 1 - draw(row.flip(0), noise)
    )
    found = conform(backwards, gamma=2)
    assert (found["lossless"], found["rule"]) == (True, "blockwise")


@pytest.mark.parametrize("name", ["tokenwise", "hsd", "hsd-released"])
def test_an_exponential_race_gives_the_same_law(name: str):
    found = conform(adapter(RULES[name].law, pick=race, noise="exponential-race"), gamma=2)
    assert found["lossless"] is RULES[name].lossless
    assert name in found["equals"]


def test_a_coin_that_serves_twice_is_found():
    """Each part is right, but the first coin draws the correction as well."""

    def verify(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
        law = RULES["tokenwise"].law(p, q, tokens)
        kept = int(law.kept(uniforms))
        return [*tokens[:kept].tolist(), int(draw(law.next(kept), uniforms[0]))]

    found = conform(Adapter("twice.py", verify))
    assert found["lossless"] is False
    assert found["expected_kept"] == pytest.approx(
        audit()["rules"]["tokenwise"]["expected_accepted"]
    )


def test_batches_are_asked_at_once():
    one = adapter(RULES["hsd"].law)
    many = replace(
        one,
        batched=True,
        verify=lambda *given: [one.verify(*row) for row in zip(*given, strict=True)],
    )
    apart, together = (conform(each) for each in (one, many))
    assert together["total_variation"] == apart["total_variation"]
    assert together["calls"] < apart["calls"] / 10


def test_single_precision_has_a_tolerance_of_its_own():
    right = conform(adapter(RULES["hsd"].law, dtype="float32"))
    assert right["lossless"] is True
    assert right["tolerance"] == 1e-5
    assert right["equals"] == ["blockwise", "hsd"]
    assert 1e-12 < right["total_variation"] < 1e-6
    assert (
        conform(adapter(RULES["hsd-released"].law, dtype="float32"), gamma=2)["lossless"] is False
    )


@pytest.mark.parametrize("mode", ["exact-first", "divergence-only"])
def test_fuzzy_verification_is_recognised_with_its_tolerance(mode: str):
    found = conform(adapter(fuzzy_rule(Fuzzy("kl", 0.2, mode)).law))
    assert found["lossless"] is False
    assert found["rule"] == "fuzzy"
    (fits,) = (words for words in found["equals"] if f"({mode}, kl," in words)
    low, high = (float(word.strip(")")) for word in fits.split() if word[0].isdigit())
    assert low <= 0.2 < high


def test_an_ensemble_is_recognised_with_its_weight():
    """Written here as the test of a mixture, not with the rule of that name."""

    def mixed(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
        return RULES["tokenwise"].law(torch.cat([0.9 * p[:-1] + 0.1 * q, p[-1:]]), q, tokens)

    assert conform(adapter(mixed))["equals"] == ["ensemble (draft weight 0.1)"]


def test_a_deviation_as_small_as_single_precision_is_named_and_stays_a_deviation():
    """A right rule whose row is rounded before it is drawn from; and one far more wrong."""

    def rounded(row: Tensor, number: Tensor) -> Tensor:
        return draw(row.float().cumsum(0).diff(prepend=torch.zeros(1)).double(), number)

    found = conform(adapter(RULES["hsd"].law, pick=rounded), gamma=2)
    assert found["lossless"] is False
    assert 1e-9 < found["total_variation"] < 1e-5
    assert 'set DTYPE = "float32" in the adapter, which allows 1e-05' in found["cause"]
    assert conform(adapter(RULES["hsd"].law, pick=rounded, dtype="float32"), gamma=2)["lossless"]
    assert "float32" not in conform(adapter(RULES["hsd-released"].law), gamma=2)["cause"]


@pytest.mark.parametrize("epsilon", some([0.04, 0.09, 0.3], 3))
def test_typical_acceptance_is_recognised_with_its_epsilon(epsilon: float):
    (fits,) = conform(adapter(RULES["typical"].tuned(epsilon).law))["equals"]
    low, high = (float(word.strip(")")) for word in fits.split() if word[0].isdigit())
    assert fits.startswith("typical (an epsilon from ")
    assert low <= epsilon < high


# Boxes


def answered(search: Search[list[Box]], box: Callable[[Point], Outcome]) -> list[Box]:
    """The result of a search whose questions are put to `box`."""
    answer = None
    while True:
        try:
            answer = box(search.send(answer))  # type: ignore[arg-type]
        except StopIteration as end:
            return end.value


def test_boxes_of_a_staircase_have_their_exact_volumes():
    """Three numbers, thresholds that depend on each other: the volumes are those of a calculation
    by hand.
    """

    def staircase(point: tuple[float, ...]) -> tuple[int, ...]:
        x, y, z = point
        if z < 0.25:
            return (3,)
        return (2,) if y < (0.75 if x < 0.125 else 0.5) else (1,)

    search = boxes(3, 3, (), 1e-12, [(), (), (0.25,)], 50)
    found = answered(search, staircase)
    volume = {n: sum(box.volume for box in found if box.outcome == (n,)) for n in (1, 2, 3)}
    assert volume == pytest.approx(
        {3: 0.25, 2: 0.75 * (0.125 * 0.75 + 0.875 * 0.5), 1: 0.75 * (0.125 * 0.25 + 0.875 * 0.5)}
    )


def test_what_does_not_change_at_thresholds_is_refused():
    def verify(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
        return [*tokens.tolist(), 0] if float(uniforms.sum()) < 1 else [int(draw(p[0], noise))]

    with pytest.raises(
        HsdError,
        match="does not change at thresholds of single numbers: use --sampled; sent last p",
    ):
        conform(Adapter("sum.py", verify), gamma=2)


# Sampling


def own_numbers(name: str) -> Adapter:
    def verify(p: Tensor, q: Tensor, tokens: Tensor) -> list[int]:
        law = RULES[name].law(p, q, tokens)
        kept = int(law.kept(torch.rand(len(tokens), dtype=torch.float64)))
        return [*tokens[:kept].tolist(), int(torch.multinomial(law.next(kept), 1))]

    return Adapter("own.py", verify, sampled=True)


def test_sampling_finds_the_released_code_wrong_and_nothing_in_a_lossless_rule():
    wrong = conform(own_numbers("hsd-released"))
    right = conform(own_numbers("hsd"), calls=3_000)
    assert wrong["lossless"] is False
    assert wrong["calls"] < 20_000, "it stops as soon as it knows"
    assert right["lossless"] is None, "sampling proves nothing"
    assert right["pairs"]["random pair, seed 0"]["at_most"] > right["total_variation"]


def test_a_token_that_the_target_never_says_ends_a_sampled_test_at_once():
    rows = rows_models([[0.0, 1.0]] * 2, [[0.5, 0.5]])
    found = conform(Adapter("first.py", lambda p, q, tokens: [0], sampled=True), models=rows)
    assert found["lossless"] is False
    assert json.loads(json.dumps(found, allow_nan=False))["calls"] == 500


def speaks(left: Callable[[Tensor, Tensor], Tensor]) -> Adapter:
    """Token-wise speculative generation, whose correction follows the weights `left`."""

    def generate(
        p: Tensor, q: Tensor, gamma: int, length: int, seeds: list[int]
    ) -> list[list[int]]:
        return [say(p, q, gamma, length, torch.Generator().manual_seed(seed)) for seed in seeds]

    def say(p: Tensor, q: Tensor, gamma: int, length: int, generator: torch.Generator) -> list[int]:
        text = [0]
        while len(text) <= length:
            for drafted in range(gamma + 1):
                x = (p if drafted == gamma else q)[text[-1]].multinomial(1, generator=generator)
                at = text[-1]
                kept = drafted == gamma or bool(
                    torch.rand(1, generator=generator) < p[at, x] / q[at, x]
                )
                if not kept:
                    x = left(p[at], q[at]).multinomial(1, generator=generator)
                text.append(int(x))
                if not kept:
                    break
        return text[1 : length + 1]

    return Adapter("speaks.py", generate, text=True)


def test_texts_are_judged_where_not_even_drafts_can_be_put_in():
    right = conform(speaks(lambda p, q: (p - q).clamp_min(0)), gamma=2, calls=2_000)
    wrong = conform(speaks(lambda p, q: p), gamma=2)
    assert (right["lossless"], right["expected_kept"], right["calls"]) == (None, None, 2_000)
    assert wrong["lossless"] is False
    assert wrong["calls"] < 20_000, "it stops as soon as it knows"
    longer = sample(
        speaks(lambda p, q: p), chain_models(3, 2, 0), wrong["calls"] + 500, to_the_end=True
    )
    assert longer.wrong
    assert longer.calls == wrong["calls"] + 500
    assert wrong["notes"][1] == "judged are texts of 4 tokens after token 0"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            [[0, 1]],
            r"returns \[\[0, 1\]\]: return a list of 3 tokens below 2 for each seed; "
            r"sent p and q \(2, 2\)",
        ),
        ([[0, 1, 2]] * 500, "return a list of 3 tokens below 2 for each seed"),
        (7, "generate raises TypeError"),
    ],
)
def test_texts_that_cannot_be_are_refused(said: Any, words: str):
    with pytest.raises(HsdError, match=words):
        conform(Adapter("bad.py", lambda *sent: said, text=True), vocab=2, gamma=1)


def test_sampling_keeps_its_error_rate_although_it_looks_all_the_time():
    """Of many lossless verifiers hardly one may ever reach 1/α: at α = 1/20 at most one in twenty,
    in the long run.
    """
    evidence = [
        sample(own_numbers("tokenwise"), random_models(2, 1, seed), 1_000, seed).evidence
        for seed in range(20)
    ]
    assert sum(e >= 20 for e in evidence) <= 4
    assert all(e < 1 / ERROR for e in evidence)


# Rows


def test_rows_that_are_no_laws_are_refused():
    with pytest.raises(HsdError, match=r"row 1 of p \[0.5, 0.6\] sums to 1.1"):
        rows_models([[0.5, 0.5], [0.5, 0.6]], [[0.5, 0.5]])
    with pytest.raises(HsdError, match="do not fit"):
        rows_models([[0.5, 0.5]], [[0.5, 0.5]])


def test_rows_of_ones_own_are_judged():
    models = rows_models([[0.5, 0.5], [0.1, 0.9]], [[0.3, 0.7]])
    found = conform(adapter(RULES["agreement"].law), models=models)
    assert found["expected_kept"] == pytest.approx(0.3 * 0.5 + 0.7 * 0.5)
    assert (found["vocab"], found["gamma"], found["lossless"]) == (2, 1, True)

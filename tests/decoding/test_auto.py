"""γ "auto": a draft goes on while the chance that its next token is kept is worth it, as the draft
itself and the steps before see it.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from joint_law import chi_square_p, exact_law, first_tokens, toy_pair
from loops import some
from table_models import LetterCodec, TableModel, table_pair
from torch import Tensor

import hsd
from hsd import HsdError, RunOptions
from hsd.decoding.loop import rerun
from hsd.draft.stopping import LEAST
from hsd.options.run import AUTO
from hsd.rng import Streams
from hsd.trace import Step

PAIR = table_pair(vocab=4, order=2, seed=5, closeness=1.5)
FEW = [
    rule if rule == "hsd" else pytest.param(rule, marks=pytest.mark.slow)
    for rule in ("hsd", "tokenwise", "blockwise")
]


def lengths(pair: hsd.Pair, **options: Any) -> list[int]:
    return [
        step.drafted
        for step in hsd.run(pair, "ab", **{"gamma": "auto", "max_new_tokens": 60} | options).steps
    ]


def first_steps(pair: hsd.Pair, seeds: int, **options: Any) -> list[Step]:
    return [
        next(hsd.decode(pair, "a", gamma="auto", seed=seed, **options)) for seed in range(seeds)
    ]


def test_a_draft_ends_where_its_next_token_no_longer_pays():
    """A context-free draft, whose likeliest token has .9, and is kept with .63 as is thought at
    first: .63ⁿ · ½ must reach the confidence to go on after n tokens.
    """
    steps = first_steps(toy_pair((0.9, 0.1), (0.9, 0.1)), 40, confidence=0.2)
    whole = [step for step in steps if all(node.token == 0 for node in step.nodes)]
    assert {step.drafted for step in whole} == {3}  # .63² ½ = .201 pays, .63³ ½ = .13 does not
    unlikely = [step for step in steps if any(node.token == 1 for node in step.nodes)]
    assert unlikely
    assert all(step.nodes[-1].token == 1 for step in unlikely)


def test_a_sure_draft_is_as_long_as_it_may_be_and_an_unsure_one_is_empty():
    assert lengths(toy_pair((1.0, 0.0), (1.0, 0.0)))[:5] == [AUTO] * 5
    # .47 < .7 · .7
    assert set(lengths(toy_pair((0.4, 0.3, 0.3), (0.4, 0.3, 0.3)), confidence=0.7)) == {0}


@pytest.mark.parametrize("temperature", some([1.0, 0.0, 4.0], 3))
def test_a_draft_that_is_never_kept_is_soon_left_out_and_now_and_then_tried_again(
    temperature: float,
):
    """However sure it is of itself."""
    pair = toy_pair((0.0, 0.0, 1.0), (0.5, 0.5, 0.0))
    sure = toy_pair((0.0, 0.0, 1.0), (0.95, 0.05, 0.0))
    for own in (pair, sure):
        found = lengths(own, temperature=temperature, max_new_tokens=300)
        assert max(found[10:]) <= 1
        assert 0 < sum(found[20:]) / len(found[20:]) < 1 / 3


def test_an_unsure_draft_that_is_always_kept_grows():
    found = lengths(toy_pair((0.5, 0.5), (0.5, 0.5)), max_new_tokens=120)
    assert found[0] < AUTO == found[-2]


def test_more_confidence_makes_shorter_drafts():
    means = [sum(found := lengths(PAIR, confidence=c)) / len(found) for c in (0.05, 0.3, 0.6)]
    assert means[0] > means[1] > means[2]


def test_at_temperature_0_it_is_the_rows_before_sampling_that_tell_how_sure_a_draft_is():
    """Sampled at 0 every row is certain; the two here are not."""
    pair = toy_pair((0.9, 0.1), (0.9, 0.1))
    assert lengths(pair, temperature=0, confidence=0.4)[0] == 3
    assert lengths(toy_pair((0.6, 0.4), (0.6, 0.4)), temperature=0, confidence=0.4)[0] == 1
    assert lengths(toy_pair((0.6, 0.4), (0.6, 0.4)), temperature=0, confidence=0.9)[0] == 0


def test_a_draft_ends_with_the_text():
    pair = toy_pair((0.0, 1.0), (0.0, 1.0), end_ids=frozenset({1}))
    (step,) = hsd.run(pair, "a", gamma="auto", max_new_tokens=60).steps
    assert (step.drafted, step.kept, step.below[0].calls) == (1, 1, 1)


@pytest.mark.long
@pytest.mark.parametrize("rule", FEW)
def test_tokens_follow_the_target(rule: str):
    options = {"rule": rule, "gamma": "auto", "max_new_tokens": 40}
    for confidence in (0.15, 0.45):
        counts = first_tokens(PAIR, 3, range(400), confidence=confidence, **options)
        assert chi_square_p(counts, exact_law(PAIR, 3)) > 1e-4


@pytest.mark.long
def test_texts_that_end_in_a_draft_follow_the_target():
    pair = toy_pair((0.6, 0.3, 0.1), (0.2, 0.2, 0.6), end_ids=frozenset({2}))
    counts = first_tokens(pair, 4, range(500), gamma="auto", confidence=0.2, max_new_tokens=40)
    assert chi_square_p(counts, exact_law(pair, 4)) > 1e-4


def test_every_round_takes_the_same_numbers_whatever_its_length():
    """So that runs which are compared share drafts and coins for as long as their texts agree."""

    class Counted(Streams):
        def draft(self, count: int) -> Tensor:
            taken.append(count)
            return super().draft(count)

    taken: list[int] = []
    found = first_tokens(
        PAIR, 30, [0], numbers=Counted, prompt="ab", gamma="auto", max_new_tokens=60
    )
    assert found
    assert set(taken) == {AUTO}
    first = [
        hsd.run(PAIR, "ab", gamma="auto", confidence=c, rule="tokenwise").steps[0].nodes
        for c in (0.05, 0.4)
    ]
    shared = min(map(len, first))
    assert shared
    assert [n.token for n in first[0][:shared]] == [n.token for n in first[1][:shared]]


def test_a_trace_says_how_long_drafts_were_chosen_and_is_played_and_run_again():
    trace = hsd.run(PAIR, "ab", gamma="auto", max_new_tokens=40)
    again = hsd.Trace.from_json(trace.to_json())
    assert (again.setup.options.draft.gamma, again.setup.options.draft.confidence) == (
        "auto",
        LEAST,
    )
    assert again.replay() == trace.tokens == rerun(PAIR, again).tokens
    fixed = hsd.run(PAIR, "ab", gamma=3, confidence=0.4).setup.options.draft
    # a number is a number: confidence has no part in it
    assert (fixed.gamma, fixed.confidence) == (3, 0.0)


def test_a_copy_is_as_long_as_it_may_be():
    pair = toy_pair((0.1,) * 10, (0.1,) * 10)
    repeats = hsd.run(pair, "abcdefghijabc", gamma="auto", proposer="ngram", max_new_tokens=20)
    assert repeats.steps[0].drafted == AUTO
    assert repeats.setup.options.draft.confidence == 0.0


def calibrated(told: Any) -> hsd.Pair:
    """A pair whose draft tells how often its tokens are kept."""
    table = torch.tensor([[0.9, 0.1]], dtype=torch.float64)
    draft = TableModel(table, "draft")
    draft.stopping = told  # type: ignore[attr-defined]
    return hsd.Pair("toy", TableModel(table, "target"), draft, LetterCodec(2, frozenset()))


def test_a_draft_that_was_calibrated_is_believed_as_often_as_it_was_right():
    told = {"weights": [-2.0, 1.0, 0.0, 0.0, 0.0], "usual": 0.4}
    trace = hsd.run(calibrated(told), "a", gamma="auto", temperature=0, max_new_tokens=40)
    assert trace.setup.options.draft.confidence == LEAST
    assert trace.steps[0].drafted == 1  # σ(log 9 - 2) · .4 = .22: the draft says .9


@pytest.mark.parametrize(
    "told",
    [
        {"weights": [1.0]},
        {"weights": "many", "usual": 0.5},
        {"weights": [1] * 4, "usual": 0.5},
        3,
    ],
)
def test_a_calibration_that_is_none_is_told_in_a_line(told: Any):
    with pytest.raises(HsdError, match=r"no weights for its length: choose gamma as a number$"):
        hsd.run(calibrated(told), "a", gamma="auto")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"drafts": 2}, "gamma auto is for one draft"),
        ({"system": "stack"}, "gamma auto is for one draft"),
        ({"system": "hispec"}, "gamma auto is for one draft"),
        ({"rule": "naive-hsd"}, "drafts of a fixed length: choose gamma as a number"),
        (
            {"engine": "captured", "trace": False},
            "steps of a fixed shape: choose gamma as a number",
        ),
    ],
)
def test_what_needs_drafts_of_a_fixed_length_refuses_it_in_a_line(
    options: dict[str, Any], line: str
):
    with pytest.raises(HsdError) as error:
        RunOptions(gamma="auto", **options)
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_the_option_is_a_number_or_the_word():
    assert RunOptions(gamma="auto").query()["gamma"] == "auto"
    assert RunOptions.read({"gamma": "auto"}, {"gamma": AUTO}).gamma == "auto"
    assert RunOptions.read({"gamma": " 7 "}).gamma == 7
    for wrong in ("often", "", "0", "33", True):
        with pytest.raises(HsdError, match="choose a whole number from 1 to 32 or auto"):
            RunOptions.read({"gamma": wrong})
    with pytest.raises(
        HsdError, match=r"draft length γ 'auto': choose a whole number from 1 to 4$"
    ):
        # a manifest that allows fewer than it may come to
        RunOptions.read({"gamma": "auto"}, {"gamma": 4})

"""From logits to probabilities, and from a number to a token."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from joint_law import chi_square_p, warped

from hsd import HsdError
from hsd.rng import RecordedNumbers, RoundNumbers, Streams
from hsd.sampling import Sampling, draw

LAST = 1 - 2**-53  # the largest number that a stream can give


def logits(*row: float) -> torch.Tensor:
    """One row of logits whose softmax is `row`."""
    return torch.tensor([row], dtype=torch.float64).log()


def probabilities(row: torch.Tensor, **options: float) -> list[float]:
    return Sampling(**options).probabilities(row)[0].tolist()


def number(value: float) -> torch.Tensor:
    return torch.tensor([value], dtype=torch.float64)


# Drawing


@pytest.mark.parametrize(
    "row",
    [(0.2, 0.5, 0.3), (0.0, 0.9, 0.1), (1e-4, 0.4999, 0.5), (0.05,) * 20],
    ids=["three", "zero", "rare", "flat"],
)
def test_draws_follow_the_row(row: tuple[float, ...]):
    numbers = Streams(7).draft(20_000)
    picked = draw_all(torch.tensor(row, dtype=torch.float64), numbers)
    counts = Counter((int(token),) for token in picked)
    assert chi_square_p(counts, {(i,): p for i, p in enumerate(row)}) > 1e-4


def draw_all(row: torch.Tensor, numbers: torch.Tensor) -> list[int]:
    return [int(draw(row, n)) for n in numbers]


def test_the_chi_square_test_itself_notices_a_wrong_row():
    counts = Counter(
        (int(t),) for t in draw_all(torch.tensor([0.25, 0.45, 0.3]), Streams(7).draft(5_000))
    )
    assert chi_square_p(counts, {(0,): 0.2, (1,): 0.5, (2,): 0.3}) < 1e-4


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("value", [0.0, 2**-53, 0.5, LAST])
def test_a_token_without_probability_is_never_drawn(dtype: torch.dtype, value: float):
    for row in [
        (0, 1, 0),
        (0, 0.5, 0, 0.5, 0),
        (1, 0, 0),
        (0, 0, 1),
        (0, 1e-30, 1, 0),
        (0.1,) * 10 + (0.0,),
    ]:
        tensor = torch.tensor(row, dtype=dtype)
        assert float(tensor[int(draw(tensor, number(value)))]) > 0


@given(
    st.lists(st.sampled_from([0.0, 1e-30, 1e-7, 0.1, 0.3, 1.0]), min_size=1, max_size=12).filter(
        lambda r: sum(r) > 0
    ),
    st.floats(0, LAST),
)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_any_number_draws_a_token_that_has_probability(row: list[float], value: float):
    for dtype in (torch.float32, torch.float64):
        tensor = torch.tensor(row, dtype=dtype) / sum(row)
        assert float(tensor[int(draw(tensor, number(value)))]) > 0


def test_a_boundary_belongs_to_the_token_above_it():
    row = torch.tensor([0.25, 0.25, 0.5], dtype=torch.float64)
    assert [
        int(draw(row, number(u))) for u in (0.0, 0.25 - 1e-12, 0.25, 0.5 - 1e-12, 0.5, LAST)
    ] == [0, 0, 1, 1, 2, 2]


def test_rows_need_not_be_normalised_exactly():
    row = torch.tensor([0.3, 0.3, 0.3999], dtype=torch.float32)
    assert int(draw(row, number(LAST))) == 2


# Temperature, top-k, top-p


def test_temperature_zero_puts_all_mass_on_the_likeliest():
    assert probabilities(logits(0.2, 0.5, 0.3), temperature=0) == [0.0, 1.0, 0.0]


def test_temperature_zero_gives_one_token_at_a_tie():
    assert sorted(probabilities(logits(0.25, 0.25, 0.25, 0.25), temperature=0)) == [0, 0, 0, 1]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_temperature_is_a_power_of_the_probabilities(temperature: float):
    row = (0.2, 0.5, 0.3)
    assert probabilities(logits(*row), temperature=temperature) == pytest.approx(
        warped(list(row), temperature), abs=1e-6
    )


def test_extreme_temperatures_stay_finite():
    assert probabilities(logits(0.2, 0.5, 0.3), temperature=1e-6) == pytest.approx([0, 1, 0])
    assert probabilities(logits(0.2, 0.5, 0.3), temperature=100) == pytest.approx(
        [1 / 3] * 3, abs=0.01
    )


def test_top_k_keeps_the_likeliest_and_normalises():
    assert probabilities(logits(0.1, 0.4, 0.2, 0.3), top_k=2) == pytest.approx(
        [0, 4 / 7, 0, 3 / 7], abs=1e-6
    )
    assert probabilities(logits(0.1, 0.4, 0.2, 0.3), top_k=1) == pytest.approx([0, 1, 0, 0])


@pytest.mark.parametrize("top_k", [0, 4, 5, 1_000_000])
def test_top_k_beyond_the_vocabulary_keeps_all(top_k: int):
    assert probabilities(logits(0.1, 0.4, 0.2, 0.3), top_k=top_k) == pytest.approx(
        [0.1, 0.4, 0.2, 0.3], abs=1e-6
    )


def test_top_k_keeps_all_that_are_as_likely_as_the_last_it_keeps():
    assert probabilities(logits(0.25, 0.25, 0.25, 0.25), top_k=2) == pytest.approx([0.25] * 4)
    assert probabilities(logits(0.4, 0.2, 0.2, 0.2), top_k=1) == pytest.approx([1, 0, 0, 0])


@pytest.mark.parametrize(
    ("top_p", "expected"),
    [
        (1e-9, [0, 1, 0, 0]),
        (0.39, [0, 1, 0, 0]),
        (0.41, [0, 4 / 7, 0, 3 / 7]),
        (0.69, [0, 4 / 7, 0, 3 / 7]),
        (0.71, [0, 4 / 9, 2 / 9, 3 / 9]),
        (0.91, [0.1, 0.4, 0.2, 0.3]),
        (1.0, [0.1, 0.4, 0.2, 0.3]),
    ],
)
def test_top_p_keeps_the_fewest_that_reach_it(top_p: float, expected: list[float]):
    assert probabilities(logits(0.1, 0.4, 0.2, 0.3), top_p=top_p) == pytest.approx(
        expected, abs=1e-6
    )


def test_top_p_keeps_as_few_as_it_can_at_a_tie():
    assert sorted(probabilities(logits(0.25, 0.25, 0.25, 0.25), top_p=0.3)) == pytest.approx(
        [0, 0, 0.5, 0.5]
    )


def test_top_p_that_is_met_exactly_keeps_no_more():
    assert sorted(probabilities(torch.zeros(1, 4), top_p=0.5)) == [0, 0, 0.5, 0.5]


def test_top_p_is_measured_on_what_top_k_left():
    """After top-k 2 the two have 4/7 and 3/7: the first alone reaches 0.55."""
    row = logits(0.1, 0.4, 0.2, 0.3)
    assert probabilities(row, top_k=2, top_p=0.55) == pytest.approx([0, 1, 0, 0])
    assert probabilities(row, top_k=2, top_p=0.6) == pytest.approx([0, 4 / 7, 0, 3 / 7], abs=1e-6)


@given(
    st.lists(st.floats(-6, 6), min_size=1, max_size=8, unique=True),
    st.sampled_from([0.5, 1.0, 1.7]),
    st.integers(0, 9),
    st.sampled_from([0.2, 0.5, 0.83, 1.0]),
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_all_filters_together_agree_with_plain_floats(
    row: list[float], temperature: float, top_k: int, top_p: float
):
    # no ties, and no cut within rounding
    spread = [round(x, 1) + i * 0.013 for i, x in enumerate(row)]
    exact = [math.exp(x) / sum(map(math.exp, spread)) for x in spread]
    actual = probabilities(
        torch.tensor([spread], dtype=torch.float64),
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
    )
    assert sum(actual) == pytest.approx(1, abs=1e-6)
    assert actual == pytest.approx(warped(exact, temperature, top_k, top_p), abs=1e-5)


def test_rows_are_treated_one_by_one():
    """Several rows at once give what each gives alone: the target's rows and the draft's are cut
    alike.
    """
    rows = torch.randn(6, 9, generator=torch.Generator().manual_seed(0))
    sampling = Sampling(temperature=0.8, top_k=6, top_p=0.7)
    together = sampling.probabilities(rows)
    alone = torch.cat([sampling.probabilities(row.unsqueeze(0)) for row in rows])
    assert torch.equal(together > 0, alone > 0)
    torch.testing.assert_close(together, alone, atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str
)
def test_probabilities_are_float32_whatever_the_logits(dtype: torch.dtype):
    for options in ({}, {"temperature": 0}, {"top_p": 0.5}, {"top_k": 2}):
        row = Sampling(**options).probabilities(logits(0.1, 0.4, 0.2, 0.3).to(dtype))
        assert row.dtype == torch.float32
        assert float(row.sum()) == pytest.approx(1, abs=1e-6)


def test_masked_logits_stay_without_probability():
    row = torch.tensor([[0.3, -torch.inf, 0.1, -torch.inf]])
    for options in ({}, {"temperature": 0}, {"top_p": 0.9}, {"top_k": 3}, {"temperature": 0.01}):
        kept = probabilities(row, **options)
        assert kept[1] == kept[3] == 0
        assert not any(map(math.isnan, kept))


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": -1},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"temperature": 101},
        {"top_p": 0},
        {"top_p": 2},
        {"top_p": -0.1},
        {"top_p": math.nan},
        {"top_k": -1},
    ],
    ids=str,
)
def test_options_out_of_range_are_refused(options: dict[str, float]):
    with pytest.raises(HsdError) as error:
        Sampling(**options)
    assert "\n" not in str(error.value)


# Random numbers


def test_streams_are_uniform_reproducible_and_unlike_each_other():
    for name in ("draft", "coins", "after"):
        values = getattr(Streams(3), name)(4_000)
        assert values.dtype == torch.float64
        assert bool(((values >= 0) & (values < 1)).all())
        tenths = Counter((int(v * 10),) for v in values.tolist())
        assert chi_square_p(tenths, {(i,): 0.1 for i in range(10)}) > 1e-4
        assert torch.equal(values, getattr(Streams(3), name)(4_000))
    streams = Streams(3)
    columns = torch.stack(
        [streams.draft(4_000), streams.coins(4_000), streams.after(4_000), Streams(4).draft(4_000)]
    )
    correlation = torch.corrcoef(columns) - torch.eye(4)
    assert float(correlation.abs().max()) < 0.07


def test_taking_from_one_stream_does_not_move_the_others():
    first = Streams(1)
    second = Streams(1)
    first.draft(17)
    first.after(3)
    assert torch.equal(first.coins(5), second.coins(5))


@pytest.mark.parametrize("seed", [0, -1, 2**64 + 1, 10**40])
def test_any_integer_is_a_seed(seed: int):
    assert torch.equal(Streams(seed).draft(3), Streams(seed).draft(3))
    assert not torch.equal(Streams(seed).draft(3), Streams(seed + 1).draft(3))


def test_recorded_numbers_come_back_step_by_step():
    numbers = RecordedNumbers(
        [RoundNumbers([0.1, 0.2], [0.3, 0.4], [0.5]), RoundNumbers([0.6], [0.7], [0.8, 0.9])]
    )
    assert numbers.draft(2).tolist() == [0.1, 0.2]
    assert numbers.coins(3).tolist() == [0.3, 0.4, 0.5]  # one more than was recorded: filled up
    assert numbers.after(1).tolist() == [0.5]
    assert numbers.draft(1).tolist() == [0.6]
    assert numbers.coins(1).tolist() == [0.7]
    assert [numbers.after(1).tolist() for _ in range(2)] == [[0.8], [0.9]]
    with pytest.raises(HsdError, match="no further step"):
        numbers.draft(1)

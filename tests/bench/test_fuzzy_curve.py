"""The fuzzy rule's trade-off on the embedded pair: calibration, what a step may spend, and the ends
of the curve.
"""

from __future__ import annotations

import itertools
import json
import math

import pytest
import torch
import trade_off
from trade_off import counts, drift, overruled, point

import hsd
from hsd.audit import output_law, random_models
from hsd.bench.fuzzy import EXACT, Calibration, calibrate, exact_tests
from hsd.errors import HsdError
from hsd.paths import ASSETS, RESULTS
from hsd.rules import DIVERGENCES, Fuzzy, fuzzy_rule
from hsd.rules.fuzzy import MODES, relative_entropy

pytestmark = pytest.mark.skipif(
    not (ASSETS / "tiny" / "target").is_dir(), reason="the embedded pair is not there"
)
PROMPT = "Tom had a toy boat. One day, the boat floated far away down the river."
SETTING = {"max_new_tokens": 40, "temperature": 1.0}
each_divergence = pytest.mark.parametrize("name", DIVERGENCES)


@pytest.fixture(scope="module")
def pair() -> hsd.Pair:
    return hsd.load_pair("tiny")


def fuzzy(pair: hsd.Pair, **options) -> hsd.Trace:
    return hsd.run(pair, PROMPT, **{**SETTING, "rule": "fuzzy", **options})


# ---- calibration


def test_a_share_is_a_quantile_of_what_was_rejected():
    rejected = [0.5, 0.1, 0.4, 0.2, 0.3]
    found = Calibration(7, tuple(sorted(rejected)))
    assert [found.tolerance(share) for share in (0, 0.2, 0.21, 0.5, 1)] == [
        EXACT,
        0.1,
        0.2,
        0.3,
        0.5,
    ]
    for count in range(6):
        assert sum(d <= found.tolerance(count / 5) for d in rejected) == count


@pytest.mark.parametrize("share", [-0.01, 1.01, 20, math.nan, math.inf, "much", None])
def test_a_share_outside_0_to_1_is_refused_in_one_line(share: object):
    with pytest.raises(HsdError, match="choose a number from 0 to 1") as told:
        Calibration(1, (0.1,)).tolerance(share)  # type: ignore[arg-type]
    assert "\n" not in str(told.value)


def test_without_a_rejection_there_is_nothing_to_calibrate():
    with pytest.raises(HsdError, match="rejected nothing"):
        Calibration(1, ()).tolerance(0.2)


def test_calibrating_makes_the_exact_tests_of_vanilla_decoding(pair: hsd.Pair):
    found = calibrate(pair, [PROMPT, "Ben and his dog Max"], "js", **SETTING)
    traces = [
        hsd.run(pair, p, rule="tokenwise", seed=i, **SETTING)
        for i, p in enumerate([PROMPT, "Ben and his dog Max"])
    ]
    verdicts = [
        not decision.accepted
        for trace in traces
        for step in trace.steps
        for decision in step.verdict.decisions
    ]
    assert (found.tests, len(found.rejected)) == (len(verdicts), sum(verdicts))
    assert list(found.rejected) == sorted(found.rejected)
    assert (
        0
        < len(found.rejected)
        == sum(step.kept < step.drafted for trace in traces for step in trace.steps)
    )
    for share in (0.25, 0.5, 1.0):
        accepted = sum(value <= found.tolerance(share) for value in found.rejected)
        assert accepted == math.ceil(share * len(found.rejected))


# ---- the ends of the tolerance, and what lies between


@each_divergence
def test_below_zero_the_text_is_the_one_of_vanilla_decoding(pair: hsd.Pair, name: str):
    for seed in (0, 1):
        exact = hsd.run(pair, PROMPT, rule="tokenwise", seed=seed, **SETTING)
        assert fuzzy(pair, divergence=name, tolerance=-1.0, seed=seed).tokens == exact.tokens


@pytest.mark.parametrize("mode", MODES)
@each_divergence
def test_no_step_spends_more_than_the_tolerance_for_each_token_it_keeps(
    pair: hsd.Pair, name: str, mode: str
):
    tolerance = {"kl": 1.0, "reverse-kl": 0.5, "js": 0.15, "tv": 0.4}[name]
    spent = 0.0
    for seed in (3, 4):
        trace = fuzzy(pair, divergence=name, tolerance=tolerance, fuzzy_mode=mode, seed=seed)
        for step in trace.steps:
            assert 0 <= drift(step, tolerance) <= tolerance * step.kept + 1e-12
            near = [value <= tolerance for value in step.divergences]
            assert step.kept >= next(
                (i for i, passes in enumerate(near) if not passes), step.drafted
            )
            if mode == "divergence-only" and step.drafted:
                assert step.kept == next(
                    (i for i, passes in enumerate(near) if not passes), step.drafted
                )
        record = counts(trace)
        assert record["drift"] == pytest.approx(sum(drift(step, tolerance) for step in trace.steps))
        spent += record["drift"]
    assert spent > 0


def test_calibration_asks_the_exact_test_whatever_mode_the_tolerance_is_for(pair: hsd.Pair):
    exact, only = (calibrate(pair, [PROMPT], fuzzy_mode=mode, **SETTING) for mode in MODES)
    assert exact == only


def test_a_tolerance_above_all_divergences_keeps_every_draft(pair: hsd.Pair):
    found = calibrate(pair, [PROMPT], "tv", **SETTING)
    assert found.tolerance(1.0) < 1.0
    trace = fuzzy(pair, divergence="tv", tolerance=1.0)
    assert all(step.kept == step.drafted for step in trace.steps)
    assert sum(overruled(step) for step in trace.steps) > 0


@each_divergence
def test_on_the_same_drafts_more_tolerance_never_keeps_less(pair: hsd.Pair, name: str):
    """In expectation over the coins, exactly, and for both modes."""
    drafts = rows_of(pair, 12)
    ladder = [-1.0, 0.0, 0.02, 0.1, 0.3, 0.6, 1.0, 3.0, math.inf]
    for mode in MODES:
        means = []
        for tolerance in ladder:
            rule = fuzzy_rule(Fuzzy(name, tolerance, mode))
            means.append([float(rule.law(*draft).expected_kept) for draft in drafts])
        for less, more in itertools.pairwise(means):
            assert all(a <= b + 1e-12 for a, b in zip(less, more, strict=True))
        assert (
            sum(means[0])
            < sum(means[-1])
            == pytest.approx(sum(len(tokens) for _, _, tokens in drafts))
        )


def rows_of(pair: hsd.Pair, count: int) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Distributions of both models along pieces of a text of the target's own."""
    text = hsd.run(pair, PROMPT, system="plain", max_new_tokens=5 * count, trace=False, seed=1)
    ids = torch.tensor([*text.prompt.ids, *text.tokens])
    with torch.inference_mode():
        p, q = (
            model.start().forward(ids, len(ids)).softmax(-1) for model in (pair.target, pair.draft)
        )
    starts = range(len(text.prompt.ids), len(ids) - 5, 5)
    return [(p[i - 1 : i + 5], q[i - 1 : i + 4], ids[i : i + 5]) for i in starts]


def test_at_temperature_0_raw_rows_tell_what_warped_ones_cannot(pair: hsd.Pair):
    """Warped rows are then single tokens: D is 0 or infinite. Raw rows have a D in between, and
    pass or not by it.
    """
    warped, raw = (
        fuzzy(pair, temperature=0.0, divergence_on=on, tolerance=-1.0) for on in ("warped", "raw")
    )
    assert warped.tokens == raw.tokens
    assert {divergence for divergence, _ in exact_tests(warped)} <= {0.0, math.inf}
    found = [divergence for divergence, failed in exact_tests(raw) if failed]
    assert found
    assert all(0 < divergence < 50 for divergence in found)
    passed = fuzzy(pair, temperature=0.0, divergence_on="raw", tolerance=max(found))
    assert sum(overruled(step) for step in passed.steps) > 0
    unmoved = fuzzy(pair, temperature=0.0, tolerance=100.0)
    assert unmoved.tokens == warped.tokens


# ---- points, and the file they are drawn from


def test_a_point_is_made_of_sums_over_prompts(pair: hsd.Pair):
    records = [
        {"prompt": i, **counts(fuzzy(pair, tolerance=1.0, seed=i)), "right": i % 2}
        for i in range(3)
    ]
    found = point(records)
    for name, (above, below) in {
        "tokens_per_call": ("new_tokens", "target_calls"),
        "drift": ("drift", "new_tokens"),
        "overruled": ("overruled", "kept"),
        "length": ("new_tokens", "answers"),
        "right": ("right", "answers"),
    }.items():
        value, low, high = found[name]
        assert value == pytest.approx(
            sum(r[above] for r in records) / sum(r[below] for r in records)
        )
        assert low <= value <= high
    assert found["answers"] == 3
    assert "right" not in point(
        [{k: v for k, v in record.items() if k != "right"} for record in records]
    )


def test_the_recorded_curve_says_what_it_was_made_of():
    result = json.loads((RESULTS / "fuzzy.json").read_text(encoding="utf-8"))
    assert result["machine"]["threads"] == 1
    assert {"date", "version", "setting", "what"} <= set(result)
    for text in result["texts"].values():
        assert set(text["curve"]) == set(DIVERGENCES)
        for table in text["calibration"]["tolerances"].values():
            for tolerances in table.values():
                assert len(tolerances) == len(result["shares"])
                assert tolerances[0] == EXACT
                assert tolerances == sorted(tolerances)
        assert text["exact"]["drift"][0] == text["exact"]["overruled"][0] == 0
        for modes in text["curve"].values():
            assert set(modes) == set(MODES)
            for points in modes.values():
                for one in points:
                    bound = one["tolerance"] * (1 + 1e-3)
                    assert 0 <= one["drift"][0] <= bound
                    assert (
                        one["tokens_per_call"][1]
                        <= one["tokens_per_call"][0]
                        <= one["tokens_per_call"][2]
                    )


# ---- rules beside each other, at equal cost


@pytest.mark.parametrize("name", trade_off.NUMBERS)
def test_the_cost_of_a_rule_is_how_far_its_token_is_from_the_target(name: str):
    """By enumeration of every draft of one token: KL of the first token's law from the target's."""
    models = random_models(4, 1, 2)
    for number in trade_off.NUMBERS[name][::3]:
        spent = kept = 0.0
        for x, chance in enumerate(models.draft[()].tolist()):
            rows = models.rows(models.target, (x,), 2), models.draft[()][None], torch.tensor([x])
            found = trade_off.judged((name, number), *rows, {})
            spent = spent + chance * found["drift"]
            kept = kept + chance * (found["tokens"] - 1)
        output, wanted = output_law(models, trade_off.ruled(name, number).law)
        assert kept == pytest.approx(wanted, abs=1e-12)
        assert spent == pytest.approx(
            float(relative_entropy(output.sum(-1), models.target[()])), abs=1e-12
        )


def test_at_one_cost_rules_are_read_off_between_their_numbers():
    def grid(*points: tuple[float, float]) -> list[list[dict[str, float]]]:
        return [
            [{"tokens": 10 * y, "passes": 10.0, "drift": 10 * y * x} for _ in range(3)]
            for x, y in points
        ]

    rules = {
        "exact": grid((0.0, 2.0)),
        "near": grid((0.01, 2.2), (0.03, 2.6)),
        "clipped-hsd": grid((0.02, 3.0), (0.0, 2)),
    }
    found = trade_off.compared(rules, 0.015)
    made = {name: one["tokens_per_call"] for name, one in found.items()}
    assert made == pytest.approx({"exact": 2.0, "near": 2.3, "clipped-hsd": 2.75})
    assert found["near"]["clipped_more"] == pytest.approx([2.75 / 2.3 - 1] * 3)
    assert set(trade_off.compared(rules, 0.005)) == {"exact", "clipped-hsd"}


def test_no_recorded_point_spends_more_than_its_tolerance():
    result = json.loads((RESULTS / "fuzzy.json").read_text(encoding="utf-8"))
    for pair in result["equal"].values():
        for measured in pair["measured"]:
            assert set(measured["rules"]) == set(trade_off.NUMBERS)
            for name in trade_off.CLIPPED:
                for one in measured["rules"][name]:
                    assert 0 < one["drift"][0] <= one["number"] * (1 + 1e-3)
            assert measured["rules"]["hsd"][0]["drift"][0] == 0

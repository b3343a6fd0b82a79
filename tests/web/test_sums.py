"""The numbers of both rules over a whole run, and where two texts part, computed in the page."""

from __future__ import annotations

import copy
import json
import random
import statistics
from collections.abc import Iterator

import pytest
from engine import Engine

from hsd.paths import TRACES


@pytest.fixture(scope="module")
def sums() -> Iterator[Engine]:
    engine = Engine({"sums": "step/sums.js", "model": "step/model.js"})
    yield engine
    engine.stop()


def preset(name: str) -> dict:
    return json.loads((TRACES / f"{name}.json").read_text())


@pytest.mark.parametrize("name", ["story", "long-draft", "vanilla", "four-drafts", "greedy"])
def test_the_sums_of_both_rules_are_those_of_the_trace(sums, name) -> None:
    steps = preset(name)["steps"]
    run, other = sums.call("(trace) => sums.compare(trace)", {"steps": steps})
    shadows = [step["shadow"] for step in steps]
    assert [run["rule"], other["rule"]] == [steps[0]["verdict"]["rule"], shadows[0]["rule"]]
    assert run["drafted"] == other["drafted"] == sum(s["drafted"] for s in steps)
    assert [run["kept"], other["kept"]] == [
        sum(s["kept"] for s in steps),
        sum(s["kept"] for s in shadows),
    ]
    assert run["more"] == sum(s["kept"] > s["shadow"]["kept"] for s in steps)
    assert other["more"] == sum(s["kept"] < s["shadow"]["kept"] for s in steps)
    assert [run["tokens"], run["calls"]] == [sum(len(s["committed"]) for s in steps), len(steps)]
    assert [other["tokens"], other["calls"]] == [
        sum(s["kept"] + bool(s["next"]) for s in shadows),
        len(steps),
    ]
    for one in (run, other):
        assert one["mean"] == pytest.approx(
            sum(s["expected_kept"][one["rule"]] for s in steps if s["drafted"])
        )


@pytest.mark.parametrize("name", ["story", "harbour", "cat", "released"])
def test_a_run_opens_where_the_rules_part_most_whichever_keeps_more(sums, name) -> None:
    steps = preset(name)["steps"]
    means = [
        (s["expected_kept"].get(s["verdict"]["rule"]), s["expected_kept"].get(s["shadow"]["rule"]))
        for s in steps
    ]
    gaps = [0 if None in both else abs(both[0] - both[1]) for both in means]
    assert sums.call("(steps) => model.mostApart(steps)", steps) == gaps.index(max(gaps))
    for step in steps:
        step["expected_kept"] = {}
    assert sums.call("(steps) => model.mostApart(steps)", steps) is None


def test_a_run_without_a_second_rule_has_nothing_beside_it(sums) -> None:
    assert sums.call("(trace) => sums.compare(trace)", {"steps": []}) == []
    same = preset("story")
    for step in same["steps"]:
        step["shadow"] = step["verdict"] | {"next": None}
    assert len(sums.call("(trace) => sums.compare(trace)", same)) == 1
    assert len(sums.call("(trace) => sums.compare(trace)", preset("plain"))) == 1


def test_a_step_that_does_not_tell_its_mean_leaves_no_mean(sums) -> None:
    trace = preset("story")
    trace["steps"][0]["expected_kept"] = {}
    assert [one["mean"] for one in sums.call("(trace) => sums.compare(trace)", trace)] == [
        None,
        None,
    ]


def test_a_run_in_which_both_rules_kept_the_same_says_why(sums) -> None:
    told = "(trace) => sums.alike(trace)"
    assert "at temperature 0" in sums.call(told, preset("greedy"))
    warm = preset("story")
    warm["steps"] = [step for step in warm["steps"] if step["kept"] == step["shadow"]["kept"]]
    words = sums.call(told, warm)
    means = [
        sum(s["expected_kept"][rule] for s in warm["steps"]) / len(warm["steps"])
        for rule in ("hsd", "tokenwise")
    ]
    assert "as the coins fell: HSD and vanilla kept the same" in words
    assert all(f"{mean:.3g}" in words for mean in means)
    assert sums.call(told, preset("plain")) == ""


def test_where_two_texts_part(sums) -> None:
    run = preset("story")
    other = copy.deepcopy(run)
    call = "(a, b) => [sums.parting(a, b), sums.sameText(a, b)]"
    assert sums.call(call, run, other) == [None, True]
    other["steps"][3]["committed"][-1]["token"] += 1
    assert sums.call(call, run, other) == [4, False]
    del other["steps"][3:]
    assert sums.call(call, run, other) == [None, False]


def steps_with(gaps: list[float]) -> list[dict]:
    return [{"drafted": 5, "expected_kept": {"hsd": 1 + gap, "tokenwise": 1}} for gap in gaps]


@pytest.mark.parametrize("count", [1, 2, 5, 9, 10, 14, 60])
def test_an_interval_is_students_and_of_few_steps_there_is_none(sums, count: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    noise = random.Random(count)
    gaps = [noise.gauss(0.2, 0.5) for _ in range(count)]
    found = sums.call(
        "(steps) => sums.spread(steps, [{ rule: 'hsd' }, { rule: 'tokenwise' }])", steps_with(gaps)
    )
    if count < 10:
        assert found is None
        return
    half = stats.t.ppf(0.975, count - 1) * statistics.stdev(gaps) / count**0.5
    assert found == pytest.approx(half, rel=1e-4)

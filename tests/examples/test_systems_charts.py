"""The charts of the Systems page are what their script makes of the recorded runs."""

from __future__ import annotations

import json

import pytest
import systems_charts

from hsd.app.presets import SYSTEM_WORDS, from_json
from hsd.app.site import CHARTS
from hsd.paths import RESULTS


def test_the_charts_are_what_the_script_writes():
    made = json.loads(json.dumps(systems_charts.charts()))
    assert made.keys() == SYSTEM_WORDS.keys()
    assert from_json(CHARTS) == made, "run: python examples/reproduce/systems_charts.py"


def test_a_point_of_the_trade_off_stands_where_it_was_measured():
    measured = json.loads((RESULTS / "fuzzy.json").read_text(encoding="utf-8"))["texts"]["sums"]
    (chart,) = [one for one in from_json(CHARTS)["fsd"] if one["name"] == "sums right"]
    line = next(one for one in chart["data"] if one["name"] == "JS, divergence only")
    points = measured["curve"]["js"]["divergence-only"]
    assert line["x"] == [one["tokens_per_call"][0] for one in points]
    assert line["y"] == [one["right"][0] for one in points]
    assert all(
        f"T = {one['tolerance']:.3g}" in said
        for one, said in zip(points, line["text"], strict=True)
    )


def test_names_of_bars_fit_a_phone_and_are_those_of_the_page():
    for charts in from_json(CHARTS).values():
        for chart in charts:
            bars = [name for part in chart["data"] if part["type"] == "bar" for name in part["y"]]
            assert max(map(len, bars), default=0) < 26, chart["name"]
            assert not [name for name in bars if "tokenwise" in name or name.startswith("hsd")]


def test_the_cost_of_a_run_is_the_work_that_its_trace_records():
    (chart,) = [one for one in from_json(CHARTS)["hispec"] if one["name"] == "hispec-trained"]
    plain, computed, passes = (sum(bar["x"][row] for bar in chart["data"]) for row in range(3))
    assert computed / plain == pytest.approx(2.19, abs=0.005)
    assert f"{passes / plain:.2f} times" in chart["words"]
    whole = [bar for bar in chart["data"] if bar["name"].startswith("whole model")]
    assert whole[0]["x"][0] == 8 * 36, "layers of the model on its tokens"

"""The recorded runs of FSD and its measured curve, as the page gets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from trade_off import drift, overruled

import hsd
from hsd.app.systems.panels import FUZZY, fuzzy_results
from hsd.app.systems.recorded import presets, trace_of
from hsd.errors import HsdError
from hsd.paths import ASSETS

NAMES = [name for name, preset in presets().items() if preset.options.get("rule") == "fuzzy"]
TINY = pytest.mark.skipif(not (ASSETS / "tiny" / "target").is_dir(), reason="the embedded pair is not there")


def test_the_panel_gets_the_recorded_measurement_or_one_line(tmp_path: Path):
    assert fuzzy_results() == json.loads(FUZZY.read_text(encoding="utf-8"))
    for content in (None, "3", "{}", "nonsense"):
        file = tmp_path / f"{content}.json"
        if content is not None:
            file.write_text(content)
        with pytest.raises(HsdError, match=r"no measured trade-off: run `python examples/reproduce/measure_fuzzy\.py`"):
            fuzzy_results(file)


@pytest.mark.parametrize("name", NAMES)
def test_recorded_runs_follow_from_their_coins_and_keep_their_bound(name: str):
    trace = trace_of(name)
    assert trace.replay() == trace.tokens
    tolerance = trace.setup.options.fuzzy.tolerance
    for step in trace.steps:
        assert drift(step, tolerance) <= tolerance * step.kept + 1e-12


@TINY
def test_what_is_said_of_recorded_runs_is_true():
    traces = {name: trace_of(name) for name in NAMES}
    wrong, preset = traces["fsd-sum"], presets()["fsd-sum"]
    assert sum(overruled(step) for step in wrong.steps) == 1
    assert "8 + 2 = 9" in wrong.text
    exact = hsd.run(hsd.load_pair("tiny"), preset.prompt, **{**preset.options, "rule": "tokenwise", "trace": False})
    assert exact.text.split("####")[1].strip().startswith("14")
    assert all(step.kept == step.drafted for step in traces["fsd-all"].steps)
    assert any(node.p == 0 for step in traces["fsd-impossible"].steps for node in step.nodes[: step.kept])
    assert traces["fsd-zero"].stats()["block_efficiency"] == 1

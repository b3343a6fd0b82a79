"""The recorded runs of FSD."""

from __future__ import annotations

import pytest
from trade_off import drift, overruled

import hsd
from hsd.app.presets import of_systems, trace_of
from hsd.paths import ASSETS

NAMES = [name for name, preset in of_systems().items() if preset.options.get("rule") == "fuzzy"]
TINY = pytest.mark.skipif(
    not (ASSETS / "tiny" / "target").is_dir(), reason="the embedded pair is not there"
)


@pytest.mark.parametrize("name", NAMES)
def test_recorded_runs_follow_from_their_coins_and_keep_their_bound(name: str):
    trace = trace_of(of_systems()[name])
    assert trace.replay() == trace.tokens
    tolerance = trace.setup.options.fuzzy.tolerance
    for step in trace.steps:
        assert drift(step, tolerance) <= tolerance * step.kept + 1e-12


@TINY
def test_what_is_said_of_recorded_runs_is_true():
    traces = {name: trace_of(of_systems()[name]) for name in NAMES}
    wrong = traces["fsd-sum"]
    preset = of_systems()["fsd-sum"]
    assert sum(overruled(step) for step in wrong.steps) == 1
    assert "8 + 2 = 9" in wrong.text
    exact = hsd.run(
        hsd.load_pair("tiny"),
        preset.prompt,
        **{**preset.options, "rule": "tokenwise", "trace": False},
    )
    assert exact.text.split("####")[1].strip().startswith("14")
    assert all(step.kept == step.drafted for step in traces["fsd-all"].steps)
    assert any(
        node.p == 0 for step in traces["fsd-impossible"].steps for node in step.nodes[: step.kept]
    )
    assert traces["fsd-zero"].stats()["block_efficiency"] == 1

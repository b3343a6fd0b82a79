"""The recorded runs of the model stack and of HiSpec, and what programs may ask for."""

from __future__ import annotations

import pytest

from hsd.app.presets import SYSTEMS, definitions, of_systems, trace_of

PRESETS = of_systems()


def test_every_run_of_the_panels_is_recorded_and_true():
    assert set(PRESETS) == set(definitions(SYSTEMS))
    for name, preset in PRESETS.items():
        trace = trace_of(PRESETS[name])
        assert trace.prompt.text == preset.prompt
        flat = trace.setup.options.flat()
        told = {key: flat[key] for key in preset.options if key not in ("trace", "gamma")}
        assert told == {key: value for key, value in preset.options.items() if key in told}
        if preset.options.get("trace", True):
            assert trace.replay() == trace.tokens


def test_runs_that_break_something_say_what():
    notes = {name: trace_of(PRESETS[name]).setup.notes for name in PRESETS}
    assert "larger: put models in order of size" in notes["stack-order"][0]
    assert (
        "not say that it was trained to predict after layer 1 and 3" in notes["hispec-untrained"][0]
    )
    assert not notes["stack-three"]
    assert not notes["hispec-trained"]


def test_programs_can_ask_for_levels_and_a_fuzzy_rule(app):
    client = pytest.importorskip("gradio_client").Client(app.url, verbose=False)
    common = {"prompt": "Once upon a time", "max_new_tokens": 8, "api_name": "/run"}
    setup = client.predict(**common, system="stack", stack="0, 2", thresholds="4")["trace"]["setup"]
    levels = setup["options"]["levels"]
    assert (levels["stack"], levels["thresholds"], len(setup["models"])) == ([0, 2], [4], 2)
    run = client.predict(**common, system="hispec", exits="2, 3", level_rules="tokenwise")
    setup = run["trace"]["setup"]
    levels = setup["options"]["levels"]
    assert (levels["exits"], levels["rules"]) == ([2, 3], ["tokenwise"])
    setup = client.predict(**common, rule="fuzzy", divergence="js", tolerance=0.1)["trace"]["setup"]
    fuzzy = setup["options"]["fuzzy"]
    assert (fuzzy["divergence"], fuzzy["tolerance"], fuzzy["mode"]) == ("js", 0.1, "exact-first")
    with pytest.raises(Exception, match="threshold x: choose a whole number"):
        client.predict(**common, system="stack", thresholds="x")

"""What the page says of a recorded run that was asked for again."""

from __future__ import annotations

import copy
import json

import pytest
from engine import Engine

from hsd.paths import TRACES


@pytest.fixture(scope="module")
def parting():
    engine = Engine({"again": "step/parting.js"})
    yield lambda *runs: engine.call("(a, b) => again.parting(a, b)", *runs)
    engine.stop()


def test_a_run_that_leaves_the_recorded_one_is_told_where(parting):
    recorded = json.loads((TRACES / "story.json").read_text())
    assert parting(recorded, recorded) == ""
    shorter, other, longer = (copy.deepcopy(recorded) for _ in range(3))
    late = next(i for i, step in enumerate(recorded["steps"]) if i > 1 and len(step["committed"]) > 1)
    del shorter["steps"][late:]
    assert parting(recorded, shorter) == ""  # cancelled
    before = sum(len(step["committed"]) for step in recorded["steps"][:late])
    other["steps"][late]["committed"][1]["token"] += 1
    assert f"the same first {before + 1} tokens and" in parting(recorded, other)
    other["setup"]["models"][0]["drafted"] = 6_144  # not recorded by earlier versions
    assert "the same first" in parting(recorded, other)
    longer["setup"]["options"]["seed"] += 1
    longer["steps"][0]["committed"][0]["token"] += 1
    assert parting(recorded, longer) == ""  # asked for something else

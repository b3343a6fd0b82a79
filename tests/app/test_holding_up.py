"""The scripts that try whether the app holds up: they run, they find nothing, and the page says
what they found.
"""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pages
import pytest

from hsd.paths import ROOT
from hsd.space import load as load_space

FOLDER = ROOT / "examples" / "reproduce" / "holding_up"


@pytest.fixture(scope="module")
def scripts() -> Iterator[ModuleType]:
    """`measure.py`, which imports the others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        import measure

        yield measure
    for name in ("measure", "abuse", "faults", "load", "visitor"):
        sys.modules.pop(name, None)


def test_the_page_is_what_its_script_writes(scripts: ModuleType):
    found = json.loads(scripts.RESULTS.read_text(encoding="utf-8"))
    assert scripts.blocks(found).items() <= pages.blocks(scripts.PAGE).items(), (
        "run measure.py --page"
    )


@pytest.mark.slow
def test_some_hostile_requests_are_answered_in_one_line_each(scripts: ModuleType, tmp_path: Path):
    found = scripts.abuse(24, str(tmp_path), start=1)
    assert found["calls"] >= 24
    assert (found["failures"], found["wrong"], found["tracebacks"]) == (0, [], 0)
    assert found["lines_of_the_log_with_what_was_asked"] == 0
    assert found["an_ordinary_run_afterwards"]


@pytest.mark.slow
def test_runs_are_cancelled_in_every_phase_and_clients_served_in_turn(
    scripts: ModuleType, tmp_path: Path
):
    found = scripts.cancels(10, str(tmp_path))
    assert (found["lost"], found["a_run_afterwards"], found["tracebacks"]) == (0, True, 0)
    assert sum(found["ended"].values()) == 10
    held = scripts.load(0.3, 6, 0, str(tmp_path))
    assert (held["failures"], held["settings_with_two_texts"], held["tracebacks"]) == (0, 0, 0)
    assert held["runs_of_a_client"][0] > 0


def test_the_sessions_that_gradio_keeps_take_little_memory():
    """Each describes every endpoint: ten thousand, Gradio's own limit, would not fit."""
    gradio = pytest.importorskip("gradio")
    from gradio.state_holder import SessionState

    from hsd.app import SESSIONS
    from hsd.app.server import build

    with gradio.Blocks(mode="server") as blocks:
        for function, about in build(load_space()).endpoints.items():
            gradio.api(function, **about)
    tracemalloc.start()
    kept = [SessionState(blocks) for _ in range(10)]
    each = tracemalloc.get_traced_memory()[0] / len(kept)
    tracemalloc.stop()
    assert each * SESSIONS < 100e6

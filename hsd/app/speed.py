"""What the tab Speed shows beside races: the recorded benchmarks, and what a race may be."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hsd.app import race, servers
from hsd.bench.report import read
from hsd.bench.view import view as view_of
from hsd.paths import RESULTS
from hsd.space import Space

BENCHMARKS = {"smollm2": "bench-smollm2.jsonl", "tiny": "bench.jsonl"}
"""The benchmarks that travel with the project, by their pair; the screen opens on the first."""

LENGTHS = RESULTS / "lengths.json"
"""What the rules keep at every draft length, for the calculator; see examples/reproduce/record_race.py."""

PLOTLY = Path(str(find_spec("plotly").origin)).parent / "package_data" / "plotly.min.js"  # type: ignore[union-attr]
"""What draws the charts, as its package brings it."""


@cache
def view(name: str) -> dict[str, Any]:
    """Return a recorded benchmark, see `hsd.bench.view`."""
    return view_of(read(RESULTS / BENCHMARKS[name]))


def race_plan(space: Space, values: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a race for the page's form: its lanes and its link. Raises HsdError."""
    return race.read_plan(space, values).described()


def race_limits(space: Space) -> dict[str, Any]:
    """Return how many lanes a race has at most, how often each may be timed, and whether one may be a server's."""
    return {"lanes": race.MOST_LANES, "rounds": race.ROUNDS, "server": servers.allowed(space)}

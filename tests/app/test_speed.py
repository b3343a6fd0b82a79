"""The recorded benchmarks and lengths that the tab Speed shows."""

from __future__ import annotations

from hsd.app import speed


def test_the_recorded_benchmarks_are_shown_by_their_pair():
    for name in speed.BENCHMARKS:
        assert speed.view(name)["facts"][0] == f"pair {name}"

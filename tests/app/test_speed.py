"""The recorded benchmarks and lengths that the tab Speed shows."""

from __future__ import annotations

from hsd.app.site import BENCHMARKS, benchmark


def test_the_recorded_benchmarks_are_shown_by_their_pair():
    for name in BENCHMARKS:
        assert benchmark(name)["facts"][0].startswith(f"pair {name}, temperature ")

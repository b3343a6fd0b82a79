"""What the pages say of the real pair follows from the committed results."""

from __future__ import annotations

import json

import measured_pair
import pytest

from hsd.app.site import LENGTHS
from hsd.paths import RESULTS


@pytest.fixture(scope="module")
def found() -> dict:
    return measured_pair.results()


def test_every_way_has_a_row_with_its_speed_and_its_ratio(found):
    page = measured_pair.speeds(found)
    ours = measured_pair.of_engine(found, "native")
    for name, (speed, _, _) in ours["speed"].items():
        kind, temperature, way = name.split(", ", 2)
        if way == "plain, again":
            continue
        row = next(
            line for line in page.splitlines() if f"native, {measured_pair.title(way)} |" in line
        )
        heads = page.splitlines()[0].strip("| ").split(" | ")
        cells = row.strip("| ").split(" | ")[1:]
        cell = cells[heads.index(f"{kind}, {temperature}")]
        assert cell.startswith(f"{speed:.1f}")
        if way != "plain":
            assert cell.endswith(f"×{ours['times_plain'][name][0]:.2f}")


def test_the_best_of_hsd_is_the_largest_ratio(found):
    ours = measured_pair.of_engine(found, "native")
    ratios = [
        ratio[0]
        for name, ratio in ours["times_plain"].items()
        if name.startswith("code, T = 0.7, cut hsd")
    ]
    assert f"×{max(ratios):.2f}" in measured_pair.best(ours, "code", "0.7")


def test_the_calculator_has_the_passes_and_the_texts_that_were_measured(found):
    rows = json.loads(LENGTHS[0].read_text(encoding="utf-8"))
    ours = measured_pair.of_engine(found, "native")
    assert rows["passes"]["here"]["1"] == ours["passes"]["target"]["1"][0]
    assert rows["passes"]["here"]["draft"] == ours["passes"]["cut draft"]["1"][0]
    whole = json.loads((RESULTS / "pair_estimate.json").read_text(encoding="utf-8"))
    rated = whole["temperatures"]["0.7"]["all"]["rules"]["hsd"]["tokens_per_pass"]
    for gamma in (1, 4, 8):
        own = [row for row in rows["samples"] if (row["rule"], row["gamma"]) == ("hsd", gamma)]
        rate = sum(row["tokens"] for row in own) / sum(row["passes"] for row in own)
        assert rate == pytest.approx(rated[gamma - 1], abs=1e-4)

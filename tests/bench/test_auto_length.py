"""γ "auto" in a benchmark, beside fixed lengths: its name, its mean length, and its limit."""

from __future__ import annotations

import json

import pytest
from table_models import table_pair

from hsd.bench import measure, measurements, rows
from hsd.bench.measure import Sweep
from hsd.bench.report import COLUMNS, cells
from hsd.cli import build_parser
from hsd.cli.bench import sweep
from hsd.figures import charts

PAIR = table_pair(vocab=5, order=2, seed=4, closeness=1.5)


@pytest.fixture(scope="module")
def found():
    cases = Sweep({"rule": ("hsd",), "gamma": (3, "auto"), "max_new_tokens": (40,)}).cases()
    return measurements(cases, list(measure(PAIR, cases, [(0, "ab"), (1, "ba")], 2)))


def test_the_command_line_takes_it_among_numbers():
    asked = build_parser(["bench"]).parse_args(["bench", "--gamma", "2,5,auto", "--rules", "hsd"])
    cases = sweep(asked).cases()
    assert [case.name for case in cases] == ["plain", "hsd, γ=2", "hsd, γ=5", "hsd, γ=auto"]
    assert build_parser(["run"]).parse_args(["run", "Once", "--gamma", "auto"]).gamma == "auto"
    with pytest.raises(SystemExit):
        build_parser(["run"]).parse_args(["run", "Once", "--gamma", "often"])


def test_confidence_is_of_drafts_that_choose_their_length():
    asked = build_parser(["bench"]).parse_args(
        ["bench", "--gamma", "2,auto", "--confidence", "0.2,0.4", "--rules", "hsd"]
    )
    names = [case.name for case in sweep(asked).cases()]
    assert names == [
        "plain",
        "hsd, γ=2",
        "hsd, γ=auto, confidence=0.2",
        "hsd, γ=auto, confidence=0.4",
    ]


def test_its_limit_is_by_the_passes_that_were_made(found):
    """A T(1) / the mean over steps of the target's and the draft's passes, each at the median of
    its width.
    """
    plain, _, auto = found
    steps = sum(record["steps"] for record in auto.records)
    seconds = 0.0
    for name in ("target", "draft"):
        for record in auto.records:
            for width, (count, _, _) in record["calls"][name]["widths"].items():
                seconds += count * auto.call_seconds(name, int(width))
    tokens = sum(record["new_tokens"] for record in auto.records)
    assert auto.limit(plain) == pytest.approx(
        tokens / steps * plain.call_seconds("target", 1) / (seconds / steps)
    )
    widths = {
        int(width) for record in auto.records for width in record["calls"]["target"]["widths"]
    }
    assert len(widths) > 1


def test_its_row_has_the_mean_length_of_its_drafts(found):
    auto = rows(found)[2]
    drafted = sum(record["drafted"] for record in found[2].records) / sum(
        record["steps"] for record in found[2].records
    )
    assert auto["mean_gamma"] == pytest.approx(drafted)
    assert dict(zip(COLUMNS, cells(auto), strict=True))["drafted per step"] == f"{drafted:.1f}"
    json.dumps(charts(rows(found)))

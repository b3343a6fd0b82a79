"""Figures show the numbers of their rows, and nothing in a name is markup."""

from __future__ import annotations

import json

import plotly.graph_objects as go
import pytest

from hsd import figures
from hsd.bench.report import read
from hsd.facts import rule_look
from hsd.figures import PARTS
from hsd.paths import RESULTS
from hsd.rules import RULES, TREE_RULES
from hsd.rules.rule import OTHER_LOOK

HOSTILE = "<img src=x onerror=alert(1)> ${1+1} %{y} <a href='javascript:alert(1)'>x</a>" + "w" * 300
ALL = (
    figures.block_efficiency,
    figures.acceptance_rate_per_position,
    figures.time_shares,
)


@pytest.fixture(scope="module")
def recorded() -> list[dict]:
    return read(RESULTS / "bench.jsonl").rows()


def row(rule: str, gamma: int = 5, temperature: float = 1.0, **more) -> dict:
    """A row as the benchmark makes it; `more` replaces fields."""
    return {
        "case": f"{rule}, γ={gamma}",
        "options": {"rule": rule, "gamma": gamma, "temperature": temperature},
        "tokens_per_second": 100.0 + gamma,
        "block_efficiency": (2.5 + temperature, 2.25 + temperature, 3.0 + temperature),
        "acceptance_rate": (0.5, 0.4, 0.6),
        "acceptance_rate_per_position": [0.75, 0.5],
        "kept_histogram": {0: 1, 1: 1, 2: 2},
        "shares": {"draft": 0.4, "target": 0.3, "verify": 0.15, "sampling": 0.1, "rest": 0.05},
        **more,
    }


PLAIN = {
    "case": "plain",
    "options": {"system": "plain", "temperature": 1.0},
    "tokens_per_second": 90.0,
}


def drafting(rows: list[dict]) -> list[dict]:
    return [r for r in rows if r["options"].get("rule")]


def points(figure, axis: str = "y") -> list[list]:
    return [trace[axis] for trace in figure["data"]]


def test_block_efficiency_shows_value_and_both_ends_of_the_interval(recorded):
    found = {}
    for trace in figures.block_efficiency(recorded)["data"]:
        error = trace["error_y"]
        for x, y, up, down in zip(
            trace["x"], trace["y"], error["array"], error["arrayminus"], strict=True
        ):
            found[trace["marker"]["symbol"], x] = (y, y - down, y + up)
    assert len(found) == len(drafting(recorded)) > 3
    for r in drafting(recorded):
        symbol = rule_look(r["options"]["rule"]).symbol
        assert found[symbol, r["options"]["gamma"]] == pytest.approx(r["block_efficiency"])


def test_block_efficiency_by_temperature_has_a_line_per_rule_and_draft_length():
    rows = [
        row(rule, gamma, t) for t in (1.0, 0.5) for gamma in (3, 5) for rule in ("tokenwise", "hsd")
    ]
    figure = figures.block_efficiency(rows, by="temperature")
    assert points(figure, "x") == [[0.5, 1.0]] * 4
    assert points(figure) == [[3.0, 3.5]] * 4
    assert [trace["name"] for trace in figure["data"]] == [
        "tokenwise, γ=3",
        "hsd, γ=3",
        "tokenwise, γ=5",
        "hsd, γ=5",
    ]
    assert len({(trace["line"]["color"], trace["line"]["dash"]) for trace in figure["data"]}) == 4


def test_acceptance_rate_per_position_is_that_of_the_rows_and_starts_at_position_1(recorded):
    figure = figures.acceptance_rate_per_position(recorded)
    assert points(figure) == [r["acceptance_rate_per_position"] for r in drafting(recorded)]
    assert all(trace["x"] == list(range(1, len(trace["y"]) + 1)) for trace in figure["data"])


def test_time_shares_stack_to_one_per_case(recorded):
    figure = figures.time_shares(recorded)
    assert [trace["name"] for trace in figure["data"]] == [
        style["title"] for style in PARTS.values()
    ]
    for number, r in enumerate(recorded):
        assert [trace["x"][number] for trace in figure["data"]] == [
            r["shares"][part] for part in PARTS
        ]
        assert sum(trace["x"][number] for trace in figure["data"]) == pytest.approx(1)


def test_the_longest_drafts_are_seen_first_and_the_others_wait_in_the_legend():
    rows = [row("hsd", gamma, t) for t in (1.0, 0.5) for gamma in (3, 10)]
    shown = [trace["visible"] for trace in figures.acceptance_rate_per_position(rows)["data"]]
    assert shown == ["legendonly", True, "legendonly", "legendonly"]


def test_rules_differ_in_colour_and_in_shape_and_look_the_same_in_every_figure():
    drawn = {rule.look for rule in (*RULES.values(), *TREE_RULES.values())} - {OTHER_LOOK}
    assert (
        len({s.colour for s in drawn})
        == len({s.symbol for s in drawn})
        == len({s.hatch for s in drawn})
        == 9
    )
    rows = [row("tokenwise"), row("hsd")]
    lines = [figures.block_efficiency(rows), figures.acceptance_rate_per_position(rows)]
    colours = [
        [trace[part]["color"] for trace in figure["data"]]
        for figure in lines
        for part in ("line", "marker")
    ]
    assert colours == [[rule_look("tokenwise").colour, rule_look("hsd").colour]] * 4


@pytest.mark.parametrize("make", ALL)
def test_a_hostile_name_is_text_and_is_cut(make):
    rows = [row("hsd", case=HOSTILE, options={"rule": HOSTILE, "gamma": 5, "temperature": 1.0})]
    for trace in make(rows)["data"]:
        for words in (trace.get("name", ""), *(y for y in trace["y"] if isinstance(y, str))):
            assert "<" not in words
            assert "%{" not in words
            assert len(words) < 100


@pytest.mark.parametrize("make", ALL)
def test_figures_fit_light_and_dark_pages_and_have_no_title(make):
    layout = make([PLAIN, row("hsd")])["layout"]
    assert layout["height"]
    assert "title" not in layout
    assert {layout["paper_bgcolor"], layout["plot_bgcolor"]} == {"rgba(0, 0, 0, 0)"}


@pytest.mark.parametrize("make", ALL)
def test_plain_decoding_alone_is_no_error(make):
    assert json.dumps(make([PLAIN]), allow_nan=False)


@pytest.mark.parametrize("make", ALL)
def test_a_figure_is_what_plotly_knows(make, recorded):
    assert go.Figure(make(recorded)).to_plotly_json()["data"]

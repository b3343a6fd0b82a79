"""A race in the visitor's browser is planned and told as the app's: the same names, numbers and
sentences.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from engine import Engine

from hsd.app import browser, race
from hsd.app.race import limits
from hsd.draft.ngram import COPIERS, Copier
from hsd.facts import PROPOSER_NAMES
from hsd.space import load

SHARED = {"prompt": "Once upon a time", "pair": "smollm2", "max_new_tokens": 24, "seed": 7}
LANES: list[dict[str, Any]] = [
    {"rule": "hsd", "gamma": 2},
    {"rule": "hsd", "gamma": 2, "proposer": "ngram"},
    {"rule": "fuzzy", "gamma": 1, "tolerance": 0.2, "divergence": "tv"},
    {"rule": "fuzzy", "gamma": 4, "tolerance": -1},
    {"rule": "typical", "gamma": 3, "epsilon": 0.2},
    {"rule": "ensemble", "gamma": 3, "draft_weight": 0},
    {"rule": "blockwise", "gamma": 3},
    {"rule": "hsd", "gamma": "auto"},
]


@pytest.fixture(scope="module")
def node() -> Iterator[Engine]:
    engine = Engine({name: f"answers/browser/{name}.js" for name in ("race", "report")})
    yield engine
    engine.stop()


def page() -> dict[str, Any]:
    space = load()
    told = browser.about(space, "", weights=False)
    return {"limits": {"prompt_characters": 4000}, "browser": told, "race": limits(space)}


def same(ours: Any, theirs: Any, path: str = "") -> None:
    if isinstance(ours, dict):
        for name in ours:
            same(ours[name], theirs[name], f"{path}.{name}")
    elif isinstance(ours, list):
        assert len(ours) == len(theirs), path
        for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            same(one, other, f"{path}.{i}")
    else:
        assert ours == (pytest.approx(theirs) if isinstance(theirs, float) else theirs), path


@pytest.mark.parametrize("rounds", [1, 2, 5])
@pytest.mark.parametrize("number", range(4))
def test_the_recorded_races_are_told_as_in_python(node: Engine, number: int, rounds: int):
    one = json.loads(race.FILE.read_text(encoding="utf-8"))["races"][number]
    lanes = [{**lane, "lossless": True} for lane in one["header"]["lanes"]]
    records = [e["record"] for e in one["events"] if "record" in e and e["record"]["prompt"] == 0]
    records = [
        {**r, "repetition": 1 + i} for r in records if r["repetition"] == 1 for i in range(rounds)
    ]
    records.sort(key=lambda record: record["repetition"])
    cases = [race.Case(lane["name"], lane["options"]) for lane in lanes]
    for count in (len(records), len(lanes) + 2, 1):
        theirs = race.report(cases, records[:count])
        ours = node.call(
            "(lanes, records) => report.report(lanes, records)", lanes, records[:count]
        )
        if theirs is None:
            assert ours is None
            continue
        rows = ours.pop("rows")
        for row, other in zip(rows, theirs["rows"], strict=True):
            if "rate" in row:
                assert row.pop("rate") == pytest.approx(other["acceptance_rate"][0])
            same(row, other)
        same(ours, theirs)


def test_a_race_with_another_copier_is_told_as_in_python(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(COPIERS, "suffix", Copier("Longest suffix", "suffix", longest=9))
    monkeypatch.setitem(PROPOSER_NAMES, "suffix", "Longest suffix")
    monkeypatch.setattr("hsd.decoding.options.PROPOSERS", ("model", *COPIERS))
    monkeypatch.setattr("hsd.facts.PROPOSERS", ("model", *COPIERS))
    text = race.FILE.read_text(encoding="utf-8").replace('"ngram"', '"suffix"')
    one = json.loads(text)["races"][0]
    lanes = [{**lane, "lossless": True} for lane in one["header"]["lanes"]]
    assert "suffix" in {lane["options"].get("proposer") for lane in lanes}
    records = [e["record"] for e in one["events"] if "record" in e and e["record"]["prompt"] == 0]
    records = [record for record in records if record["repetition"] == 1]
    engine = Engine({"report": "answers/browser/report.js"})
    try:
        ours = engine.call("(lanes, records) => report.report(lanes, records).rows", lanes, records)
    finally:
        engine.stop()
    theirs = race.report([race.Case(lane["name"], lane["options"]) for lane in lanes], records)
    for row, other in zip(ours, theirs["rows"], strict=True):
        row.pop("rate", None)
        same(row, other)


@pytest.mark.parametrize(
    "lanes", [*([lane] for lane in LANES), LANES[:2], [LANES[0], LANES[0]], None]
)
def test_lanes_are_named_and_linked_as_in_python(node: Engine, lanes: list[dict[str, Any]] | None):
    given = {**SHARED, "temperature": 0.7, **({"lanes": lanes} if lanes else {"gamma": 3})}
    theirs = race.read_plan(load(), given).as_data()
    found = node.call("(given, page) => race.plan(given, page).header", given, page())
    # it is not fetched where tests run, and the app takes another
    theirs["link"]["pair"] = "smollm2"
    assert found == json.loads(json.dumps(theirs))
    again = node.call("(given, page) => race.plan(given, page).header", found["link"], page())
    assert again == found


def test_a_temperature_of_zero_is_a_temperature(node: Engine):
    found = node.call(
        "(given, page) => race.plan(given, page).header", {**SHARED, "temperature": 0}, page()
    )
    assert found["sampling"]["temperature"] == 0
    assert float(found["link"]["temperature"]) == 0


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            {"lanes": [{"rule": "top-down", "drafts": 2}]},
            "lane 2: this page judges one draft at a time",
        ),
        ({"lanes": "hsd~gamma:4"}, "lane 2: unknown option 'hsd'"),
        ({"lanes": [{"system": "stack"}]}, "lane 2: this page has no levels"),
        ({"lanes": [{"url": "http://x"}]}, "lane 2: this page reaches no server"),
        ({"lanes": [{"rule": "hsd"}] * 5}, "6 lanes: a race has 2 to 5"),
        ({"rounds": 2}, "2 timed runs per lane: choose"),
    ],
)
def test_what_a_page_cannot_race_is_told_in_one_line(
    node: Engine, given: dict[str, Any], line: str
):
    with pytest.raises(AssertionError) as caught:
        node.call("(given, page) => race.plan(given, page)", {**SHARED, **given}, page())
    assert line in str(caught.value).splitlines()[0]

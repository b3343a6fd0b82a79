"""A race in the visitor's browser is planned as the app's: the same names, options and links."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from engine import Engine

from hsd.app import browser, race
from hsd.app.race import limits
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
    engine = Engine({"race": "answers/browser/race.js"})
    yield engine
    engine.stop()


def page() -> dict[str, Any]:
    space = load()
    told = browser.about(space, "", weights=False)
    return {"limits": {"prompt_characters": 4000}, "browser": told, "race": limits()}


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
        ({"lanes": [{"url": "http://x"}]}, "lane 2: unknown option 'url'"),
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

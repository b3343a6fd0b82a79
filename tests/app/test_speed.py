"""Recorded benchmarks, and programs that ask this app for what a race's lane does."""

from __future__ import annotations

import json
import shlex

import pytest

from hsd import space
from hsd.app import race, speed


def programs(lane: dict, **shared: object) -> dict[str, dict[str, str]]:
    asked = {"prompt": "Say \"hi\"\n'there'", "pair": "tiny", "lanes": [lane], **shared}
    return {one["name"]: one for one in speed.programs(race.read_plan(space.load(), asked))}


def test_the_recorded_benchmarks_are_shown_by_their_pair():
    for name in speed.BENCHMARKS:
        shown = speed.view(name)
        assert shown["facts"][0] == f"pair {name}"
        assert shown["published"]["lines"]


@pytest.mark.parametrize(
    ("lane", "words"),
    [
        ({"rule": "blockwise", "gamma": 7}, ["gamma=7", "rule='blockwise'"]),
        ({"rule": "hsd", "proposer": "ngram"}, ["proposer='ngram'"]),
        ({"rule": "fuzzy", "tolerance": 0.5, "divergence": "js"}, ["tolerance=0.5", "divergence='js'"]),
        ({"rule": "ensemble", "draft_weight": 0.25}, ["draft_weight=0.25"]),
        ({"rule": "typical", "epsilon": 0.2}, ["epsilon=0.2"]),
    ],
)
def test_a_program_asks_for_the_last_lane(lane, words):
    found = programs(lane, top_p=0.9)
    for part in [*words, "top_p=0.9", repr("Say \"hi\"\n'there'")]:
        assert part in found["/run"]["python"]
    body = shlex.split(found["/run"]["curl"].split("-d ", 1)[1].split(" | cut")[0])[0]
    assert json.loads(body)["prompt"] == "Say \"hi\"\n'there'"
    for name in ("/run", "/compare", "/verify_step", "/audit"):
        compile(found[name]["python"], name, "exec")

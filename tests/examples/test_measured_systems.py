"""What was measured of systems with levels is every system, and every one can be decoded."""

from __future__ import annotations

import json
from argparse import Namespace

import measure_systems
import pytest

import hsd


@pytest.fixture(scope="module")
def results() -> dict:
    return json.loads(measure_systems.RESULTS.read_text(encoding="utf-8"))


def test_every_domain_has_every_system(results: dict):
    names = [case.name for case in measure_systems.systems(results["new_tokens"])]
    for rows in results["systems"].values():
        assert [row["case"] for row in rows] == names


def test_every_system_that_is_measured_can_be_decoded():
    pair = hsd.load_pair("tiny")
    own = [case for case in measure_systems.systems(2) if case.runner is None]
    assert len(own) > 3
    for case in own:
        assert len(hsd.run(pair, "Once upon a time", **case.options).tokens) == 2


def test_what_the_planner_expects_is_compared_for_stacks_of_every_size():
    """A stack of two has no "level 0": its names are the last ones of three."""
    given = Namespace(new_tokens=40, repetitions=1)
    found = measure_systems.planned(hsd.load_pair("tiny"), ["Once upon a time"], given)
    assert {len(one["stack"]) for one in found["stacks"]} >= {2, 3}
    assert all(
        len(one["calls_made"]) == len(one["stack"]) and min(one["calls_made"]) > 0
        for one in found["stacks"]
    )

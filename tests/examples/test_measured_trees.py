"""What the pages say of trees on the real model follows from the committed results."""

from __future__ import annotations

import measure_smollm2
import measured_trees
import pytest
import science_page

import hsd


@pytest.fixture(scope="module")
def results() -> dict:
    return measured_trees.results()


def test_every_way_was_measured_on_four_kinds_of_text(results: dict):
    ways = {"plain", *measure_smollm2.tree_ways()}
    found = measured_trees.by_row(results["trees"])
    assert {domain for domain, _ in found} == set(measure_smollm2.DOMAINS)
    assert all(set(cases) == ways for cases in found.values())
    for way in measure_smollm2.tree_ways().values():
        hsd.RunOptions(**way)


def test_no_rule_was_left_out_on_sampled_trees(results: dict):
    assert {(row["domain"], row["gamma"]) for row in results["kept"]} == {
        (domain, gamma)
        for domain in measure_smollm2.DOMAINS
        for _, gamma in measure_smollm2.SAMPLED
    }
    for row in results["kept"]:
        assert {"top-down", "recursive-hsd", "traversal"} <= set(row)
        # the same tests on these combs
        assert row["recursive-tokenwise"] == pytest.approx(row["top-down"], abs=2e-3)


def test_what_is_said_of_the_grown_tree_is_of_the_one_in_the_table(results: dict):
    others = [
        row
        for row in results["trees"]
        if row["case"].startswith("grown") and row["case"] != measured_trees.GROWN
    ]
    assert others
    shown = [row for row in results["trees"] if row not in others]
    assert measured_trees.speed_words(shown) == measured_trees.speed_words(results["trees"])


def test_a_difference_is_called_clear_only_where_its_interval_is_off_zero():
    row = {
        "trees": 9,
        "top-down": [1.0, 0.9, 1.1],
        "recursive-hsd more": [0.02, -0.01, 0.05],
        "traversal more": [0.1, 0.05, 0.2],
    }
    words = science_page.real([row])
    assert "in 0 of 1 cases" in words.split(". ")[0]
    assert "+5.0%" in words
    assert "in 1 of 1 cases" in words.split(". ")[1]

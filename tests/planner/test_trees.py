"""The planner of grown trees: what one large tree tells of smaller ones, held to decoding with
those.
"""

from __future__ import annotations

import json
import statistics

import pytest
from loops import some
from table_models import table_pair

import hsd
from hsd.cli import main
from hsd.decoding.options import RunOptions
from hsd.draft.shapes import best_shape
from hsd.draft.tree_plans import TreeCosts, TreeNode, kept_on_average, tree_plans
from hsd.errors import HsdError
from hsd.planner.measure_trees import DEEP, LARGEST, measure_trees, tree_nodes
from hsd.rules import TREE_RULES
from hsd.sampling import Sampling

PAIR = table_pair(vocab=6, order=1, seed=4)
COSTS = TreeCosts({1: 10.0, 3: 12.0, 8: 20.0}, {2: 1.0, 3: 2.0}, around=0.5)


def run(**options):
    tree = {
        "rule": "one-hot",
        "tree": "grown",
        "drafts": 3,
        "temperature": 0.7,
        "max_new_tokens": 40,
    }
    return hsd.run(PAIR, "abc", **tree | options).steps


@pytest.mark.parametrize(("depth", "nodes"), some([(1, 4), (2, 6), (3, 10), (4, 5)], 2))
def test_a_large_tree_tells_what_a_smaller_one_out_of_it_keeps(depth: int, nodes: int):
    """From the same place in the text the smaller one is the larger one cut: what it keeps on
    average is the same.
    """
    for seed in range(3):
        large, small = (run(seed=seed, gamma=g, nodes=n)[0] for g, n in ((5, 40), (depth, nodes)))
        assert kept_on_average([tree_nodes(large)], depth, nodes) == pytest.approx(
            small.expected_kept["one-hot"], abs=1e-6
        )


def test_the_cost_of_a_pass_lies_on_lines_between_those_measured():
    assert [COSTS.target_pass(width) for width in (1, 2, 3, 4, 8, 10)] == pytest.approx(
        [10, 11, 12, 13.6, 20, 23.2]
    )


def test_every_tree_is_priced_by_its_passes():
    """By hand: two steps with a tree of two levels, one token sure and kept, the others not."""
    steps = [
        [
            TreeNode(1, 0.9, 1.0),
            TreeNode(1, 0.1, 0.0),
            TreeNode(2, 0.8, 1.0),
            TreeNode(2, 0.05, 0.0),
        ],
        [
            TreeNode(1, 0.6, 0.0),
            TreeNode(1, 0.4, 1.0),
            TreeNode(2, 0.3, 0.0),
            TreeNode(2, 0.2, 1.0),
        ],
    ]
    found = {(tree.gamma, tree.nodes): tree for tree in tree_plans({2: steps}, COSTS, largest=5)}
    assert {key: tree.kept for key, tree in found.items()} == {
        (1, 3): 1.0,
        (1, 4): 1.0,
        (1, 5): 1.0,
        (2, 3): 1.5,
        (2, 4): 1.5,
        (2, 5): 2.0,
    }
    assert found[2, 3].step == pytest.approx(12 + 2 * 1.0 + 0.5)
    assert found[2, 3].per_token == pytest.approx(14.5 / 2.5)


def test_measured_costs_and_trees_are_those_of_the_pair():
    trees, costs, steps = measure_trees(PAIR, ["abc", "fed"], 24, Sampling(0.7))
    assert steps == sum(map(len, trees.values())) > 20
    assert min(costs.target.values()) > 0
    assert set(costs.level) == set(trees)
    for drafts, found in trees.items():
        kept = statistics.mean(
            step.expected_kept["one-hot"] for step in run(drafts=drafts, gamma=2, nodes=7)[:-2]
        )
        assert kept_on_average(found, 2, 7) == pytest.approx(kept, abs=0.4)
        assert max(one.level for tree in found for one in tree) == DEEP


def test_the_command_proposes_a_tree_that_can_be_run(capsys: pytest.CaptureFixture[str]):
    words = ["--pair", "tiny", "--device", "cpu", "--limit", "1", "--new-tokens", "16", "--tree"]
    assert main(["plan", *words, "--json"]) == 0
    best = json.loads(capsys.readouterr().out)["best"]
    chosen = [f"--{name}={best[name]}" for name in ("drafts", "gamma", "nodes")]
    tree = ["--pair", "tiny", "--rule", "one-hot", "--tree", "grown", "--max-new-tokens", "8"]
    assert main(["run", "Once", *tree, *chosen]) == 0
    assert best["nodes"] <= LARGEST
    assert main(["plan", *words]) == 0
    assert "best grown tree: --drafts" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--tree"], "--tree is measured on a pair"),
        (["--tree", "--costs", "1,60", "--acceptance", "0.5"], "--tree is measured on a pair"),
        (["--tree", "--pair", "tiny", "--new-tokens", "0"], "--new-tokens: 0: choose at least 1"),
        (
            ["--tree", "--pair", "tiny", "--new-tokens", "2"],
            "the texts are too short for trees of 5 levels",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused_in_one_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
):
    try:
        status = main(["plan", *words, *(["--limit", "1"] if "tiny" in words else [])])
    except SystemExit as end:  # argparse leaves this way
        status = int(end.code or 0)
    err = capsys.readouterr().err
    assert status == 2
    assert message in err
    assert "Traceback" not in err


# The shape that a run takes by itself

ROW = {
    "drafts": 2,
    "tokens": 4,
    "chosen, one-hot": [1.9],
    "mixed, top-down": [2.1],
    "drawn, top-down": [2.2],
}
KEPT = [ROW | {"T": 0.7}, ROW | {"T": 1.0, "drawn, top-down": [2.9]}]
STEEP = TreeCosts({1: 10.0, 10: 30.0}, {2: 1.0, 3: 2.0}, around=0.5)
FLAT = TreeCosts({1: 10.0, 10: 10.5}, {2: 1.0, 3: 1.0}, around=0.5)


@pytest.mark.parametrize(
    ("heat", "costs", "shape"),
    [
        (0.0, FLAT, "mixed"),
        (0.7, STEEP, "mixed"),
        (0.7, FLAT, "distinct-comb"),
        (1.0, STEEP, "distinct-comb"),
    ],
)
def test_the_shape_follows_temperature_and_costs(heat: float, costs: TreeCosts, shape: str):
    """By hand: a grown tree of 4 tokens or a comb of 6, of two levels, of which the second reads
    two nodes.
    """
    rule = TREE_RULES["top-down"]
    found, (why,) = best_shape(heat, rule, rule.siblings, 2, 2, known=(KEPT, costs))
    assert found == shape
    step = 10 + 20 * 4 / 9 + (0.0 + 1.0) + 0.5  # of STEEP, where one node costs 1 less than two
    assert (f"mixed {2.1e3 / step:.1f} (2.10 in {step:.1f} ms)" in why) == (
        heat > 0 and costs is STEEP
    )


@pytest.mark.parametrize(
    ("options", "shape", "reason"),
    [
        ({"rule": "one-hot"}, "grown", "the run's rules allow no others"),
        ({"rule": "one-hot", "shadow": "traversal"}, "mixed", "the run's rules allow no others"),
        (
            {"rule": "top-down", "nodes": 5},
            "mixed",
            "the run's rules and number of nodes allow no others",
        ),
        ({"rule": "clipped", "temperature": 0}, "grown", "at temperature 0"),
    ],
)
def test_a_run_says_which_shape_it_took_and_its_record_names_it(
    options: dict, shape: str, reason: str
):
    trace = hsd.run(PAIR, "abc", tree="auto", drafts=2, gamma=2, max_new_tokens=6, **options)
    assert trace.setup.options.draft.tree == shape
    (said,) = [note for note in trace.setup.notes if note.startswith("Tree auto takes")]
    assert reason in said
    again = hsd.run(PAIR, "abc", tree=shape, drafts=2, gamma=2, max_new_tokens=6, **options)
    assert again.tokens == trace.tokens


def test_a_single_draft_has_no_shape_and_a_comb_no_number_of_nodes():
    assert RunOptions(tree="auto").shape == ("paths", ())
    with pytest.raises(HsdError, match="does not fit several drafts"):
        RunOptions(tree="auto", drafts=2, rule="ensemble")

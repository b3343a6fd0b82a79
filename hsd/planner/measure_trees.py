"""Measuring what a plan of grown trees needs, on the pair and the text that they are for."""

import statistics
from collections.abc import Sequence
from typing import Any

import torch

from hsd.decoding.loop import run
from hsd.draft.tree_plans import TreeCosts, TreeNode
from hsd.errors import HsdError
from hsd.models import Pair
from hsd.models.machine import computing
from hsd.planner.measure import pass_times
from hsd.rules import VANILLA
from hsd.sampling import Sampling
from hsd.trace import Step

# breadths, levels and nodes of the trees that are tried; of larger ones no better is expected
BROAD = (2, 3, 4, 6)
DEEP = 5
LARGE = 49
LARGEST = 24  # nodes of a tree that is planned, beside which the tried ones are large enough
WIDTHS = (1, 2, 3, 5, 8, 12, 16, LARGEST)
REPETITIONS = 15
CONTEXT = 96

Trees = dict[int, list[list[TreeNode]]]


def measure_trees(
    pair: Pair, prompts: Sequence[str], new_tokens: int, sampling: Sampling
) -> tuple[Trees, TreeCosts, int]:
    """Return {breadth: large tree of every step}, the costs of passes in ms, and how many trees.

    new_tokens: written after each prompt. Raises HsdError for texts that are too short.
    """
    shared: dict[str, Any] = {**vars(sampling), "max_new_tokens": new_tokens}
    trees: Trees = {}
    levels: dict[int, list[float]] = {drafts: [] for drafts in BROAD}
    around = []
    for seed, prompt in enumerate(prompts):
        for drafts in BROAD:
            tree = {
                "rule": VANILLA["chosen"],
                "tree": "grown",
                "drafts": drafts,
                "gamma": DEEP,
                "nodes": LARGE,
                "seed": seed,
            }
            steps = run(pair, prompt, **tree, **shared).steps
            trees.setdefault(drafts, []).extend(tree_nodes(step) for step in steps if _deep(step))
            timed = run(pair, prompt, **tree | {"nodes": LARGEST}, **shared, trace=False).steps[1:]
            drafting = [step for step in timed if step.drafted]
            levels[drafts] += [1e3 * step.times.draft / step.below[0].calls for step in drafting]
            around += [1e3 * (step.times.verify + step.times.rest) for step in timed]
    if not all(trees.values()) or not all(levels.values()):
        raise HsdError(
            f"the texts are too short for trees of {DEEP} levels: "
            "choose more new tokens, or other prompts"
        )
    median = {drafts: statistics.median(times) for drafts, times in levels.items()}
    ids = torch.arange(CONTEXT + LARGEST, device="cpu") % pair.target.vocab_size
    with computing(pair):
        passes = pass_times([pair.target], ids, WIDTHS, REPETITIONS)[0]
    costs = TreeCosts(passes, median, statistics.median(around))
    return trees, costs, sum(map(len, trees.values()))


def _deep(step: Step) -> bool:
    """Return whether the tree reached its full depth, impossible just before the end of a text."""
    return any(one.level == DEEP for one in step.growth)


def tree_nodes(step: Step) -> list[TreeNode]:
    """Return the drafted nodes of a traced step, with their depth and probabilities."""
    joint = {0: 1.0}
    for node in step.nodes:
        joint[node.id] = joint[node.parent] * node.p
    return [TreeNode(one.level, one.joint, joint[one.node]) for one in step.growth if one.node]

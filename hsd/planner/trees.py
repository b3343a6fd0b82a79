"""Which grown tree to draft: how broad, how deep and how large, from what trees kept and what passes cost.

A tree of chosen tokens keeps as many on average as the target's probabilities of the paths to its nodes add up to
(`hsd.rules.rejection.one_hot`). So one large tree tells what every smaller one out of it would have kept: the surest
nodes down to a depth. A step then costs a pass of the draft a level, one pass of the target over the whole tree, and
what is around them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Thought:
    """A node of a large tree: its level, from 1 on; its path's probability by the draft, `sure`, and the target."""

    level: int
    sure: float
    path: float


@dataclass(frozen=True)
class TreeCosts:
    """What passes cost, in one unit. target: by the number of tokens read, for some numbers, the smallest 1.

    level: a level of the draft, by the largest number of nodes that it reads. around: all else in a step.
    """

    target: Mapping[int, float]
    level: Mapping[int, float]
    around: float

    def reading(self, width: int) -> float:
        """Return the cost of a target pass over `width` tokens."""
        return between(self.target, width)


def between(costs: Mapping[int, float], width: int) -> float:
    """Return the cost of a pass over `width` tokens, by straight lines between the widths that were measured."""
    widths = sorted(costs)
    place = min(max(bisect_left(widths, width), 1), len(widths) - 1)
    low, high = widths[place - 1], widths[place]
    return costs[low] + (costs[high] - costs[low]) * (width - low) / (high - low)


@dataclass(frozen=True)
class TreePlan:
    """A tree as the options of a run have it, how many of its tokens are kept on average, and what a step costs."""

    drafts: int
    gamma: int
    nodes: int
    kept: float
    step: float

    @property
    def per_token(self) -> float:
        """What a token costs, in the unit of the costs."""
        return self.step / (1 + self.kept)


def kept_on_average(trees: Sequence[Sequence[Thought]], depth: int, nodes: int) -> float:
    """Return how many tokens a tree of this many nodes and levels keeps, averaged over the steps."""
    sums = 0.0
    for tree in trees:
        near = sorted((one for one in tree if one.level <= depth), key=lambda one: -one.sure)
        sums += sum(one.path for one in near[: nodes - 1])
    return sums / len(trees)


def tree_plans(trees: Mapping[int, Sequence[Sequence[Thought]]], costs: TreeCosts, largest: int) -> Iterator[TreePlan]:
    """Yield every tree that is part of the large ones tried. trees: the nodes of each step's large tree, by breadth."""
    for drafts, steps in trees.items():
        for depth in range(1, max(one.level for tree in steps for one in tree) + 1):
            for nodes in range(drafts + 1, largest + 1):
                step = costs.reading(nodes) + depth * costs.level[drafts] + costs.around
                yield TreePlan(drafts, depth, nodes, kept_on_average(steps, depth, nodes), step)

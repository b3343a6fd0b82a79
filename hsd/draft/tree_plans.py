"""Which grown tree to draft.

How broad, deep and large it should be follows from what trees kept and what passes cost.

A tree of chosen tokens keeps as many on average as the target's probabilities of the paths to its
nodes add up to (`hsd.rules.rejection.one_hot`). So one large tree tells what every smaller one out
of it would have kept: the surest nodes down to a depth. A step then costs a pass of the draft a
level, one pass of the target over the whole tree, and what is around them.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TreeNode:
    """A node of a large tree.

    level: its depth, from 1. sure: its path's probability by the draft. path: by the target.
    """

    level: int
    sure: float
    path: float


@dataclass(frozen=True)
class TreeCosts:
    """The costs of passes, in one unit.

    target: {width: of a target pass over so many tokens}, the smallest width 1.
    level: {nodes: of a pass of the draft over at most so many nodes}. around: all else in a step.
    """

    target: Mapping[int, float]
    level: Mapping[int, float]
    around: float

    def target_pass(self, width: int) -> float:
        """Return the cost of a target pass over `width` tokens."""
        return interpolate(self.target, width)


def interpolate(costs: Mapping[int, float], width: int) -> float:
    """Return the cost of a pass over `width` tokens, interpolated between the widths in `costs`."""
    widths = sorted(costs)
    place = min(max(bisect_left(widths, width), 1), len(widths) - 1)
    low = widths[place - 1]
    high = widths[place]
    return costs[low] + (costs[high] - costs[low]) * (width - low) / (high - low)


@dataclass(frozen=True)
class TreePlan:
    """A grown tree, by the options of a run.

    kept: the mean number of its tokens that are kept. step: the cost of a step.
    """

    drafts: int
    gamma: int
    nodes: int
    kept: float
    step: float

    @property
    def per_token(self) -> float:
        """The cost of a committed token, in the unit of `TreeCosts`."""
        return self.step / (1 + self.kept)


def kept_on_average(trees: Sequence[Sequence[TreeNode]], depth: int, nodes: int) -> float:
    """Return the mean number of kept tokens of a tree that is cut.

    It is cut to `nodes` nodes (root included) and `depth` levels.
    """
    sums = 0.0
    for tree in trees:
        near = sorted((one for one in tree if one.level <= depth), key=lambda one: -one.sure)
        sums += sum(one.path for one in near[: nodes - 1])
    return sums / len(trees)


def tree_plans(
    trees: Mapping[int, Sequence[Sequence[TreeNode]]], costs: TreeCosts, largest: int
) -> Iterator[TreePlan]:
    """Yield every tree of up to `largest` nodes within the large ones.

    trees: their nodes per step, by breadth.
    """
    for drafts, steps in trees.items():
        for depth in range(1, max(one.level for tree in steps for one in tree) + 1):
            for nodes in range(drafts + 1, largest + 1):
                step = costs.target_pass(nodes) + depth * costs.level[drafts] + costs.around
                yield TreePlan(drafts, depth, nodes, kept_on_average(steps, depth, nodes), step)

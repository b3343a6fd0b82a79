"""Traversal of a tree from the leaves to the root (2505.12398).

It is the form that block and HSD verification take on a tree.
"""

from dataclasses import dataclass, field

from torch import Tensor

from hsd.rules.forms import CAPPED, SHARE, Grounds
from hsd.rules.law import leftover
from hsd.rules.tree import Change, Ending, Kind, Process, Test, Tree


@dataclass
class _Working:
    """The remaining tree, and the rows that its children were drawn from.

    It has p and rate of the nodes that rejections changed.

    A rate a is a capped ratio: a(root) = 1, a(child) = min(1, a(parent) p(x)/q(x)), computed on
    demand.
    """

    tree: Tree
    p: dict[int, Tensor] = field(default_factory=dict)
    q: dict[int, Tensor] = field(default_factory=dict)
    left: dict[int, list[int]] = field(default_factory=dict)
    parent: dict[int, int] = field(default_factory=dict)
    settled: dict[int, tuple[float, Grounds]] = field(default_factory=dict)

    def children(self, node: int) -> list[int]:
        """Return the children of `node` that have not been deleted."""
        if node not in self.left:
            self.left[node] = list(self.tree.children(node))
            self.parent |= dict.fromkeys(self.left[node], node)
        return self.left[node]

    def first_leaf(self) -> int:
        """Return the first leaf of the remaining tree in depth-first order.

        It is the root, 0, where only the root remains.
        """
        node = 0
        while children := self.children(node):
            node = children[0]
        return node

    def target(self, node: int) -> Tensor:
        return self.p[node] if node in self.p else self.tree.target(node)

    def proposal(self, child: int) -> Tensor:
        """Return the row (V,) that `child` was drawn from.

        All its earlier siblings have been deleted.
        """
        if child not in self.q:
            self.q[child] = self.tree.proposal(child)
        return self.q[child]

    def rate(self, node: int) -> tuple[float, Grounds]:
        """Return the rate of a node, and the `Grounds` that it was computed from.

        For the root these have only their form.
        """
        if node in self.settled:
            return self.settled[node]
        if not node:
            return 1.0, Grounds(CAPPED)
        above = self.parent[node]
        x = self.tree.token(node)
        before, _ = self.rate(above)
        grounds = Grounds(
            CAPPED, float(self.target(above)[x]), float(self.proposal(node)[x]), before
        )
        return grounds.threshold, grounds

    def delete(self, leaf: int) -> Change:
        """Remove a rejected leaf.

        Return how the target's row and the rate of its parent change by the rejection.
        """
        node = self.parent[leaf]
        before, _ = self.rate(node)
        p = self.target(node)
        q = self.proposal(leaf)
        row, mass = leftover(p, q, p.new_tensor(before))
        lost = float(mass)
        self.left[node].remove(leaf)
        if lost == 0 and before < 1:  # nothing more can be reached from here: give the branch up
            self.left[node] = []
        self.p[node] = row
        if node:
            grounds = Grounds(SHARE, before=before, mass=lost)
            self.settled[node] = grounds.threshold, grounds
        return Change(node, before, lost, row, self.rate(node)[0])


def traversal(tree: Tree) -> Process:
    """Test the first leaf of the remaining tree (2505.12398).

    Keep the path to it, or delete it and test the next.
    """
    working = _Working(tree)
    changes = tuple[Change, ...]()
    while leaf := working.first_leaf():
        rate, grounds = working.rate(leaf)
        kind: Kind = "prefix" if tree.children(leaf) else "draft"
        if (yield Test(leaf, rate, kind, grounds, changes=changes)):
            return Ending(leaf, working.target(leaf))
        changes = (working.delete(leaf),)
    return Ending(0, working.target(0), changes)

"""Draft trees, and rules for them as decision processes.

A tree rule takes its decisions one after another, and what it tests next depends on what happened
before. So it is written as a generator: it yields a `Test`, is sent whether that test succeeded,
and returns an `Ending`. Sending `coin < threshold` decodes; following both answers with their
probabilities gives the exact law (`endings`). The same lines of code therefore decode, explain and
are proved.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import torch
from torch import Tensor

from hsd.rules.forms import Form, Grounds
from hsd.rules.rule import RuleInfo

Kind = Literal["token", "draft", "prefix"]


@dataclass(frozen=True)
class TreePath:
    """One draft in a tree.

    Its first `fork` nodes are shared with an earlier draft, the others are its own.

    nodes: ids of its tokens, from depth 1 on. Drafts that drew equal tokens independently have
    separate nodes.
    """

    nodes: tuple[int, ...]
    fork: int = 0


def fork_paths(lines: Sequence[Sequence[int]]) -> tuple[TreePath, ...]:
    """Return a `TreePath` for each draft, given as node ids from depth 1 on.

    It forks at its first node that no draft before it has.
    """
    known = set[int]()
    paths = []
    for nodes in lines:
        paths.append(TreePath(tuple(nodes), sum(node in known for node in nodes)))
        known.update(nodes)
    return tuple(paths)


class Tree(Protocol):
    """A tree of drafted tokens, as a rule reads it. Node 0 is the root, the last committed token.

    paths: the drafts as sequences, for the rules that verify one draft after another.
    """

    @property
    def paths(self) -> Sequence[TreePath]: ...

    def token(self, node: int) -> int: ...

    def children(self, node: int) -> Sequence[int]:
        """Return the children of `node` in the order in which they were drawn."""

    def target(self, node: int) -> Tensor:
        """Return (V,): the target's distribution after `node`."""

    def draft(self, node: int) -> Tensor:
        """Return the draft's distribution (V,) after `node`.

        The node must have children, but not "mixed" ones.
        """

    def proposal(self, node: int) -> Tensor:
        """Return the row (V,) that the token of `node` was drawn from.

        It depends on the node's parent and earlier siblings.

        All mass is on the token itself where it was chosen and not drawn.
        """

    def group(self, node: int) -> Tensor:
        """Return (V,): the most that any child of `node` was proposed with, token by token.

        The node must have children. It depends on none of the draws below `node`: children that
        were cut off because of a draw count.
        """


def group_of(tree: Tree, node: int) -> Tensor:
    """Return the row of `Tree.group` of a tree that was not cut."""
    return torch.stack([tree.proposal(child) for child in tree.children(node)]).amax(0)


@dataclass(frozen=True)
class DraftTree:
    """A `Tree` of n drafted tokens: node i has tokens[i - 1].

    parents (n,): of each node, parents before children, siblings in the order in which they were
    drawn; equal siblings stay apart. p, q: row i is the distribution (V,) after node i; q is not
    read at leaves. siblings: how siblings are drawn, see `hsd.draft.Layout`. drawn: in a "mixed"
    tree the nodes that were drawn; its others were chosen. groups: the rows of `group` of a tree
    that was cut to size, in place of those of the children that are left.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    p: Tensor | Sequence[Tensor]
    q: Tensor | Mapping[int, Tensor]
    paths: tuple[TreePath, ...] = ()
    siblings: str = "independent"
    drawn: frozenset[int] = frozenset()
    groups: Callable[[int], Tensor] | None = None

    @cached_property
    def _children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in range(len(self.tokens) + 1)]
        for node, parent in enumerate(self.parents, start=1):
            children[parent].append(node)
        return children

    def children(self, node: int) -> Sequence[int]:
        return self._children[node]

    def token(self, node: int) -> int:
        return self.tokens[node - 1]

    def target(self, node: int) -> Tensor:
        return self.p[node]

    def draft(self, node: int) -> Tensor:
        return self.q[node]

    def proposal(self, node: int) -> Tensor:
        parent = self.parents[node - 1]
        q = self.q[parent]
        if self.siblings in ("chosen", "mixed") and node not in self.drawn:
            return point_mass(q, self.token(node))
        for sibling in self.children(parent) if self.siblings == "distinct" else ():
            if sibling == node:
                break
            q = remove_token(q, self.token(sibling))
        return q

    def group(self, node: int) -> Tensor:
        return self.groups(node) if self.groups else group_of(self, node)

    def path(self, node: int) -> tuple[int, ...]:
        """Return the tokens from the root to `node`."""
        return tuple(map(self.token, line(self.parents, node)))


@dataclass(frozen=True)
class Change:
    """How a rejection changed the target's distribution after `node`.

    target (V,): max(weight · p - q, 0), normalised, with the p from before. mass: the sum before
    normalising. rate: the node's own capped ratio from now on, for rules that have one.
    """

    node: int
    weight: float
    mass: float
    target: Tensor
    rate: float | None = None


@dataclass(frozen=True)
class Test:
    """The next test of a tree rule.

    Success keeps the tokens down to `node`, or goes on from there.

    kind: what is tested, a `token`, a whole `draft` or a `prefix` of one. draft: the number of its
    path, for rules that verify one after another. changes: of the target's rows, by rejections
    since the last test.
    """

    node: int
    threshold: float
    kind: Kind
    grounds: Grounds
    draft: int = 0
    changes: tuple[Change, ...] = ()

    @property
    def answers(self) -> list[tuple[bool, float]]:
        """The outcomes that are possible, True and False, with their probabilities."""
        chances = ((True, self.threshold), (False, 1 - self.threshold))
        return [(answer, chance) for answer, chance in chances if chance > 0]


@dataclass(frozen=True)
class Ending:
    """The result of a tree rule.

    It has the last kept node (0: none), and the distribution (V,) of the token after it.
    """

    node: int
    next: Tensor
    changes: tuple[Change, ...] = ()


Process = Generator[Test, bool, Ending]


@dataclass(frozen=True)
class TreeRule(RuleInfo):
    """A verification rule for trees.

    process(tree): a generator of its tests, which returns the ending.

    siblings: the kinds of siblings on which the rule is lossless: "independent" draws, "distinct"
    ones (without replacement), "chosen" ones, or "mixed", of which one is drawn and the others
    chosen. forms: of tests that only this rule has. divergence: a function of rows p and q, (n, V)
    each, whose value is compared with a tolerance.
    """

    process: Callable[[Tree], Process]
    siblings: frozenset[str]
    forward: bool = True
    forms: tuple[Form, ...] = ()
    divergence: Callable[[Tensor, Tensor], Tensor] | None = None


def endings(process: Callable[[], Process]) -> Iterator[tuple[float, Ending]]:
    """Yield (probability, ending) for every way in which a process can end.

    It follows both outcomes of each test.
    """
    open_answers: list[tuple[float, tuple[bool, ...]]] = [(1.0, ())]
    while open_answers:
        weight, answers = open_answers.pop()
        reached = replay(process(), answers)
        if isinstance(reached, Ending):
            yield weight, reached
        else:
            open_answers += [
                (weight * chance, (*answers, answer)) for answer, chance in reached.answers
            ]


def replay(process: Process, answers: Sequence[bool]) -> Test | Ending:
    """Run a process with `answers` as the outcomes of its first tests.

    Return its next test, or its ending.
    """
    try:
        test = next(process)
        for answer in answers:
            test = process.send(answer)
    except StopIteration as stop:
        ending: Ending = stop.value
        return ending
    return test


def decide(
    process: Process, coin_of: Callable[[Test], float]
) -> tuple[Ending, list[tuple[Test, float, bool]]]:
    """Run a process with coins coin_of(test).

    Return its ending, and (test, coin, outcome) for each test in order.
    """
    tests = []
    try:
        test = next(process)
        while True:
            coin = coin_of(test)
            tests.append((test, coin, coin < test.threshold))
            test = process.send(tests[-1][2])
    except StopIteration as stop:
        ending: Ending = stop.value
        return ending, tests


def line(parents: Sequence[int], node: int) -> list[int]:
    """Return the nodes from depth 1 down to `node`, where node i has the parent parents[i - 1]."""
    nodes = []
    while node:
        nodes.append(node)
        node = parents[node - 1]
    return nodes[::-1]


def point_mass(row: Tensor, token: int) -> Tensor:
    """Return a point mass: a row like `row` (V,) with all mass on `token`."""
    return torch.zeros_like(row).index_fill_(
        0, torch.tensor([token], device=row.device, dtype=torch.int64), 1.0
    )


def remove_token(row: Tensor, token: int) -> Tensor:
    """Return `row` (V,) with `token` removed and the rest normalised.

    It is all zeros where nothing is left.
    """
    rest = row.clone()
    rest[token] = 0
    mass = rest.sum()
    return rest / mass if mass > 0 else rest

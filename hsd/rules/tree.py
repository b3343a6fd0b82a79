"""Draft trees, and rules for them as decision processes.

A tree rule takes its decisions one after another, and what it tests next depends on what happened before. So it
is written as a generator: it yields a `Test`, is sent whether that test succeeded, and returns an `Ending`.
Sending `coin < threshold` decodes; following both answers with their probabilities gives the exact law (`endings`).
The same lines of code therefore decode, explain and are proved.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import torch
from torch import Tensor

from hsd.rules.forms import Form, Grounds
from hsd.rules.rule import Named

Kind = Literal["token", "draft", "prefix"]


@dataclass(frozen=True)
class Path:
    """One draft. Its first `fork` nodes are shared with an earlier draft, the others are its own.

    nodes: ids of its tokens in the tree, from depth 1 on. Drafts that drew equal tokens have nodes of their own.
    """

    nodes: tuple[int, ...]
    fork: int = 0


def forked(lines: Sequence[Sequence[int]]) -> tuple[Path, ...]:
    """Return the drafts with these nodes, each of which leaves the draft before it where its first new node is."""
    known, paths = set[int](), list[Path]()
    for nodes in lines:
        paths.append(Path(tuple(nodes), sum(node in known for node in nodes)))
        known.update(nodes)
    return tuple(paths)


class Tree(Protocol):
    """What a rule may ask about a tree of drafted tokens. Node 0 is the root, the last committed token.

    paths: the drafts as sequences, for the rules that verify one draft after another.
    """

    @property
    def paths(self) -> Sequence[Path]: ...

    def token(self, node: int) -> int: ...

    def children(self, node: int) -> Sequence[int]:
        """Return the children of `node` in the order in which they were drawn."""

    def target(self, node: int) -> Tensor:
        """Return (V,): the target's distribution after `node`."""

    def draft(self, node: int) -> Tensor:
        """Return (V,): the draft's distribution after `node`, which must have children, not all but one chosen."""

    def proposal(self, node: int) -> Tensor:
        """Return (V,): what the token of `node` was drawn from, given its parent and earlier siblings.

        All mass is on the token itself where it was chosen and not drawn.
        """


@dataclass(frozen=True)
class DraftTree:
    """A `Tree` of n drafted tokens: node i has tokens[i - 1].

    parents (n,): parents come before their children, siblings in the order in which they were drawn; equal
    siblings stay apart. p, q: row i is the distribution (V,) after node i; q is not read below leaves.
    siblings: how they came about, see `hsd.draft.Layout`. drawn: which nodes of a "mixed" tree are no chosen ones.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    p: Tensor | Sequence[Tensor]
    q: Tensor | Mapping[int, Tensor]
    paths: tuple[Path, ...] = ()
    siblings: str = "independent"
    drawn: frozenset[int] = frozenset()

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
            return certain(q, self.token(node))
        for sibling in self.children(parent) if self.siblings == "distinct" else ():
            if sibling == node:
                break
            q = without(q, self.token(sibling))
        return q

    def path(self, node: int) -> tuple[int, ...]:
        """Return the tokens from the root to `node`."""
        return tuple(map(self.token, line(self.parents, node)))


@dataclass(frozen=True)
class Change:
    """What a rejection made of the branch under `node`.

    From now on its target is `target` (V,): max(weight · p - q, 0) with the p that was valid until then, normalised.
    mass: the sum before normalising. rate: the node's own capped ratio from now on, where the rule has one.
    """

    node: int
    weight: float
    mass: float
    target: Tensor
    rate: float | None = None


@dataclass(frozen=True)
class Test:
    """The next test of a tree rule: `node` is the last token that success would keep (or go on from).

    kind: what is tested, a `token`, a whole `draft` or a `prefix` of one. draft: which path it belongs to, for
    rules that verify one after another. changes: what rejections have changed since the test before.
    """

    node: int
    threshold: float
    kind: Kind
    grounds: Grounds
    draft: int = 0
    changes: tuple[Change, ...] = ()

    @property
    def answers(self) -> list[tuple[bool, float]]:
        """Both answers that a coin can give, with their probabilities, but for an impossible one."""
        return [(True, self.threshold)] * (self.threshold > 0) + [(False, 1 - self.threshold)] * (self.threshold < 1)


@dataclass(frozen=True)
class Ending:
    """What a tree rule came to: the last node kept (0: none), and the distribution of the token after it, (V,)."""

    node: int
    next: Tensor
    changes: tuple[Change, ...] = ()


Process = Generator[Test, bool, Ending]


@dataclass(frozen=True)
class TreeRule(Named):
    """A rule for trees; `process(tree)` starts its decisions.

    siblings: how the siblings of a tree may have come about for the rule to be lossless on it: drawn as
    "independent" draws, as "distinct" draws without replacement, "chosen" and not drawn at all, or "mixed", which is
    one drawn and the others chosen. forms: of tests that only it has. divergence: of rows of p and q, (n, V) each, by
    which it judges.
    """

    process: Callable[[Tree], Process]
    siblings: frozenset[str]
    forward: bool = True
    forms: tuple[Form, ...] = ()
    divergence: Callable[[Tensor, Tensor], Tensor] | None = None


def endings(process: Callable[[], Process]) -> Iterator[tuple[float, Ending]]:
    """Yield every way a process can end, with its probability: both answers to every test are followed."""
    open_answers: list[tuple[float, tuple[bool, ...]]] = [(1.0, ())]
    while open_answers:
        weight, answers = open_answers.pop()
        reached = answered(process(), answers)
        if isinstance(reached, Ending):
            yield weight, reached
        else:
            open_answers += [(weight * chance, (*answers, answer)) for answer, chance in reached.answers]


def answered(process: Process, answers: Sequence[bool]) -> Test | Ending:
    """Return where a process is after these answers to its first tests: at its next test, or at its ending."""
    try:
        test = next(process)
        for answer in answers:
            test = process.send(answer)
    except StopIteration as stop:
        ending: Ending = stop.value
        return ending
    return test


def decide(process: Process, coin_of: Callable[[Test], float]) -> tuple[Ending, list[tuple[Test, float, bool]]]:
    """Run a process with given coins: the ending, and every test with its coin and outcome, in order."""
    tests: list[tuple[Test, float, bool]] = []
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
    """Return the nodes from depth 1 down to `node`, where node i has parents[i - 1]."""
    nodes = list[int]()
    while node:
        nodes.append(node)
        node = parents[node - 1]
    return nodes[::-1]


def certain(row: Tensor, token: int) -> Tensor:
    """Return a row of the shape of `row` with all mass on `token`."""
    return torch.zeros_like(row).index_fill_(0, torch.tensor([token], device=row.device), 1.0)


def without(row: Tensor, token: int) -> Tensor:
    """Return `row` without `token`, normalised again; all zeros where nothing else is left."""
    rest = row.clone()
    rest[token] = 0
    mass = rest.sum()
    return rest / mass if mass > 0 else rest

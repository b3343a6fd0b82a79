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

from torch import Tensor

from hsd.rules.forms import Grounds
from hsd.rules.rule import OTHER_LOOK, Look

Kind = Literal["token", "draft", "prefix"]


@dataclass(frozen=True)
class Path:
    """One draft. Its first `fork` nodes are shared with an earlier draft, the others were drawn independently.

    nodes: ids of its tokens in the tree, from depth 1 on. Drafts that drew equal tokens have nodes of their own.
    """

    nodes: tuple[int, ...]
    fork: int = 0


class Tree(Protocol):
    """What a rule may ask about a tree of drafted tokens. Node 0 is the root, the last committed token.

    paths: the drafts as sequences, for the rules that verify one draft after another.
    replacement: siblings were drawn independently (True) or without replacement (False).
    """

    @property
    def paths(self) -> Sequence[Path]: ...

    @property
    def replacement(self) -> bool: ...

    def token(self, node: int) -> int: ...

    def children(self, node: int) -> Sequence[int]:
        """Return the children of `node` in the order in which they were drawn."""
        ...

    def target(self, node: int) -> Tensor:
        """Return (V,): the target's distribution after `node`."""
        ...

    def draft(self, node: int) -> Tensor:
        """Return (V,): the draft's distribution after `node`, which must not be a leaf."""
        ...


@dataclass(frozen=True)
class DraftTree:
    """A `Tree` of n drafted tokens: node i has tokens[i - 1].

    parents (n,): parents come before their children, siblings in the order in which they were drawn; equal
    siblings stay apart. p, q: row i is the distribution (V,) after node i; q is not read below leaves.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    p: Tensor | Sequence[Tensor]
    q: Tensor | Mapping[int, Tensor]
    paths: tuple[Path, ...] = ()
    replacement: bool = True

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

    def path(self, node: int) -> tuple[int, ...]:
        """Return the tokens from the root to `node`."""
        nodes: list[int] = []
        while node:
            nodes.append(self.token(node))
            node = self.parents[node - 1]
        return tuple(reversed(nodes))


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
class TreeRule:
    """A rule for trees; `process(tree)` starts its decisions. Fields as in `hsd.rules.chain.Rule`.

    siblings: how the siblings of a tree may have come about for the rule to be lossless on it: drawn as
    "independent" draws, as "distinct" draws without replacement, or "chosen" and not drawn at all.
    """

    name: str
    title: str
    short: str
    citation: str
    lossless: bool
    process: Callable[[Tree], Process]
    siblings: frozenset[str]
    forward: bool = True
    look: Look = OTHER_LOOK

    @property
    def mark(self) -> str:
        """What a menu or a table must warn of."""
        return "" if self.lossless else "not lossless"


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


def without(row: Tensor, token: int) -> Tensor:
    """Return `row` without `token`, normalised again; all zeros where nothing else is left."""
    rest = row.clone()
    rest[token] = 0
    mass = rest.sum()
    return rest / mass if mass > 0 else rest

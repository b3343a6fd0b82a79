"""Rules for several drafts and for draft trees, as decision processes.

A tree rule takes its decisions one after another, and what it tests next depends on what happened before. So it
is written as a generator: it yields a `Test`, is sent whether that test succeeded, and returns an `Ending`.
Sending `coin < threshold` decodes; following both answers with their probabilities gives the exact law (`endings`).
The same lines of code therefore decode, explain and are proved.

Sources: recursive rejection 2401.06706 and 2305.09781; with HSD inside 2601.05724, algorithm 3, with fresh ratios
for every further draft; traversal 2505.12398; the one-hot rule is recursive rejection for point-mass proposals.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from hsd.verify.law import deficient_mass, residual_row
from hsd.verify.rules import Rule

Kind = Literal["token", "draft", "prefix"]


@dataclass(frozen=True)
class Path:
    """One draft. Its first `fork` nodes are shared with an earlier draft, the others were drawn independently.

    nodes: ids of its tokens in the tree, from depth 1 on. Drafts that drew equal tokens have nodes of their own.
    """

    nodes: tuple[int, ...]
    fork: int = 0


@dataclass(frozen=True)
class DraftTree:
    """A tree of n drafted tokens; node 0 is the root, the last committed token, and node i has tokens[i - 1].

    parents (n,): parents come before their children, siblings in the order in which they were drawn; equal
    siblings stay apart. p, q (n+1, V): target and draft after each node; q is not read below leaves.
    paths: the drafts as sequences, for the rules that verify one draft after another.
    replacement: siblings were drawn independently (True) or without replacement (False).
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    p: Tensor
    q: Tensor
    paths: tuple[Path, ...] = ()
    replacement: bool = True

    def children(self, node: int) -> list[int]:
        """The children of `node` in the order in which they were drawn."""
        return [i for i, parent in enumerate(self.parents, start=1) if parent == node]

    def token(self, node: int) -> int:
        return self.tokens[node - 1]

    def path(self, node: int) -> tuple[int, ...]:
        """The tokens from the root to `node`."""
        found: list[int] = []
        while node:
            found.append(self.token(node))
            node = self.parents[node - 1]
        return tuple(reversed(found))


@dataclass(frozen=True)
class Test:
    """The next test of a tree rule: `node` is the last token that success would keep (or go on from).

    kind: what is tested, a `token`, a whole `draft` or a `prefix` of one. draft: which path it belongs to, for
    rules that verify one after another.
    """

    node: int
    threshold: float
    kind: Kind = "token"
    draft: int = 0


@dataclass(frozen=True)
class Ending:
    """What a tree rule came to: the last node kept (0: none), and the distribution of the token after it, (V,)."""

    node: int
    next: Tensor


Process = Generator[Test, bool, Ending]


@dataclass(frozen=True)
class TreeRule:
    """A rule for trees; `process(tree)` starts its decisions. Fields as in `hsd.verify.rules.Rule`."""

    name: str
    title: str
    citation: str
    lossless: bool
    process: Callable[[DraftTree], Process]


def recursive(rule: Rule) -> Callable[[DraftTree], Process]:
    """Verify drafts one after another by a chain rule (recursive rejection).

    When a draft stops early, the next token must follow its residual R. Another draft that runs through what is
    kept, and was drawn independently from there on, is a fresh problem: target R first, then p, all ratios at 1.
    """

    def process(tree: DraftTree) -> Process:
        node, first, text = 0, tree.p[0], tuple[int, ...]()
        for number, path in enumerate(tree.paths):
            depth, tokens = len(text), tuple(tree.token(i) for i in path.nodes)
            if path.fork > depth or tokens[:depth] != text or len(tokens) == depth:
                continue
            node, rest = (path.nodes[depth - 1] if depth else 0), path.nodes[depth:]
            p = torch.stack([first, *(tree.p[i] for i in rest)])
            q = torch.stack([tree.q[i] for i in (node, *rest[:-1])])
            law, kept = rule.law(p, q, torch.tensor(tokens[depth:])), 0
            for t in law.order():
                kind: Kind = "token" if law.forward else "draft" if t == law.gamma else "prefix"
                success = yield Test(rest[t - 1], float(law.threshold[t - 1]), kind, number)
                kept = t if success else kept
                if success != law.forward:
                    break
            node, first, text = (rest[kept - 1] if kept else node), law.next(kept), tokens[: depth + kept]
            if kept == len(rest):
                break
        return Ending(node, first)

    return process


def top_down(tree: DraftTree) -> Process:
    """From the root: accept a child with min(1, p(x)/q(x)) and descend; else p becomes the residual (2305.09781)."""
    node = 0
    while True:
        p, q = tree.p[node], tree.q[node]
        for child in tree.children(node):
            x = tree.token(child)
            if (yield Test(child, _ratio(p[x], q[x]))):
                node = child
                break
            p, q = residual_row(p, q, p.new_ones(())), _without(q, x, tree.replacement)
        else:
            return Ending(node, p)


def one_hot(tree: DraftTree) -> Process:
    """For trees that were chosen, not sampled: each child is proposed with certainty, so accept it with p(x).

    A rejected token is struck out of p. No lossless rule keeps more on such a tree (2406.16858, 2503.01840).
    """
    node = 0
    while True:
        p = tree.p[node]
        for child in tree.children(node):
            x = tree.token(child)
            if (yield Test(child, float(p[x]))):
                node = child
                break
            p = _without(p, x, replacement=False)
        else:
            return Ending(node, p)


@dataclass
class _Working:
    """Traversal's working copies: which nodes are left, and their p, q and rate a."""

    tree: DraftTree
    p: dict[int, Tensor] = field(default_factory=dict)
    q: dict[int, Tensor] = field(default_factory=dict)
    rate: dict[int, float] = field(default_factory=dict)
    left: dict[int, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in range(len(self.tree.tokens) + 1):
            self.p[node], self.q[node] = self.tree.p[node], self.tree.q[node]
            self.left[node] = self.tree.children(node)
        self.rate[0] = 1.0
        self.set_rates(0)

    def set_rates(self, node: int) -> None:
        """a(child) = min(1, a(node) p(x)/q(x)) for everything left below `node`."""
        for child in self.left[node]:
            x = self.tree.token(child)
            self.rate[child] = min(1.0, self.rate[node] * _ratio(self.p[node][x], self.q[node][x], cap=False))
            self.set_rates(child)

    def first_leaf(self) -> int:
        """The first leaf in depth-first order of what is left; the root when nothing is."""
        node = 0
        while self.left[node]:
            node = self.left[node][0]
        return node

    def delete(self, leaf: int) -> None:
        """Remove a rejected leaf; its parent's target becomes what the rejection left over, with a new rate."""
        node, a = self.tree.parents[leaf - 1], self.rate[self.tree.parents[leaf - 1]]
        self.left[node].remove(leaf)
        weight = self.p[node].new_tensor([a])
        mass = float(deficient_mass(self.p[node][None], self.q[node][None], weight))
        self.p[node] = residual_row(self.p[node], self.q[node], weight[0])
        self.q[node] = _without(self.q[node], self.tree.token(leaf), self.tree.replacement)
        if mass == 0 and a < 1:  # nothing more can be reached from here: give the branch up
            self.left[node] = []
        if node:
            self.rate[node] = mass / (mass + 1 - a) if mass + 1 - a > 0 else 1.0
        self.set_rates(node)


def traversal(tree: DraftTree) -> Process:
    """From the leaves to the root: the form that block and HSD verification take on a tree (2505.12398)."""
    working = _Working(tree)
    while leaf := working.first_leaf():
        kind: Kind = "prefix" if tree.children(leaf) else "draft"
        if (yield Test(leaf, working.rate[leaf], kind)):
            return Ending(leaf, working.p[leaf])
        working.delete(leaf)
    return Ending(0, working.p[0])


def endings(process: Callable[[], Process]) -> Iterator[tuple[float, Ending]]:
    """Every way a process can end, with its probability: both answers to every test are followed."""
    open_answers: list[tuple[float, tuple[bool, ...]]] = [(1.0, ())]
    while open_answers:
        weight, answers = open_answers.pop()
        running = process()
        try:
            test = next(running)
            for answer in answers:
                test = running.send(answer)
        except StopIteration as stop:
            yield weight, stop.value
            continue
        for answer, chance in ((True, test.threshold), (False, 1 - test.threshold)):
            if chance > 0:
                open_answers.append((weight * chance, (*answers, answer)))


def decide(process: Process, coin_of: Callable[[Test], float]) -> tuple[Ending, list[tuple[Test, float, bool]]]:
    """Run a process with given coins: the ending, and every test with its coin and outcome, in order."""
    made: list[tuple[Test, float, bool]] = []
    try:
        test = next(process)
        while True:
            coin = coin_of(test)
            made.append((test, coin, coin < test.threshold))
            test = process.send(made[-1][2])
    except StopIteration as stop:
        return stop.value, made


def _ratio(p: Tensor, q: Tensor, cap: bool = True) -> float:
    """p/q, at most 1 if `cap`; 0 where p is 0."""
    if p <= 0:
        return 0.0
    ratio = float(p) / max(float(q), torch.finfo(torch.float64).tiny)
    return min(1.0, ratio) if cap else ratio


def _without(row: Tensor, token: int, replacement: bool) -> Tensor:
    """`row` without `token`, normalised again; unchanged where draws are independent."""
    if replacement:
        return row
    rest = row.clone()
    rest[token] = 0
    mass = rest.sum()
    return rest / mass if mass > 0 else rest

"""What a rule decides about a draft: by its law if the draft is a chain, test by test if it is a tree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from torch import Tensor

from hsd.draft import Draft
from hsd.models.reading import Rows
from hsd.rules import Change, DraftTree, Law, Path, Rule, Test, TreeRule, decide, endings
from hsd.rules.coupled import CoupledLaw
from hsd.rules.rejection import tests_along
from hsd.rules.tree import line

ENUMERABLE = 32  # drafted tokens of a tree, up to which the mean number kept is computed


@dataclass(frozen=True)
class Tried:
    """A test of `node`, with its coin and outcome."""

    test: Test
    node: int
    coin: float
    accepted: bool


def judge(rule: Rule | TreeRule, draft: Draft, rows: Rows) -> ByLaw | ByTests:
    """Apply a rule to a draft of n tokens. rows: the target's distributions after the text and each node, (n+1, V)."""
    draft = draft.on(rows.p.device)
    draws = not (isinstance(rule, Rule) and rule.recipe.follow)
    if not len(draft.tokens) and draws:  # nothing to judge: plain decoding must not pay for a rule
        return ByLaw(Law(rows.p, draft.q, threshold=draft.draws, forward=True, a=draft.draws), draft)
    if isinstance(rule, TreeRule):
        return ByTests(rule, separate(draft, rows.p))
    return ByLaw(rule.law(rows.p, draft.q, draft.tokens, (rows.raw, draft.raw) if rule.raw else None), draft)


@dataclass(frozen=True)
class ByLaw:
    """What a rule decides about a chain. Waits for the device once.

    path: the kept nodes, from depth 1 on. next: (V,), the distribution of the token after them. tests: in order.
    changes: what rejections made of branches: after how many tests, what, of which node. left: factor w and sum of the
    residual max(w p - q, 0) that `next` is; None where it is the target's own row, a likeliest token, or what
    equal numbers leave. kept_law: with which probability the rule keeps 0, 1, … tokens of this draft, over all coins,
    None where that is too much to work out.
    """

    law: Law
    draft: Draft
    changes: Sequence[tuple[int, Change, int]] = ()

    @cached_property
    def path(self) -> range:
        return range(1, int(self.law.kept(self.draft.coins.to(self.law.threshold.device))) + 1)

    @property
    def next(self) -> Tensor:
        return self._after[0]

    @cached_property
    def _after(self) -> tuple[Tensor, Tensor | None]:
        """The distribution of the next token, and what a residual summed to before it was normalised."""
        t, law = len(self.path), self.law
        drawn = t == law.gamma or law.follow is not None
        return (law.next(t), None) if drawn else law.leftover(t)

    @property
    def tests(self) -> list[Tried]:
        coins, tries = self.draft.coins.tolist(), list[Tried]()
        for _, test in tests_along(self.law, self.draft.tokens, range(1, len(coins) + 1), 0, ()):
            coin = coins[test.node - 1]
            tries.append(Tried(test, test.node, coin, coin < test.threshold))
            if tries[-1].accepted != self.law.forward:
                break
        return tries

    @property
    def left(self) -> tuple[float, float | None] | None:
        t, law, mass = len(self.path), self.law, self._after[1]
        if mass is None or isinstance(law, CoupledLaw):  # whose residual has another form
            return None
        b = 1.0 if law.b is None else float(law.b[t])
        return (float(law.a[t]) / b, float(mass) / b) if b else (math.inf, None)

    @property
    def kept_law(self) -> list[float]:
        return list(self.law.stop.tolist())


@dataclass(frozen=True)
class Separate:
    """A tree as the rules need it: a token that two drafts drew independently is two siblings, not one.

    origin: the draft's node behind each of its nodes, 0 for the root. coins: of each node.
    """

    tree: DraftTree
    origin: list[int]
    coins: dict[int, float]


def separate(draft: Draft, p: Tensor) -> Separate:
    """Return the view of a draft in which no two drafts share what they drew themselves. p (n+1, V)."""
    q_of = dict(zip(draft.inner, draft.q, strict=True))
    parents, origin, coins = list[int](), [0], dict[int, float]()
    if draft.siblings in ("chosen", "mixed"):  # a token on several paths is a single proposal
        for path in draft.paths:
            coins |= dict(zip(path.nodes[path.fork :], path.coins.tolist(), strict=False))
        paths = tuple(Path(tuple(path.nodes), path.fork) for path in draft.paths)
        made = tuple(draft.ids), tuple(draft.parents), list(p), q_of, paths, draft.siblings, draft.drawn
        return Separate(DraftTree(*made), list(range(len(draft.ids) + 1)), coins)
    drawn: list[Path] = []
    for path in draft.paths:
        nodes = list(drawn[0].nodes[: path.fork]) if drawn else []
        for shared, coin in zip(path.nodes[path.fork :], path.coins.tolist(), strict=False):
            parents.append(nodes[-1] if nodes else 0)
            origin.append(shared)
            nodes.append(len(parents))
            coins[nodes[-1]] = coin
        drawn.append(Path(tuple(nodes), path.fork))
    q = {node: q_of[shared] for node, shared in enumerate(origin) if shared in q_of}
    tokens = tuple(draft.along(origin[1:]))
    tree = DraftTree(tokens, tuple(parents), [p[node] for node in origin], q, tuple(drawn), draft.siblings)
    return Separate(tree, origin, coins)


class ByTests:
    """What a rule for trees decides, in terms of the draft's nodes; attributes as of `ByLaw`."""

    def __init__(self, rule: TreeRule, view: Separate) -> None:
        self._rule, self._view, origin = rule, view, view.origin
        ending, tries = decide(rule.process(view.tree), lambda test: view.coins[test.node])
        self.next = ending.next
        self.tests = [Tried(test, origin[test.node], coin, accepted) for test, coin, accepted in tries]
        parts = [*(test.changes for test, *_ in tries), ending.changes]
        self.changes = [(count, change, origin[change.node]) for count, part in enumerate(parts) for change in part]
        self.path = [origin[node] for node in line(view.tree.parents, ending.node)]

    @property
    def left(self) -> tuple[float, float | None] | None:
        node = self.path[-1] if self.path else 0
        last = next((change for _, change, at in reversed(self.changes) if at == node), None)
        return (last.weight, last.mass) if last else None

    @property
    def kept_law(self) -> list[float] | None:
        tree = self._view.tree
        if len(set(self._view.origin)) - 1 > ENUMERABLE:
            return None
        law = [0.0] * (1 + max(len(path.nodes) for path in tree.paths))
        for weight, ending in endings(partial(self._rule.process, tree)):
            law[len(tree.path(ending.node))] += weight
        return law

"""What a rule decides: by its law on a chain, test by test on a tree."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from torch import Tensor

from hsd.decoding.options import AnyRule
from hsd.draft import Draft
from hsd.draft.draft import Growth
from hsd.models.reading import Rows
from hsd.rules import Change, DraftTree, Law, Rule, Test, TreePath, TreeRule, decide, endings
from hsd.rules.coupled import CoupledLaw
from hsd.rules.rejection import tests_along
from hsd.rules.tree import line

ENUMERABLE = 32  # drafted tokens of a tree, up to which the mean number kept is computed


@dataclass(frozen=True)
class TestResult:
    """A test with its coin and result. node: the draft's node that it is about."""

    test: Test
    node: int
    coin: float
    accepted: bool


def judge(rule: AnyRule, draft: Draft, rows: Rows) -> "Ruling":
    """Return a rule's decision on a draft of n tokens; not of a rule of one's own, see `own.py`.

    rows: the target's, after the text and each node, (n+1, V).
    """
    assert isinstance(rule, Rule | TreeRule)
    draft = draft.to(rows.p.device)
    draws = not (isinstance(rule, Rule) and rule.recipe.follow)
    if not len(draft.tokens) and draws:  # nothing to judge: plain decoding must not pay for a rule
        return ChainDecision(
            Law(rows.p, draft.q, threshold=draft.draws, forward=True, a=draft.draws), draft
        )
    if isinstance(rule, TreeRule):
        return TreeDecision(rule, separate(draft, rows.p))
    raw = (rows.raw, draft.raw) if rule.raw else None
    return ChainDecision(rule.unchecked_law(rows.p, draft.q, draft.tokens, raw), draft)


@dataclass(frozen=True)
class ChainDecision:
    """A rule's decision on a chain. Synchronises with the device once.

    path: the kept nodes, from depth 1 on. next: (V,), the distribution of the token after them.
    tests: in order. changes: by rejections in a tree: (number of tests before, the change, its
    node). residual: the factor w and the sum of max(w p - q, 0), where `next` is that; None where
    it is the target's row, one likeliest token, or a coupled residual. kept_law: the probability,
    over all coins, that the rule keeps 0, 1, … tokens of this draft; None where that is too
    expensive to compute.
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
        """Return the next token's distribution, and a residual's mass before normalisation."""
        t = len(self.path)
        law = self.law
        drawn = t == law.gamma or law.follow is not None
        return (law.next(t), None) if drawn else law.leftover(t)

    @property
    def tests(self) -> list[TestResult]:
        coins = self.draft.coins.tolist()
        tries = list[TestResult]()
        for _, test in tests_along(self.law, self.draft.tokens, range(1, len(coins) + 1), 0, ()):
            coin = coins[test.node - 1]
            tries.append(TestResult(test, test.node, coin, coin < test.threshold))
            if tries[-1].accepted != self.law.forward:
                break
        return tries

    @property
    def residual(self) -> tuple[float, float | None] | None:
        t = len(self.path)
        law = self.law
        mass = self._after[1]
        if mass is None or isinstance(law, CoupledLaw):  # whose residual has another form
            return None
        b = 1.0 if law.b is None else float(law.b[t])
        return (float(law.a[t]) / b, float(mass) / b) if b else (math.inf, None)

    @property
    def kept_law(self) -> list[float]:
        return list(self.law.stop.tolist())


@dataclass(frozen=True)
class TreeView:
    """A tree in which no two drafts share a drawn node.

    A token that two drafts drew independently becomes two siblings.

    origin: for each of its nodes the draft's node, 0 for the root. coins: by node.
    """

    tree: DraftTree
    origin: list[int]
    coins: dict[int, float]


def separate(draft: Draft, p: Tensor) -> TreeView:
    """Return the view of a draft in which drafts that drew equal tokens have nodes of their own.

    p: (n+1, V).
    """
    q_of = dict(zip(draft.inner, draft.q, strict=True))
    parents = list[int]()
    origin = [0]
    coins = dict[int, float]()
    if draft.siblings in ("chosen", "mixed"):  # a token on several paths is a single proposal
        for path in draft.paths:
            coins |= dict(zip(path.nodes[path.fork :], path.coins.tolist(), strict=False))
        paths = tuple(TreePath(tuple(path.nodes), path.fork) for path in draft.paths)
        groups = None
        if draft.growth and draft.siblings == "mixed":
            groups = partial(_group, draft, draft.growth)
        tree = DraftTree(
            tuple(draft.ids),
            tuple(draft.parents),
            list(p),
            q_of,
            paths,
            draft.siblings,
            draft.drawn,
            groups,
        )
        return TreeView(tree, list(range(len(draft.ids) + 1)), coins)
    drawn: list[TreePath] = []
    for path in draft.paths:
        nodes = list(drawn[0].nodes[: path.fork]) if drawn else []
        for shared, coin in zip(path.nodes[path.fork :], path.coins.tolist(), strict=False):
            parents.append(nodes[-1] if nodes else 0)
            origin.append(shared)
            nodes.append(len(parents))
            coins[nodes[-1]] = coin
        drawn.append(TreePath(tuple(nodes), path.fork))
    q = {node: q_of[shared] for node, shared in enumerate(origin) if shared in q_of}
    tokens = tuple(draft.tokens_of(origin[1:]))
    tree = DraftTree(
        tokens, tuple(parents), [p[node] for node in origin], q, tuple(drawn), draft.siblings
    )
    return TreeView(tree, origin, coins)


def _group(draft: Draft, growth: Growth, node: int) -> Tensor:
    """Return the row (V,) of `Growth.group` for a node of the draft, as q."""
    place = next(place for place, number in growth.kept.items() if number == node)
    return growth.group(place).to(draft.q)


class TreeDecision:
    """A tree rule's decision, in numbers of the draft's nodes; attributes as of `ChainDecision`."""

    def __init__(self, rule: TreeRule, view: TreeView) -> None:
        self._rule = rule
        self._view = view
        origin = view.origin
        ending, tries = decide(rule.process(view.tree), lambda test: view.coins[test.node])
        self.next = ending.next
        self.tests = [
            TestResult(test, origin[test.node], coin, accepted) for test, coin, accepted in tries
        ]
        parts = [*(test.changes for test, *_ in tries), ending.changes]
        self.changes = [
            (count, change, origin[change.node])
            for count, part in enumerate(parts)
            for change in part
        ]
        self.path = [origin[node] for node in line(view.tree.parents, ending.node)]

    @property
    def residual(self) -> tuple[float, float | None] | None:
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


@dataclass(frozen=True)
class OwnDecision:
    """The answer of a rule of one's own for a chain, of which no test and no law is known.

    Attributes as of `ChainDecision`. token: the one after the kept ones. draft: without the draws
    of a race, which are no numbers. number (1,): what `token` was drawn by, (0,) in a race. again:
    asks once more, and raises HsdError if the answer is another one.
    """

    path: range
    token: int
    draft: Draft
    number: Tensor
    again: Callable[[], object] = list
    tests: Sequence[TestResult] = ()
    changes: Sequence[tuple[int, Change, int]] = ()
    residual: None = None
    kept_law: None = None


Ruling = ChainDecision | TreeDecision | OwnDecision

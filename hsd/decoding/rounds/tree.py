"""One round with several drafts: draft a tree, score it in one target pass, decide, and keep a path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from hsd.draft.tree import LAYOUTS, Drafts, TreeProposer, numbers_needed
from hsd.models.base import Pair
from hsd.models.reading import Reader, TreeReader
from hsd.rng import Numbers
from hsd.rules import Change, DraftTree, Path, Test, TreeRule, decide
from hsd.sampling import Sampling, draw

Lap = Callable[[str], None]


@dataclass(frozen=True)
class SeparateTree:
    """A tree as the rules need it: a token that two drafts drew independently is two siblings, not one.

    origin: the shared node behind each of its nodes, 0 for the root. coins: of each test, by draft and node.
    """

    tree: DraftTree
    origin: list[int]
    coins: dict[tuple[int, int], float]

    @classmethod
    def of(cls, drafts: Drafts, p: Tensor, distinct: bool) -> SeparateTree:
        """p (n+1, V): the target after each shared node. distinct: siblings were drawn without replacement."""
        parents, origin = list[int](), [0]
        paths: list[Path] = []
        coins: dict[tuple[int, int], float] = {}
        for path in drafts.paths:
            nodes = list(paths[0].nodes[: path.fork]) if paths else []
            if len(nodes) < path.fork:
                continue  # the text ended before this draft could branch off
            for shared, coin in zip(path.nodes[path.fork :], path.coins, strict=False):
                parents.append(nodes[-1] if nodes else 0)
                origin.append(shared)
                nodes.append(len(parents))
                coins[len(paths), nodes[-1]] = coins[0, nodes[-1]] = coin
            paths.append(Path(tuple(nodes), path.fork))
        tokens = tuple(drafts.tokens[node - 1] for node in origin[1:])
        q = {node: drafts.rows[shared] for node, shared in enumerate(origin) if shared in drafts.rows}
        tree = DraftTree(tokens, tuple(parents), [p[node] for node in origin], q, tuple(paths), not distinct)
        return cls(tree, origin, coins)

    def coin(self, test: Test) -> float:
        """The coin of the position that is tested, whichever rule tests it."""
        return self.coins[test.draft, test.node]


@dataclass(frozen=True)
class TreeVerdict:
    """What a rule decided about a tree, in terms of the shared nodes.

    node: the last one kept, 0 for none. next (V,): the distribution of the token after it. tests: in order, each with
    its node, coin and outcome. changes: what rejections made of branches: after how many tests, what, of which node.
    """

    node: int
    next: Tensor
    tests: list[tuple[Test, int, float, bool]]
    changes: list[tuple[int, Change, int]]

    @classmethod
    def of(cls, rule: TreeRule, separate: SeparateTree) -> TreeVerdict:
        """Decide with the tree's coins."""
        ending, made = decide(rule.process(separate.tree), separate.coin)
        origin = separate.origin
        tests = [(test, origin[test.node], coin, accepted) for test, coin, accepted in made]
        told = [*(test.changes for test, *_ in made), ending.changes]
        changes = [(count, change, origin[change.node]) for count, part in enumerate(told) for change in part]
        return cls(origin[ending.node], ending.next, tests, changes)


@dataclass(frozen=True)
class TreeRound:
    """What came of a round: the drafts, p (n+1, V), what was decided about them, and the kept nodes.

    token: what follows the kept nodes, drawn by `number`; None where they end the text.
    """

    drafts: Drafts
    p: Tensor
    separate: SeparateTree
    verdict: TreeVerdict
    path: list[int]
    token: int | None
    number: float

    @property
    def kept(self) -> int:
        return len(self.path)

    @property
    def drafted(self) -> int:
        return len(self.drafts.tokens)

    @property
    def depth(self) -> int | None:
        """The length of the longest draft."""
        return max(len(path.nodes) for path in self.drafts.paths)

    @property
    def target_calls(self) -> int:
        return 1

    @property
    def next(self) -> Tensor:
        """(V,): the distribution of the token after the kept ones."""
        return self.verdict.next

    @property
    def bonus(self) -> bool:
        """Whether the token after the kept ones comes from the target itself and not from a residual."""
        return self.verdict.node not in self.drafts.parents

    @property
    def committed(self) -> list[int]:
        """The tokens that this round adds to the text."""
        return self.drafts.ids(self.path) + ([] if self.token is None else [self.token])


class TreeRounds:
    """Plays rounds on one text that grows."""

    def __init__(self, pair: Pair, sampling: Sampling, rule: TreeRule, drafts: int, layout: str) -> None:
        self._pair, self._sampling, self._rule = pair, sampling, rule
        self.readers: list[Reader] = []
        self._count, self._layout = drafts, LAYOUTS[layout]
        self._target = TreeReader(pair.target)
        self._proposer = TreeProposer(pair.draft, sampling, pair.vocab_size, pair.codec.end_ids, self._layout)

    def prefill(self, text: list[int]) -> None:
        """Read the text but for its last token."""
        if len(text) > 1:
            self._target.read(text[:-1], [], keep=1)

    def play(self, text: list[int], gamma: int, numbers: Numbers, lap: Lap) -> TreeRound:
        """One round after `text`. `lap` is told what the time since its last call went to."""
        forks = self._layout.forks(self._count, gamma)
        needed = numbers_needed(forks, gamma)
        draws, coins, number = numbers.draft(needed), numbers.coins(needed), numbers.after(1)
        drafts = self._proposer.propose(text, forks, gamma, draws, coins)
        lap("draft")
        nodes = [(i, *entry) for i, entry in enumerate(zip(drafts.parents, drafts.tokens, strict=True), start=1)]
        logits = self._target.read(text, nodes, keep=len(nodes) + 1)
        p = self._sampling.probabilities(logits[:, : self._pair.vocab_size])
        lap("target")
        played = self._judge(drafts, p, number)
        lap("verify")
        self._target.commit(played.path)
        self._proposer.commit(played.path)
        return played

    def _judge(self, drafts: Drafts, p: Tensor, number: Tensor) -> TreeRound:
        separate = SeparateTree.of(drafts, p, self._layout.siblings == "distinct")
        verdict = TreeVerdict.of(self._rule, separate)
        path = ancestors(drafts, verdict.node)
        ended = bool(path) and drafts.tokens[path[-1] - 1] in self._pair.codec.end_ids
        token = None if ended else int(draw(verdict.next, number.to(p.device)))
        return TreeRound(drafts, p, separate, verdict, path, token, float(number))

    def close(self) -> None:
        self._target.close()
        self._proposer.close()


def ancestors(drafts: Drafts, node: int) -> list[int]:
    """The nodes from depth 1 down to `node`."""
    found = []
    while node:
        found.append(node)
        node = drafts.parents[node - 1]
    return found[::-1]

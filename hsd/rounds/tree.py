"""One round with several drafts: draft a tree, score it in one target pass, decide, and keep a path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from hsd.draft.tree import LAYOUTS, Drafts, TreeProposer, numbers_needed
from hsd.models.base import Pair
from hsd.models.reading import TreeReader
from hsd.rng import Numbers
from hsd.sampling import Sampling, draw
from hsd.verify import DraftTree, Path, Test, TreeRule, decide

Lap = Callable[[str], None]


@dataclass(frozen=True)
class TreeRound:
    """What came of a round: the drafts and p (n+1, V); the kept nodes; every test with its node, coin and outcome.

    token: what follows the kept nodes, drawn from `next` (V,) by `number`; None where they end the text.
    """

    drafts: Drafts
    p: Tensor
    path: list[int]
    token: int | None
    next: Tensor
    number: float
    tests: list[tuple[Test, int, float, bool]]

    @property
    def kept(self) -> int:
        return len(self.path)

    @property
    def drafted(self) -> int:
        return len(self.drafts.tokens)

    @property
    def target_calls(self) -> int:
        return 1

    @property
    def bonus(self) -> bool:
        """Whether the token after the kept ones comes from the target itself and not from a residual."""
        return (self.path[-1] if self.path else 0) not in self.drafts.parents

    @property
    def committed(self) -> list[int]:
        """The tokens that this round adds to the text."""
        return self.drafts.ids(self.path) + ([] if self.token is None else [self.token])


class TreeRounds:
    """Plays rounds on one text that grows."""

    def __init__(self, pair: Pair, sampling: Sampling, rule: TreeRule, drafts: int, layout: str) -> None:
        self._pair, self._sampling, self._rule = pair, sampling, rule
        self._count, self._layout = drafts, LAYOUTS[layout]
        self._target = TreeReader(pair.target)
        self._proposer = TreeProposer(pair.draft, sampling, pair.vocab_size, pair.codec.end_ids)

    def prefill(self, text: list[int]) -> None:
        """Read the text but for its last token."""
        if len(text) > 1:
            self._target.read(text[:-1], [], keep=1)

    def play(self, text: list[int], gamma: int, numbers: Numbers, lap: Lap) -> TreeRound:
        """One round after `text`. `lap` is told what the time since its last call went to."""
        forks = self._layout(self._count, gamma)
        needed = numbers_needed(forks, gamma)
        draws, coins, number = numbers.draft(needed), numbers.coins(needed), numbers.after(1)
        drafts = self._proposer.propose(text, forks, gamma, draws, coins)
        lap("draft")
        nodes = [(i, *entry) for i, entry in enumerate(zip(drafts.parents, drafts.tokens, strict=True), start=1)]
        logits = self._target.read(text, nodes, keep=len(nodes) + 1)
        p = self._sampling.probabilities(logits[:, : self._pair.vocab_size])
        lap("target")
        judged = self._judge(drafts, p, number)
        lap("verify")
        self._target.commit(judged.path)
        self._proposer.commit(judged.path)
        return judged

    def _judge(self, drafts: Drafts, p: Tensor, number: Tensor) -> TreeRound:
        tree, origin, coins = separate(drafts, p)
        ending, made = decide(self._rule.process(tree), lambda test: coins[test.draft, test.node])
        path = _ancestors(drafts, origin[ending.node])
        ended = bool(path) and drafts.tokens[path[-1] - 1] in self._pair.codec.end_ids
        token = None if ended else int(draw(ending.next, number.to(p.device)))
        tests = [(test, origin[test.node], coin, accepted) for test, coin, accepted in made]
        return TreeRound(drafts, p, path, token, ending.next, float(number), tests)

    def close(self) -> None:
        self._target.close()
        self._proposer.close()


def separate(drafts: Drafts, p: Tensor) -> tuple[DraftTree, list[int], dict[tuple[int, int], float]]:
    """The tree as the rules need it: a token that two drafts drew independently is two siblings, not one.

    Returns the tree, the shared node behind each of its nodes (0 for the root), and the coin of each test.
    """
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
    zeros = torch.zeros_like(p[0])
    q = torch.stack([drafts.rows.get(node, zeros) for node in origin])
    tokens = tuple(drafts.tokens[node - 1] for node in origin[1:])
    return DraftTree(tokens, tuple(parents), p[origin], q, tuple(paths)), origin, coins


def _ancestors(drafts: Drafts, node: int) -> list[int]:
    """The nodes from depth 1 down to `node`."""
    found = []
    while node:
        found.append(node)
        node = drafts.parents[node - 1]
    return found[::-1]

"""Proposing several drafts at once, in one tree.

They are independent paths, or one path with further ones from each node.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from hsd.draft.draft import Draft, DraftPath, Proposer, Visit
from hsd.models.reading import RowReader
from hsd.sampling import draw


@dataclass(frozen=True)
class Layout:
    """A way to arrange several drafts in a tree.

    forks(drafts, gamma): after how many tokens each draft leaves the first one. siblings: how the
    children of a node are drawn: "independent", "distinct" (without replacement), "chosen" as the
    likeliest, or "mixed": one drawn, the others chosen. grown: the tree has no fixed form (see
    grown.py).
    """

    title: str
    forks: Callable[[int, int], list[int]]
    siblings: str = "independent"
    grown: bool = False

    def needed(self, drafts: int, gamma: int) -> int:
        """Return how many random numbers the drafts take: one for each drawn position."""
        return sum(gamma - fork for fork in self.forks(drafts, gamma))


def _comb(drafts: int, gamma: int) -> list[int]:
    """Return `Layout.forks` of a comb.

    A comb is one draft, and `drafts` - 1 others from each of its nodes but the last.
    """
    return [0] + [fork for fork in range(gamma) for _ in range(drafts - 1)]


_from_root = lambda drafts, gamma: [0] * drafts  # noqa: E731
LAYOUTS = {
    "paths": Layout("independent drafts", _from_root),
    "comb": Layout("one draft with spare continuations at each of its tokens", _comb),
    "distinct": Layout(
        "drafts whose first tokens differ (drawn without replacement)", _from_root, "distinct"
    ),
    "distinct-comb": Layout(
        "the comb with siblings that differ (drawn without replacement)", _comb, "distinct"
    ),
    "top": Layout("the likeliest first tokens, each continued greedily", _from_root, "chosen"),
    "grown": Layout(
        "the likeliest tokens, where the draft model is surest", _from_root, "chosen", grown=True
    ),
    "mixed": Layout(
        "the grown tree with one token of each group drawn from the rest",
        _from_root,
        "mixed",
        grown=True,
    ),
}


@dataclass
class _Path:
    """A draft while it grows: where it leaves the first one, and its numbers and coins from there.

    It has one number and one coin for each position.
    """

    fork: int
    draws: Tensor
    coins: Tensor
    nodes: list[int] = field(default_factory=list)
    ended: bool = False


@dataclass
class _Tree:
    """The tree while it grows. rows[i] is q after node i, (V,), logits[i] what it came from."""

    paths: list[_Path]
    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    draws: list[float] = field(default_factory=list)
    rows: dict[int, Tensor] = field(default_factory=dict)
    logits: dict[int, Tensor] = field(default_factory=dict)

    def children(self, parent: int) -> dict[int, int]:
        """Return the nodes below `parent` by their tokens, in the order of their drawing."""
        pairs = enumerate(zip(self.parents, self.tokens, strict=True), start=1)
        return {token: node for node, (above, token) in pairs if above == parent}

    def child(self, parent: int, token: int, number: float) -> int:
        """Return the node for `token` below `parent`, which is made if no draft was there yet."""
        node = self.children(parent).get(token)
        if node is None:
            self.tokens.append(token)
            self.parents.append(parent)
            self.draws.append(number)
        return node or len(self.tokens)


class TreeProposer(Proposer):
    """A draft model that fills a layout with `drafts` drafts of γ tokens.

    It takes one forward pass per level.
    """

    def __init__(
        self, reader: RowReader, end_ids: frozenset[int], layout: Layout, drafts: int
    ) -> None:
        self._reader = reader
        self._end_ids = end_ids
        self._layout = layout
        self._drafts = drafts
        self.readers = [reader]

    def needed(self, gamma: int) -> int:
        return self._layout.needed(self._drafts, gamma)

    def propose(self, text: list[int], gamma: int, draws: Tensor, coins: Tensor) -> Draft:
        begin = time.perf_counter()
        before = self._reader.work()
        reader = self._reader
        if not gamma:
            return Draft.empty(reader.vocab_size, reader.device)
        forks = self._layout.forks(self._drafts, gamma)
        sizes = [gamma - fork for fork in forks]
        tree = _Tree(
            [
                _Path(*part)
                for part in zip(forks, draws.split(sizes), coins.split(sizes), strict=True)
            ]
        )
        new: list[int] = []
        for level in range(gamma):
            self._read(text, tree, new)
            drawn = len(tree.tokens)
            for path in tree.paths:
                self._extend(tree, path, level)
            fresh = range(drawn + 1, len(tree.tokens) + 1)
            new = [node for node in fresh if tree.tokens[node - 1] not in self._end_ids]
            if not new:
                break
        visit = Visit(0, len(text), gamma, 0, time.perf_counter() - begin, reader.work() - before)
        inner = sorted(tree.rows)
        return Draft(
            torch.tensor(tree.tokens, device=reader.device, dtype=torch.int64),
            torch.stack([tree.rows[node] for node in inner]),
            torch.tensor(tree.draws, dtype=torch.float64, device="cpu"),
            tree.parents,
            inner,
            tuple(
                DraftPath(path.nodes, path.coins, path.fork) for path in tree.paths if path.nodes
            ),
            gamma,
            self._layout.siblings,
            tuple(tree.logits[node].unsqueeze(0) for node in inner),
            (visit,),
        )

    def _read(self, text: list[int], tree: _Tree, new: list[int]) -> None:
        """Read the `new` nodes, or the text, in one pass and add their distributions to `tree`."""
        entries = [(node, tree.parents[node - 1], tree.tokens[node - 1]) for node in new]
        rows = self._reader.distributions(self._reader.grow(text, entries, keep=len(new) or 1))
        tree.rows |= dict(zip(new or [0], rows.p, strict=True))
        tree.logits |= dict(zip(new or [0], rows.logits, strict=True))

    def _extend(self, tree: _Tree, path: _Path, level: int) -> None:
        if path.ended or level < path.fork:
            return
        if level == path.fork:
            main = tree.paths[0].nodes
            path.nodes = main[:level]
            path.ended = len(main) < level or (
                level > 0 and tree.tokens[main[level - 1] - 1] in self._end_ids
            )
            if path.ended:
                return
        parent = path.nodes[-1] if path.nodes else 0
        number = path.draws[level - path.fork]
        token = self._pick(tree, parent, number)
        if token is None:
            path.ended = True
            return
        path.nodes.append(tree.child(parent, token, float(number)))
        path.ended = token in self._end_ids

    def _pick(self, tree: _Tree, parent: int, number: Tensor) -> int | None:
        """Return a next token below `parent`, drawn by `number` () or chosen, by the layout.

        None if none is left.
        """
        if self._layout.siblings == "independent":
            return int(draw(tree.rows[parent], number.to(self._reader.device)))
        taken = list(tree.children(parent))
        if self._layout.siblings == "chosen":
            best = (
                tree.logits[parent]
                .topk(min(self._drafts, self._reader.vocab_size))
                .indices.tolist()
            )
            return next((t for t in best if t not in taken), None)
        row = tree.rows[parent]
        row = row.index_fill(0, torch.tensor(taken, dtype=torch.int64, device=row.device), 0.0)
        return int(draw(row, number.to(row.device))) if row.sum() > 0 else None

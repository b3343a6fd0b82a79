"""Proposing several drafts at once: independent paths, or a comb of spare continuations, with shared prefixes once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from hsd.models.base import LanguageModel
from hsd.models.reading import TreeReader
from hsd.sampling import Sampling, draw


@dataclass
class DraftedPath:
    """One draft while it grows: its nodes so far, where it leaves an earlier draft, and its own random numbers.

    draws, coins: one number for each position from `fork` + 1 to γ.
    """

    fork: int
    draws: list[float]
    coins: list[float]
    nodes: list[int] = field(default_factory=list)
    ended: bool = False


@dataclass
class Drafts:
    """The tree of all drafts. Node i has tokens[i - 1] and parents[i - 1]; rows[i] is q after node i, (V,).

    ranked[i]: the likeliest tokens after node i, best first, where tokens are chosen and not drawn.
    """

    paths: list[DraftedPath]
    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    draws: list[float] = field(default_factory=list)
    rows: dict[int, Tensor] = field(default_factory=dict)
    ranked: dict[int, list[int]] = field(default_factory=dict)

    def child(self, parent: int, token: int, number: float) -> int:
        """The node for `token` below `parent`, which is made if no draft was there yet."""
        for node, (above, own) in enumerate(zip(self.parents, self.tokens, strict=True), start=1):
            if above == parent and own == token:
                return node
        self.tokens.append(token)
        self.parents.append(parent)
        self.draws.append(number)
        return len(self.tokens)

    def ids(self, nodes: list[int]) -> list[int]:
        """The tokens of these nodes."""
        return [self.tokens[node - 1] for node in nodes]


@dataclass(frozen=True)
class Layout:
    """A way to arrange several drafts in a tree.

    forks(drafts, gamma): after how many tokens each draft leaves the first one. siblings: how the tokens of one node
    come about: "independent" draws, "distinct" ones (without replacement), or "chosen" as the likeliest.
    """

    title: str
    forks: Callable[[int, int], list[int]]
    siblings: str = "independent"


def _from_root(drafts: int, gamma: int) -> list[int]:
    return [0] * drafts


def _comb(drafts: int, gamma: int) -> list[int]:
    """One draft, and K-1 others from each of its nodes but the last."""
    return [0] + [fork for fork in range(gamma) for _ in range(drafts - 1)]


LAYOUTS: dict[str, Layout] = {
    "paths": Layout("independent drafts", _from_root),
    "comb": Layout("one draft with spare continuations at each of its tokens", _comb),
    "distinct": Layout("drafts whose first tokens differ (drawn without replacement)", _from_root, "distinct"),
    "top": Layout("the likeliest first tokens, each continued greedily", _from_root, "chosen"),
}


def numbers_needed(forks: list[int], gamma: int) -> int:
    """How many random numbers the drafts take: one for every position that is drawn."""
    return sum(gamma - fork for fork in forks)


class TreeProposer:
    """A draft model that fills a layout. One forward pass per level serves all drafts."""

    def __init__(
        self, model: LanguageModel, sampling: Sampling, vocab_size: int, end_ids: frozenset[int], layout: Layout
    ) -> None:
        self._reader = TreeReader(model)
        self._sampling, self._vocab_size, self._end_ids, self._layout = sampling, vocab_size, end_ids, layout

    def propose(self, text: list[int], forks: list[int], gamma: int, draws: Tensor, coins: Tensor) -> Drafts:
        """Drafts of γ tokens that continue `text`, or end earlier with the text."""
        sizes = [gamma - fork for fork in forks]
        parts = zip(forks, draws.split(sizes), coins.split(sizes), strict=True)
        drafts = Drafts([DraftedPath(fork, d.tolist(), c.tolist()) for fork, d, c in parts])
        new: list[int] = []
        for level in range(gamma):
            self._read(text, drafts, new)
            before = len(drafts.tokens)
            for path in drafts.paths:
                self._extend(drafts, path, level)
            fresh = range(before + 1, len(drafts.tokens) + 1)
            new = [node for node in fresh if drafts.tokens[node - 1] not in self._end_ids]
            if not new:
                break
        drafts.paths = [path for path in drafts.paths if path.nodes or path is drafts.paths[0]]
        return drafts

    def _read(self, text: list[int], drafts: Drafts, new: list[int]) -> None:
        """The distributions after the nodes that came last, or after the text."""
        entries = [(node, drafts.parents[node - 1], drafts.tokens[node - 1]) for node in new]
        logits = self._reader.read(text, entries, keep=len(new) or 1)[:, : self._vocab_size]
        for node, row, scores in zip(new or [0], self._sampling.probabilities(logits), logits, strict=True):
            drafts.rows[node] = row
            if self._layout.siblings == "chosen":
                drafts.ranked[node] = scores.topk(min(len(drafts.paths), self._vocab_size)).indices.tolist()

    def _extend(self, drafts: Drafts, path: DraftedPath, level: int) -> None:
        if path.ended or level < path.fork:
            return
        if level == path.fork:
            main = drafts.paths[0].nodes
            path.nodes = main[:level]
            path.ended = len(main) < level or (level > 0 and drafts.tokens[main[level - 1] - 1] in self._end_ids)
            if path.ended:
                return
        parent = path.nodes[-1] if path.nodes else 0
        number = path.draws[level - path.fork]
        token = self._pick(drafts, parent, number)
        if token is None:
            path.ended = True
            return
        path.nodes.append(drafts.child(parent, token, number))
        path.ended = token in self._end_ids

    def _pick(self, drafts: Drafts, parent: int, number: float) -> int | None:
        """The next token of a draft below `parent`, as the layout wants it; None where there is none left."""
        taken = [t for t, above in zip(drafts.tokens, drafts.parents, strict=True) if above == parent]
        if self._layout.siblings == "chosen":
            return next((t for t in drafts.ranked[parent] if t not in taken), None)
        row = drafts.rows[parent]
        if self._layout.siblings == "distinct":
            row = row.index_fill(0, torch.tensor(taken, dtype=torch.int64, device=row.device), 0.0)
            if row.sum() == 0:
                return None
        return int(draw(row, torch.tensor([number], dtype=torch.float64, device=row.device)))

    def commit(self, path: list[int]) -> None:
        """The nodes of `path` are part of the text now."""
        self._reader.commit(path)

    def close(self) -> None:
        self._reader.close()

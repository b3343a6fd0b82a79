"""A tree that grows where the draft is surest (Li et al., EAGLE-2, arXiv 2406.16858)."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import torch
from torch import Tensor

from hsd.draft.draft import Draft, Growth, Path, Proposer, Visit
from hsd.models.reading import UNCHANGED, Reader


class GrownProposer(Proposer):
    """Each level reads the `breadth` surest nodes in one pass and gives each its `breadth` likeliest next tokens.

    How sure a node is: the draft's probability of its whole path, at temperature 1 with nothing cut off. Of all nodes
    the `size` surest are kept: they are chosen, not drawn. size: by default breadth · γ, as many as other layouts
    draft. γ passes, one a level.
    """

    def __init__(self, reader: Reader, end_ids: frozenset[int], breadth: int, size: int | None = None) -> None:
        self._reader, self._end_ids, self._breadth, self._size = reader, end_ids, breadth, size
        self._read: list[int] = [0]  # the number that each node had while the tree grew
        self.readers = [reader]

    def needed(self, gamma: int) -> int:
        return self._breadth * gamma if self._size is None else self._size

    def columns(self, gamma: int) -> int:
        return max(self.needed(gamma), self._breadth * (gamma - 1))

    def propose(self, text: list[int], gamma: int, draws: Tensor, coins: Tensor) -> Draft:
        begin, before, reader = time.perf_counter(), self._reader.work(), self._reader
        if not gamma or not self.needed(gamma):
            return Draft.empty(reader.vocab_size, reader.device)
        tree, front = Growth(), [0]
        for _ in range(gamma):
            first = len(tree.tokens)
            self._extend(text, tree, front)
            fresh = [node for node in range(first, len(tree.tokens)) if tree.tokens[node] not in self._end_ids]
            front = sorted(sorted(fresh, key=lambda node: -tree.sure[node])[: self._breadth])
            if not front:
                break
        visit = Visit(0, len(text), gamma, 0, time.perf_counter() - begin, reader.work() - before)
        return self._cut(tree, gamma, draws, coins, visit)

    def _extend(self, text: list[int], tree: Growth, front: Sequence[int]) -> None:
        """Read these nodes, and give each its likeliest next tokens."""
        entries = [(node, tree.parents[node], tree.tokens[node]) for node in front if node]
        logits = self._reader.grow_unsampled(text, entries, keep=len(front))
        tree.logits |= dict(zip(front, logits, strict=True))
        likeliest = UNCHANGED.probabilities(logits).topk(min(self._breadth, self._reader.vocab_size))
        for node, chances, tokens in zip(front, likeliest.values.tolist(), likeliest.indices.tolist(), strict=True):
            likely = [(chance, token) for chance, token in zip(chances, tokens, strict=True) if chance > 0]
            tree.tokens += [token for _, token in likely]
            tree.parents += [node] * len(likely)
            tree.sure += [tree.sure[node] + math.log(chance) for chance, _ in likely]

    def _cut(self, tree: Growth, gamma: int, draws: Tensor, coins: Tensor, visit: Visit) -> Draft:
        """Return the draft of the surest nodes, numbered anew."""
        self._read = [0, *tree.best(self.needed(gamma))]
        number = tree.kept = {node: i for i, node in enumerate(self._read)}
        parents = [number[tree.parents[node]] for node in self._read[1:]]
        inner = sorted(set(parents))
        paths = []
        for leaf in sorted(set(range(1, len(self._read))) - set(parents)):
            path = [leaf]
            while parents[path[0] - 1]:
                path.insert(0, parents[path[0] - 1])
            paths.append(Path(path, coins[[node - 1 for node in path]]))
        logits = torch.stack([tree.logits[self._read[node]] for node in inner])
        return Draft(
            torch.tensor([tree.tokens[node] for node in self._read[1:]], device=self._reader.device),
            self._reader.sampling.probabilities(logits),
            draws[: len(parents)].double(),
            parents,
            inner,
            tuple(paths),
            gamma,
            once=True,
            growth=tree,
            logits=(logits,),
            visits=(visit,),
        )

    def settle(self, length: int, path: Sequence[int] = ()) -> None:
        self._reader.settle(length, [self._read[node] for node in path])

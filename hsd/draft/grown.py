"""A tree that grows where the draft is surest, of chosen or of mixed siblings.

It is the tree of EAGLE-2 (Li et al., arXiv 2406.16858).

Of mixed siblings (arXiv 2609.21827) one is drawn from q without the others, which are chosen. A
draw must not be dropped because of what was drawn. So a drawn token counts as sure as all tokens
that the chosen ones leave, which is the chance that it is kept if the target agrees with the draft.
What follows a token is never surer than the token, so whether it is kept in the tree, and which row
it was drawn from, depends on no draw but those before it.
"""

import time
from collections.abc import Sequence

import torch
from torch import Tensor

from hsd.draft.draft import Draft, DraftPath, Growth, Proposer, Visit
from hsd.models.reading import UNCHANGED, RowReader
from hsd.rules.tree import fork_paths, line
from hsd.sampling import draw


class GrownProposer(Proposer):
    """A draft model that grows a tree in γ forward passes.

    Each pass reads the `breadth` surest nodes of the last level.

    Each of these gets its `breadth` likeliest next tokens. How sure a node is: the draft's
    probability of its whole path at temperature 1, nothing cut off. The `size` surest of all nodes
    are kept, by default breadth · γ, as many as other layouts draft. mixed: the first of siblings
    is drawn from what the others, which are chosen, leave.
    """

    def __init__(
        self,
        reader: RowReader,
        end_ids: frozenset[int],
        breadth: int,
        size: int | None = None,
        mixed: bool = False,
    ) -> None:
        self._reader = reader
        self._end_ids = end_ids
        self._breadth = breadth
        self._size = size
        self._mixed = mixed
        self._read = [0]  # the number that each node had while the tree grew
        self.readers = [reader]

    def _most(self, gamma: int) -> int:
        return self._breadth * gamma if self._size is None else self._size

    def needed(self, gamma: int) -> int:
        return max(self._most(gamma), self._breadth * gamma * self._mixed)

    def columns(self, gamma: int) -> int:
        return max(self._most(gamma), self._breadth * (gamma - 1))

    def propose(self, text: list[int], gamma: int, draws: Tensor, coins: Tensor) -> Draft:
        begin = time.perf_counter()
        before = self._reader.work()
        reader = self._reader
        if not gamma or not self._most(gamma):
            return Draft.empty(reader.vocab_size, reader.device)
        tree = Growth()
        front = [0]
        for _ in range(gamma):
            first = len(tree.tokens)
            self._extend(text, tree, front, draws)
            fresh = [
                node
                for node in range(first, len(tree.tokens))
                if tree.tokens[node] not in self._end_ids
            ]
            front = sorted(sorted(fresh, key=lambda node: -tree.sure[node])[: self._breadth])
            if not front:
                break
        visit = Visit(0, len(text), gamma, 0, time.perf_counter() - begin, reader.work() - before)
        return self._cut(tree, gamma, draws, coins, visit)

    def _extend(self, text: list[int], tree: Growth, front: Sequence[int], draws: Tensor) -> None:
        """Read the nodes `front` and add the likeliest next tokens of each to `tree`.

        If the tree is mixed, one of them is drawn.
        """
        entries = [(node, tree.parents[node], tree.tokens[node]) for node in front if node]
        logits = self._reader.grow(text, entries, keep=len(front))
        tree.logits |= dict(zip(front, logits, strict=True))
        rows = UNCHANGED.probabilities(logits, exact=True)
        likeliest = rows.topk(min(self._breadth, self._reader.vocab_size)).indices
        sampled = self._reader.distributions(logits).p if self._mixed else rows
        for node, row, q, chosen in zip(front, rows, sampled, likeliest, strict=True):
            rest = q.index_fill(0, chosen[: self._breadth - 1], 0.0)
            if self._mixed and rest.sum() > 0:
                chosen = chosen[: self._breadth - 1]
                number = draws[len(tree.drawn)]
                tree.drawn[len(tree.tokens)] = float(number), rest / rest.sum()
                tree.add(
                    node,
                    int(draw(rest, number.to(rest.device))),
                    float(row.index_fill(0, chosen, 0.0).sum()),
                )
            for token, chance in zip(chosen.tolist(), row[chosen].tolist(), strict=True):
                if chance > 0:
                    tree.add(node, token, chance)

    def _cut(self, tree: Growth, gamma: int, draws: Tensor, coins: Tensor, visit: Visit) -> Draft:
        """Return the surest nodes of `tree` as a draft, numbered anew.

        draws, coins: at least one for each of them.
        """
        self._read = [0, *tree.best(self._most(gamma))]
        number = tree.kept = {node: i for i, node in enumerate(self._read)}
        parents = [number[tree.parents[node]] for node in self._read[1:]]
        inner = sorted(set(parents))
        leaves = set(range(1, len(self._read))) - set(parents)
        paths = [
            DraftPath(path.nodes, coins[[node - 1 for node in path.nodes[path.fork :]]], path.fork)
            for path in fork_paths(sorted(line(parents, leaf) for leaf in leaves))
        ]
        logits = torch.stack([tree.logits[self._read[node]] for node in inner])
        q = self._reader.distributions(logits).p
        numbers = draws[: len(parents)].double()
        drawn = [node for node in self._read if node in tree.drawn]
        for node in drawn:
            numbers[number[node] - 1], q[inner.index(number[tree.parents[node]])] = tree.drawn[node]
        return Draft(
            torch.tensor(
                [tree.tokens[node] for node in self._read[1:]],
                device=self._reader.device,
                dtype=torch.int64,
            ),
            q,
            numbers,
            parents,
            inner,
            tuple(paths),
            gamma,
            "mixed" if self._mixed else "chosen",
            growth=tree,
            drawn=frozenset(number[node] for node in drawn),
            logits=(logits,),
            visits=(visit,),
        )

    def settle(self, length: int, path: Sequence[int] = ()) -> None:
        self._reader.settle(length, [self._read[node] for node in path])

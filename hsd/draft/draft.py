"""Drafts as trees of tokens, and the interface of proposers. A chain is a tree with one path."""

import math
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from hsd.errors import HsdError
from hsd.models.reading import UNCHANGED, RowReader


@dataclass(frozen=True)
class Visit:
    """What a level below the target did for the level above it: one draft, or one round.

    level: 0 for the model that drafts. position: length of the text before it. asked: the number of
    tokens requested by the level above; held: how many of them earlier rounds had produced.
    seconds: with all levels below; work: without. played: the `hsd.decoding.rounds.Round`, None for
    a draft.
    """

    level: int
    position: int
    asked: int
    held: int
    seconds: float
    work: Counter[str]
    played: Any = None


@dataclass(frozen=True)
class DraftPath:
    """One draft in a tree: its nodes from depth 1 on, and a coin for each node below depth `fork`.

    Its first `fork` nodes belong to an earlier draft; the others are its own, even where tokens are
    equal.
    """

    nodes: Sequence[int]
    coins: Tensor
    fork: int = 0


@dataclass
class Growth:
    """All nodes of a tree that was grown, before it was cut to size.

    Node 0 is the text's last token.

    tokens, parents, sure: of each node its token, its parent and log q of its path from the root.
    logits: of the nodes that the draft model read, the row (V,) after them. kept: node → its number
    in the draft. drawn: for nodes that were drawn and not chosen, the random number and the row
    (V,) that it was drawn from.
    """

    tokens: list[int] = field(default_factory=lambda: [0])
    parents: list[int] = field(default_factory=lambda: [0])
    sure: list[float] = field(default_factory=lambda: [0.0])
    logits: dict[int, Tensor] = field(default_factory=dict)
    kept: dict[int, int] = field(default_factory=dict)
    drawn: dict[int, tuple[float, Tensor]] = field(default_factory=dict)

    def add(self, parent: int, token: int, chance: float) -> None:
        """Add a node for `token` below `parent`. chance: its probability there, above 0."""
        self.tokens.append(token)
        self.parents.append(parent)
        self.sure.append(self.sure[parent] + math.log(max(chance, sys.float_info.min)))

    def group(self, node: int) -> Tensor:
        """Return (V,): 1 for each chosen token below `node`, for others their chance to be drawn.

        The node must have been read. Tokens that were cut off later count.
        """
        below = [i for i, parent in enumerate(self.parents) if i and parent == node]
        row = torch.zeros_like(self.logits[node])
        for child in below:
            row = self.drawn[child][1] if child in self.drawn else row
        chosen = [self.tokens[child] for child in below if child not in self.drawn]
        return row.index_fill(0, torch.tensor(chosen, dtype=torch.int64, device=row.device), 1.0)

    def best(self, many: int) -> list[int]:
        """Return the `many` nodes with the likeliest paths, ascending.

        The parent of each node is among them.
        """
        ranked = sorted(range(1, len(self.tokens)), key=lambda node: (-self.sure[node], node))
        return sorted(ranked[:many])


@dataclass(frozen=True)
class Draft:
    """n drafted tokens (n,) int64.

    Node i has tokens[i - 1] and parents[i - 1]; node 0 is the text's last token.

    q (m, V): the distributions after the m nodes `inner`, in that order. draws (n,) float64: the
    number that drew each node first; or (n, V), the times of its exponential race; or (0,) for
    another engine's. paths: all drafts in order. siblings: how they are drawn, see
    `hsd.draft.Layout`. logits: of the rows of q. asked: the requested path length. visits: how the
    draft was made, by level. growth: the tree it was cut from, if it was grown. drawn: the nodes of
    a "mixed" tree that were drawn and not chosen; the rows of q after their parents are without the
    chosen siblings.
    """

    tokens: Tensor
    q: Tensor
    draws: Tensor
    parents: Sequence[int]
    inner: Sequence[int]
    paths: tuple[DraftPath, ...]
    asked: int
    siblings: str = "independent"
    logits: tuple[Tensor, ...] = ()
    visits: tuple[Visit, ...] = ()
    growth: Growth | None = None
    drawn: frozenset[int] = frozenset()

    @classmethod
    def chain(
        cls, tokens: Tensor, q: Tensor, draws: Tensor, coins: Tensor, **others: Any
    ) -> "Draft":
        """Return a draft of one path: tokens, draws, coins (γ,), q (γ, V).

        others: further fields of `Draft`.
        """
        gamma = len(tokens)
        paths = (DraftPath(range(1, gamma + 1), coins),) if gamma else ()
        return cls(
            tokens, q, draws, range(gamma), range(gamma), paths, **{"asked": gamma, **others}
        )

    @classmethod
    def empty(cls, vocab_size: int, device: torch.device) -> "Draft":
        """Return a draft of no tokens."""
        none = torch.empty(0, dtype=torch.float64, device="cpu")
        return cls.chain(
            none.long().to(device),
            torch.empty(0, vocab_size, device=device, dtype=torch.float32),
            none,
            none,
        )

    @property
    def is_chain(self) -> bool:
        return isinstance(self.parents, range)

    @property
    def depth(self) -> int:
        """The length of the longest path, which is the most tokens that can be kept."""
        return max((len(path.nodes) for path in self.paths), default=0)

    @property
    def coins(self) -> Tensor:
        """The coins of the first path, (γ,) for a chain."""
        return self.paths[0].coins if self.paths else self.draws

    @property
    def raw(self) -> Tensor:
        """(m, V): q at temperature 1, without top-k and top-p."""
        return (
            UNCHANGED.probabilities(torch.cat(self.logits), exact=True) if self.logits else self.q
        )

    @cached_property
    def ids(self) -> list[int]:
        """The tokens as a list, copied from the device once."""
        ids: list[int] = self.tokens.tolist()
        return ids

    def tokens_of(self, path: Sequence[int]) -> list[int]:
        """Return the tokens of the nodes in `path`."""
        return [self.ids[node - 1] for node in path]

    def to(self, device: torch.device) -> "Draft":
        """Return this draft with tokens, q and logits on `device`, draws and coins on the CPU."""
        if self.q.device == device and self.tokens.device == device:
            return self
        logits = tuple(rows.to(device) for rows in self.logits)
        return replace(self, tokens=self.tokens.to(device), q=self.q.to(device), logits=logits)

    def until_end(self, end_ids: frozenset[int]) -> "Draft":
        """Return this chain, cut off after its first end-of-text token."""
        count = next(
            (i for i, token in enumerate(self.ids, start=1) if token in end_ids), len(self.ids)
        )
        if count == len(self.ids):
            return self
        logits = (torch.cat(self.logits)[:count],) if self.logits else ()
        others = {"asked": self.asked, "logits": logits, "visits": self.visits}
        return Draft.chain(
            self.tokens[:count], self.q[:count], self.draws[:count], self.coins[:count], **others
        )


class Proposer(ABC):
    """A source of drafts for a growing text.

    readers: those of its models, smallest first, with caches of the text.
    """

    readers: list[RowReader]

    def needed(self, gamma: int) -> int:
        """Return how many draws, and how many coins, `propose` needs for a draft of γ tokens."""
        return gamma

    def columns(self, gamma: int) -> int:
        """Return the most cache columns that a draft of γ takes, in its models and the target."""
        return self.needed(gamma)

    @abstractmethod
    def propose(self, text: list[int], gamma: int, draws: Tensor, coins: Tensor) -> Draft:
        """Return at most γ tokens per path after `text`.

        draws, coins: (needed(γ),); draws may be times (γ, V).
        """

    def extend(self, token: Tensor) -> Tensor:
        """Return the distribution (V,) after one more token (1,) of the text.

        It is for a rule that draws positions again.

        Raises HsdError unless the proposer is a chain of one draft model, or copies.
        """
        raise HsdError(
            f"{type(self).__name__} gives no distribution for a rule that resamples: choose "
            "another rule"
        )

    def rewind(self, length: int) -> None:
        """Roll back to the first `length` tokens of text and draft; then `extend` continues."""
        for reader in self.readers:
            reader.rewind(length)

    def settle(self, length: int, path: Sequence[int] = ()) -> None:
        """Keep `length` tokens of the text in the caches, and drop all others.

        The last of them are the draft's nodes `path`.
        """
        for reader in self.readers:
            reader.settle(length, path)

    def close(self) -> None:
        for reader in self.readers:
            reader.close()

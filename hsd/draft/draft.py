"""A draft, whoever made it: a tree of tokens. A chain is a tree with one path."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from hsd.errors import HsdError
from hsd.models.base import Work
from hsd.models.reading import UNCHANGED, Reader


@dataclass(frozen=True)
class Visit:
    """Something that a level below the target did for the level above: a draft, or a round that it played.

    level: 0 for the model that drafts. position: length of the text before it. asked: how many tokens the level above
    wanted; held: how many had been settled before. seconds include all levels below, work is its own. played: the
    `hsd.decoding.rounds.Round`, None for a draft.
    """

    level: int
    position: int
    asked: int
    held: int
    seconds: float
    work: Work
    played: Any = None


@dataclass(frozen=True)
class Path:
    """One of the drafts in a tree: its nodes from depth 1 on, and one coin for each from depth `fork` + 1 on.

    Its first `fork` nodes are those of an earlier draft; the others are its own, even where another drew the same.
    """

    nodes: Sequence[int]
    coins: Tensor
    fork: int = 0


@dataclass
class Growth:
    """A tree that was grown, before it was cut; node 0 is the text's last token.

    Of every node its token, its parent, log q of its path; of those that were read, the logits after them, (V,). kept:
    the numbers that nodes have in the draft. drawn: of nodes that were not chosen, what picked each: a number and the
    row (V,) that it was drawn from.
    """

    tokens: list[int] = field(default_factory=lambda: [0])
    parents: list[int] = field(default_factory=lambda: [0])
    sure: list[float] = field(default_factory=lambda: [0.0])
    logits: dict[int, Tensor] = field(default_factory=dict)
    kept: dict[int, int] = field(default_factory=dict)
    drawn: dict[int, tuple[float, Tensor]] = field(default_factory=dict)

    def add(self, parent: int, token: int, chance: float) -> None:
        """Add a token after the node `parent`, with its chance there, above 0."""
        self.tokens.append(token)
        self.parents.append(parent)
        self.sure.append(self.sure[parent] + math.log(chance))

    def best(self, many: int) -> list[int]:
        """Return the `many` surest nodes, in the order in which they came; with a node always its parent."""
        ranked = sorted(range(1, len(self.tokens)), key=lambda node: (-self.sure[node], node))
        return sorted(ranked[:many])


@dataclass(frozen=True)
class Draft:
    """n drafted tokens (n,) int64. Node i has tokens[i - 1] and parents[i - 1]; node 0 is the text's last token.

    q (m, V): the distributions after the m nodes `inner`, in that order. draws (n,) float64: the number that drew each
    node first; or (n, V), the times among which it won. paths: all drafts in order. siblings: how they came about, see
    `hsd.draft.Layout`. logits: q's rows as they came. asked: how many tokens a path was to have. visits: how the draft
    was made. growth: what the tree was cut from, where it was grown. drawn: the nodes of a "mixed" tree that were not
    chosen; their parents' rows of q are without the chosen siblings.
    """

    tokens: Tensor
    q: Tensor
    draws: Tensor
    parents: Sequence[int]
    inner: Sequence[int]
    paths: tuple[Path, ...]
    asked: int
    siblings: str = "independent"
    logits: tuple[Tensor, ...] = ()
    visits: tuple[Visit, ...] = ()
    growth: Growth | None = None
    drawn: frozenset[int] = frozenset()

    @classmethod
    def chain(cls, tokens: Tensor, q: Tensor, draws: Tensor, coins: Tensor, **others: Any) -> Draft:
        """Return a draft of one path: tokens (γ,), each after the one before; q (γ, V), draws (γ,), coins (γ,)."""
        gamma = len(tokens)
        paths = (Path(range(1, gamma + 1), coins),) if gamma else ()
        return cls(tokens, q, draws, range(gamma), range(gamma), paths, **{"asked": gamma, **others})

    @classmethod
    def empty(cls, vocab_size: int, device: torch.device) -> Draft:
        """Return a draft of no tokens."""
        none = torch.empty(0, dtype=torch.float64)
        return cls.chain(none.long().to(device), torch.empty(0, vocab_size, device=device), none, none)

    @property
    def is_chain(self) -> bool:
        return isinstance(self.parents, range)

    @property
    def depth(self) -> int:
        """The length of the longest path: how many tokens could be kept."""
        return max((len(path.nodes) for path in self.paths), default=0)

    @property
    def coins(self) -> Tensor:
        """The coins of the first path."""
        return self.paths[0].coins if self.paths else self.draws

    @property
    def raw(self) -> Tensor:
        """(m, V): q at temperature 1 with nothing cut off."""
        return UNCHANGED.probabilities(torch.cat(self.logits)) if self.logits else self.q

    @cached_property
    def ids(self) -> list[int]:
        """The tokens, on the host."""
        ids: list[int] = self.tokens.tolist()
        return ids

    def along(self, path: Sequence[int]) -> list[int]:
        """Return the tokens of the nodes `path`."""
        return [self.ids[node - 1] for node in path]

    def on(self, device: torch.device) -> Draft:
        """Return this draft on `device`; draws and coins stay on the host."""
        if self.q.device == device and self.tokens.device == device:
            return self
        logits = tuple(rows.to(device) for rows in self.logits)
        return replace(self, tokens=self.tokens.to(device), q=self.q.to(device), logits=logits)

    def until_end(self, end_ids: frozenset[int]) -> Draft:
        """Return this chain up to and including its first end-of-text token."""
        count = next((i for i, token in enumerate(self.ids, start=1) if token in end_ids), len(self.ids))
        if count == len(self.ids):
            return self
        logits = (torch.cat(self.logits)[:count],) if self.logits else ()
        others = {"asked": self.asked, "logits": logits, "visits": self.visits}
        return Draft.chain(self.tokens[:count], self.q[:count], self.draws[:count], self.coins[:count], **others)


class Proposer(ABC):
    """A source of drafts for a growing text, its state in step with it. readers: of its models, smallest first."""

    readers: list[Reader]

    def needed(self, gamma: int) -> int:
        """Return how many random numbers a draft of γ tokens takes, and how many coins."""
        return gamma

    def columns(self, gamma: int) -> int:
        """How many tokens a draft of γ puts behind the text at most, in its own models' memory and in the target's."""
        return self.needed(gamma)

    @abstractmethod
    def propose(self, text: list[int], gamma: int, draws: Tensor, coins: Tensor) -> Draft:
        """Return at most γ tokens (in a tree: in a path) that continue `text`. draws: (γ,), or times, (γ, V)."""

    def extend(self, token: Tensor) -> Tensor:
        """Return (V,): the distribution after one more token (1,) of the text, for a rule that resamples.

        Raises HsdError where one cannot be had: such a rule needs a chain of one draft model.
        """
        raise HsdError(f"{type(self).__name__} gives no distribution for a rule that resamples: choose another rule")

    def rewind(self, length: int) -> None:
        """Forget all but the first `length` tokens of text and draft, so that `extend` drafts on from there."""
        for reader in self.readers:
            reader.rewind(length)

    def settle(self, length: int, path: Sequence[int] = ()) -> None:
        """Keep `length` tokens of the text, whose last ones are the nodes `path` of the draft; forget all others."""
        for reader in self.readers:
            reader.settle(length, path)

    def close(self) -> None:
        for reader in self.readers:
            reader.close()

"""Reading with a model: a text, token by token or block by block; or a text and a tree that grows from its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from hsd.models.base import LanguageModel, Session, View
from hsd.sampling import Sampling

UNCHANGED = Sampling(temperature=1.0)


@dataclass(frozen=True)
class Rows:
    """Distributions after some tokens: `p` (n, V) as they are sampled from, `raw` (n, V) as the model gave them.

    `raw` is at temperature 1 with nothing cut off, None where nobody wants it.
    """

    p: Tensor
    raw: Tensor | None = None


@dataclass(frozen=True)
class Spent:
    """What a reader has computed so far: forward calls; layer passes, tokens through them, and head rows, where a
    session counts them (0 otherwise).
    """

    calls: int = 0
    layers: int = 0
    computed: int = 0
    heads: int = 0

    def __sub__(self, other: Spent) -> Spent:
        return Spent(*(mine - theirs for mine, theirs in zip(_values(self), _values(other), strict=True)))


def _values(spent: Spent) -> tuple[int, ...]:
    return spent.calls, spent.layers, spent.computed, spent.heads


class Reader:
    """A model that reads one growing text and gives distributions.

    vocab_size: ids beyond it are padding and are cut off. raw: whether `Rows.raw` is wanted.
    """

    def __init__(
        self, session: Session, device: torch.device, sampling: Sampling, vocab_size: int, raw: bool = False
    ) -> None:
        self._session, self.device = session, device
        self._sampling, self.vocab_size, self._raw = sampling, vocab_size, raw
        self._calls = 0

    @property
    def length(self) -> int:
        """How many tokens have been read."""
        return self._session.length

    def read(self, tokens: Tensor, keep: int) -> Rows:
        """Read `tokens` (n,) in one forward call; the distributions after the last `keep` of them."""
        logits = self._session.forward(tokens.to(self.device), keep)[:, : self.vocab_size]
        self._calls += 1
        raw = UNCHANGED.probabilities(logits) if self._raw else None
        return Rows(self._sampling.probabilities(logits), raw)

    def crop(self, length: int) -> None:
        """Forget all tokens from position `length` on."""
        self._session.crop(min(length, self._session.length))

    def spent(self) -> Spent:
        """What this reader has had to compute so far."""
        work = getattr(self._session, "work", None)
        return Spent(self._calls, work.layers, work.computed, work.heads) if work else Spent(self._calls)

    def close(self) -> None:
        self._session.close()


@dataclass
class TreeReader:
    """A session that reads the nodes of a tree. Node 0 is the last token of the text; see `read`.

    parents: parent of each node read so far; columns: where in the cache it is; base: how many columns the text has.
    """

    model: LanguageModel
    base: int = 0
    parents: dict[int, int] = field(default_factory=dict)
    columns: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.session = self.model.start()

    def read(self, text: Sequence[int], nodes: Sequence[tuple[int, int, int]], keep: int) -> Tensor:
        """One forward pass over what is new of `text` and over `nodes` (id, parent, token), parents first.

        Logits of the last `keep` tokens, (keep, vocab). The text may only be new before the first node is read.
        """
        unread = list(text[self.session.length :]) if not self.columns else []
        self.base = self.base if self.columns else len(text)
        tokens = torch.tensor([*unread, *(token for _, _, token in nodes)], device=self.model.device)
        view = self._view(len(unread), nodes) if nodes else None
        return self.session.forward(tokens, keep, view)

    def _view(self, unread: int, nodes: Sequence[tuple[int, int, int]]) -> View:
        length = self.session.length
        visible = torch.zeros(unread + len(nodes), length + unread + len(nodes), dtype=torch.bool)
        visible[:unread, : self.base] = torch.ones(unread, self.base, dtype=torch.bool).tril(self.base - unread)
        positions = list(range(length, length + unread))
        for row, (node, parent, _) in enumerate(nodes, start=unread):
            self.parents[node], self.columns[node] = parent, length + row
            lineage = self._lineage(node)
            visible[row, : self.base] = True
            visible[row, [self.columns[i] for i in lineage]] = True
            positions.append(self.base - 1 + len(lineage))
        return View(visible, torch.tensor(positions))

    def _lineage(self, node: int) -> list[int]:
        """The node and its ancestors, without the root."""
        found = []
        while node:
            found.append(node)
            node = self.parents[node]
        return found

    def commit(self, path: Sequence[int]) -> None:
        """The nodes of `path`, from depth 1 on, become part of the text; the rest of the tree is forgotten."""
        read = [self.columns[node] for node in path if node in self.columns]
        self.session.select([*range(min(self.base, self.session.length)), *read])
        self.parents.clear()
        self.columns.clear()

    def close(self) -> None:
        self.session.close()

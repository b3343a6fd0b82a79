"""Reading a text and then a tree that grows from its end, every node once, with one cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from hsd.models.base import LanguageModel, View


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

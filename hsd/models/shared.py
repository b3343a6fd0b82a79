"""One text read by several exits of a model, in groups of layers that keep what they computed for each other."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from hsd.models.base import Work
from hsd.models.buffer import Buffer
from hsd.models.groups import LayerGroups


class SharedText:
    """One text that all exits read, some further than others: a deeper exit never further than a shallower one."""

    def __init__(self, groups: LayerGroups) -> None:
        self.groups = groups
        self.close()

    def length(self, level: int) -> int:
        """Return how many tokens have been through the group of layers that ends at this exit."""
        return self._rows[level + 1].length

    def read(self, tokens: Tensor, level: int) -> Work:
        """Run `tokens` (n,) through every layer up to an exit, those already through some layers from there on."""
        begin = self.length(level)
        end, known = begin + len(tokens), self._rows[0].rows[begin : begin + len(tokens)]
        assert torch.equal(known, tokens[: len(known)]), "the exits below have read other tokens: crop them first"
        self._rows[0].add(tokens[len(known) :])
        work = Work()
        for group in range(level + 1):
            work += self._advance(group, end)
        return work

    def _advance(self, group: int, end: int) -> Work:
        """Run one group of layers on what the one below gave and it has not read, as far as position `end`."""
        below, states = self._rows[group : group + 2]
        rows = below.rows[states.length : end]
        if not len(rows):
            return Work()
        states.add(self.groups.read(group, rows, self._caches[group]))
        first, last = self.groups.bounds[group]
        return Work(last - first, (last - first) * len(rows))

    def states(self, level: int, keep: int) -> Tensor:
        """Return the states (keep, width) after an exit's last layer of the last `keep` tokens it has read."""
        end = self.length(level)
        assert 0 < keep <= end, "there is nothing to give: read tokens and keep at least one"
        return self._rows[level + 1].rows[end - keep : end]

    def crop(self, level: int, length: int) -> None:
        """Forget tokens from position `length` on, at this exit and all that are deeper."""
        for group in range(level, len(self._caches)):
            if self.length(group) > length:
                self._caches[group].crop(length)
                self._rows[group + 1].crop(length)
        if level == 0:
            self._rows[0].crop(length)

    def close(self) -> None:
        """Forget the text and free all that was computed."""
        self._caches: list[Any] = [*self.groups.caches()]
        self._rows = [Buffer() for _ in range(len(self._caches) + 1)]  # the tokens, then the states after each group

"""Rows that are added at the end of a tensor and forgotten from there, in memory that doubles when it is full."""

from __future__ import annotations

import torch
from torch import Tensor


class Buffer:
    """Rows along dimension `dim` of `room`, of which the first `length` are there.

    like: a tensor of the same shape without rows; where it is not known, the first rows that are added give it.
    """

    def __init__(self, like: Tensor | None = None, dim: int = 0) -> None:
        self.room, self.dim, self.length = torch.empty(0) if like is None else like, dim, 0

    @property
    def rows(self) -> Tensor:
        """Those that are there; a view: use it at once."""
        return self.room.narrow(self.dim, 0, self.length)

    def reserve(self, length: int, least: int = 64) -> Tensor:
        """Return the memory, with space for so many rows; `length` itself is set by whoever writes them."""
        have = self.room.shape[self.dim]
        if length > have:
            shape = [*self.room.shape]
            shape[self.dim] = max(least, length, 2 * have)
            old, self.room = self.rows, self.room.new_empty(shape)
            self.room.narrow(self.dim, 0, self.length).copy_(old)
        return self.room

    def add(self, rows: Tensor) -> None:
        """Write rows at the end."""
        if not self.room.numel():
            self.room = rows.narrow(self.dim, 0, 0)
        length = self.length + rows.shape[self.dim]
        self.reserve(length).narrow(self.dim, self.length, rows.shape[self.dim]).copy_(rows)
        self.length = length

    def crop(self, length: int) -> None:
        """Forget rows from number `length` on."""
        self.length = min(self.length, length)

    def free(self) -> None:
        """Forget all rows, and give back their memory."""
        self.room, self.length = self.room.narrow(self.dim, 0, 0).clone(), 0

    @torch.inference_mode()
    def select(self, columns: list[int]) -> None:
        """Keep only these rows, in this order."""
        moved = next((i for i, column in enumerate(columns) if i != column), len(columns))
        index = torch.tensor(columns[moved:], dtype=torch.int64, device=self.room.device)
        self.room.narrow(self.dim, moved, len(index)).copy_(self.room.index_select(self.dim, index))
        self.length = len(columns)

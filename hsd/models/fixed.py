"""A key/value cache of fixed size, whose length is a number on the device: what CUDA graphs need.

Nothing here looks at a value on the host, so a forward pass can be captured once and replayed for ever.
"""

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, StaticLayer

from hsd.models.causal import CausalModel


class FixedLayer(StaticLayer):
    """Keys and values of one layer, (1, heads, capacity, width). `length` () int64 is shared by all layers."""

    def __init__(self, length: Tensor, capacity: int) -> None:
        super().__init__(capacity)
        self._length = length

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Write from position `length` on, and give all of the cache: what is not valid is left to the mask."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        assert self.keys is not None
        assert self.values is not None
        where = self._length + torch.arange(key_states.shape[-2], device=key_states.device)
        self.keys.index_copy_(2, where, key_states)
        self.values.index_copy_(2, where, value_states)
        return self.keys, self.values

    def get_seq_length(self) -> int:
        return 0  # positions and masks are given with every call; nobody has to ask


class FixedSession:
    """One text of at most `capacity` tokens, read by a `CausalModel` on one device."""

    def __init__(self, model: CausalModel, capacity: int) -> None:
        self._model, self.capacity = model, capacity
        self.length = torch.zeros((), dtype=torch.int64, device=model.input_device)
        layers: list[Any] = [FixedLayer(self.length, capacity) for _ in range(model.layers)]
        self._cache: Cache | None = Cache(layers=layers)
        self._columns = torch.arange(capacity, device=model.input_device)

    def read(self, tokens: Tensor, keep: int) -> Tensor:
        """Read `tokens` (n,) after what is there; logits after the last `keep` of them, (keep, vocab)."""
        positions = self.length + torch.arange(tokens.shape[0], device=tokens.device)
        back = positions[:, None] - self._columns
        places = {"position_ids": positions[None], "attention_mask": self._model.mask(back >= 0, lambda: back)}
        known = tokens.clamp_max(self._model.vocab_size - 1)
        logits, _ = self._model.read(known, self._cache, keep, **places)
        self.length += tokens.shape[0]
        return logits

    def close(self) -> None:
        """Free what the session holds."""
        self._cache = None

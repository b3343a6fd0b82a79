"""Heads for early exits of a model whose own layers are not trained: a few parameters in a file of their own.

`exit-N.safetensors` is for the state x after N layers, where `norm` is the exit's own:

    y = norm(x);   logits = (y + silu(y · intoᵀ) · outᵀ) · rowsᵀ

with the rows of the model's embedding for the tokens that the exit can draft: d2t holds for each of them, in order, how
far off its id is. `examples/reproduce/smollm2/train_exit.py` writes such files.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from hsd.models.packed import product_of, spread


class ExitHead:
    """Predicts the next token from a target's states after some layers. drafted: how many tokens it can predict."""

    def __init__(self, weights: dict[str, Tensor], target: Any) -> None:
        rows, self._width = target.embedding, target.vocab_size
        self._vocab = drafted(weights).to(rows.device)
        self._norm, self._eps = weights["norm"].to(rows), target.model.config.get_text_config().rms_norm_eps
        maps = (weights["into"], weights["out"], rows[self._vocab])
        self._into, self._out, self._head = (product_of(weight.to(rows), pack=target.packed) for weight in maps)
        self.drafted = len(self._vocab)
        self.parameters = sum(weights[name].numel() for name in ("norm", "into", "out"))  # the rows are the target's

    def __call__(self, states: Tensor) -> Tensor:
        """(n, hidden) to (n, vocab): tokens that cannot be drafted get -inf."""
        y = F.rms_norm(states.to(self._norm), self._norm.shape, self._norm, self._eps)
        return spread(self._head(y + self._out(F.silu(self._into(y)))), self._vocab, self._width)


def drafted(weights: dict[str, Tensor]) -> Tensor:
    """Return the target's ids of the tokens that can be drafted, in order."""
    return weights["d2t"].long() + torch.arange(len(weights["d2t"]))

"""What was trained for an early exit of a model whose layers stay as they are: a few numbers in a file of its own.

`exit-N.safetensors` is for the state x after N layers, where `norm` is the exit's own:

    y = norm(x);   logits = (y + silu(y · intoᵀ) · outᵀ) · rowsᵀ

with the rows of the model's embedding for the tokens that the exit can draft: d2t holds for each of them, in order, how
far off its id is. `examples/smollm2/train_exit.py` writes such files.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from hsd.errors import HsdError
from hsd.models.hub import first_line
from hsd.models.packed import Product, packed

NAMED = re.compile(r"exit-(\d+)\.safetensors")
UNREADABLE = (OSError, SafetensorError, ValueError, RuntimeError)


class ExitHead:
    """What tells the next token from the states after some layers of a target. drafted: how many tokens it can tell."""

    def __init__(self, weights: dict[str, Tensor], target: Any) -> None:
        rows, self._width = target.embedding, target.vocab_size

        def product(weight: Tensor) -> Product:
            weight = weight.to(rows)
            return packed(weight) if target.packed else lambda x: F.linear(x, weight)

        self._vocab = drafted(weights).to(rows.device)
        self._norm, self._eps = weights["norm"].to(rows), target.model.config.get_text_config().rms_norm_eps
        self._into, self._out, self._head = map(product, (weights["into"], weights["out"], rows[self._vocab]))
        self.drafted = len(self._vocab)
        self.parameters = sum(weights[name].numel() for name in ("norm", "into", "out"))  # the rows are the target's

    def __call__(self, states: Tensor) -> Tensor:
        """(n, hidden) to (n, vocab): tokens that cannot be drafted get -inf."""
        y = F.rms_norm(states.to(self._norm), self._norm.shape, self._norm, self._eps)
        known = self._head(y + self._out(F.silu(self._into(y))))
        logits = known.new_full((len(states), self._width), -torch.inf)
        logits[:, self._vocab] = known
        return logits


def load_exit_heads(folder: Path | None, target: Any) -> dict[int, ExitHead]:
    """Those in a folder by the number of layers before them, for this target. Raises HsdError for a bad file."""
    files = sorted(folder.glob("exit-*.safetensors")) if folder else []
    return {
        int(found[1]): _load(file, int(found[1]), target) for file in files if (found := NAMED.fullmatch(file.name))
    }


def _load(file: Path, depth: int, target: Any) -> ExitHead:
    config = target.model.config.get_text_config()
    if not 1 <= depth < config.num_hidden_layers:
        raise HsdError(f"{file.name} is for another target: {target.name} has {config.num_hidden_layers} layers")
    try:
        weights = load_file(file)
    except UNREADABLE as error:
        raise HsdError(f"{file.name} cannot be read: {first_line(error)}") from None
    rank = len(weights["into"]) if "into" in weights else 0
    hidden = config.hidden_size
    for name, shape in {"into": (rank, hidden), "out": (hidden, rank), "norm": (hidden,)}.items():
        if name not in weights or tuple(weights[name].shape) != shape:
            found = tuple(weights[name].shape) if name in weights else "missing"
            raise HsdError(f"{file.name} is for another target: {name} is {found}, where {shape} is needed")
    known = drafted(weights) if "d2t" in weights else torch.empty(0)
    if not len(known) or known.min() < 0 or known.max() >= target.vocab_size or len(known.unique()) < len(known):
        raise HsdError(f"{file.name} is for another target: d2t leads out of a vocabulary of {target.vocab_size:,}")
    return ExitHead(weights, target)


def drafted(weights: dict[str, Tensor]) -> Tensor:
    """The target's ids of the tokens that can be drafted, in order."""
    return weights["d2t"].long() + torch.arange(len(weights["d2t"]))

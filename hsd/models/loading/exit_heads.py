"""Exit heads in files: `exit-N.safetensors` beside a target, as `hsd.models.exit_heads` describes them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from hsd.errors import HsdError, first_line
from hsd.models.exit_heads import ExitHead, drafted

NAMED = re.compile(r"exit-(\d+)\.safetensors")
UNREADABLE = (OSError, SafetensorError, ValueError, RuntimeError)


def exits_in(folder: Path | None) -> tuple[int, ...]:
    """Return how many layers are before each exit that a folder has a head for, shallowest first."""
    found = (NAMED.fullmatch(file.name) for file in folder.glob("exit-*.safetensors")) if folder else ()
    return tuple(sorted(int(match[1]) for match in found if match))


def load_exit_heads(folder: Path | None, target: Any) -> dict[int, ExitHead]:
    """Return a target's exit heads in a folder, {layers before the exit: head}. Raises HsdError for a bad file."""
    return {depth: _load(folder / f"exit-{depth}.safetensors", depth, target) for depth in exits_in(folder) if folder}


def _load(file: Path, depth: int, target: Any) -> ExitHead:
    config = target.model.config.get_text_config()
    if not 1 <= depth < config.num_hidden_layers:
        raise HsdError(f"{file.name} is for another target: {target.name} has {config.num_hidden_layers} layers")
    try:
        weights = load_file(file)
    except UNREADABLE as error:
        raise HsdError(f"{file.name} cannot be read: {first_line(error)}") from None
    if unknown := sorted({*weights} - {"into", "out", "norm", "d2t"}):
        raise HsdError(f"{file.name} has the tensor {unknown[0]}, which is no part of an exit head")
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

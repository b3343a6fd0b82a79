"""A training run's state on disk: written in one move, read back as a run or as a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import LlamaForCausalLM

from hsd.errors import HsdError
from hsd.train.network import SHAPES, Shape, build_model
from hsd.train.tokenizer import load_tokenizer


def path_of(out: Path, name: str) -> Path:
    """The checkpoint of model ``name`` in the training folder ``out``."""
    return out / name / "checkpoint.pt"


def write(path: Path, state: dict[str, Any]) -> None:
    """Save ``state`` so that ``path`` always holds a whole checkpoint, the old one or the new one."""
    part = path.with_suffix(".part")
    torch.save(state, part)
    part.replace(path)


def read(path: Path) -> dict[str, Any]:
    """What ``write`` saved. Raises HsdError if there is nothing."""
    if not path.exists():
        name, out = path.parent.name, path.parent.parent
        raise HsdError(f"no checkpoint of {name} in {out}: run `python -m hsd train {name} --out {out}` first")
    return torch.load(path, weights_only=True)


def model_from(out: Path, name: str, shape: Shape | None = None) -> LlamaForCausalLM:
    """The model ``name`` as last saved, float32, ready to predict."""
    state = read(path_of(out, name))
    tokenizer = load_tokenizer(out / "tokenizer")
    model = build_model(shape or SHAPES[name], tokenizer.eos_token_id, seed=0, vocabulary=len(tokenizer))
    model.load_state_dict(state["model"])
    return model.eval()

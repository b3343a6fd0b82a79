"""The portable engine's models from files: a GGUF file as it was published, and the head beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file

from hsd.errors import HsdError, first_line
from hsd.models.small.engine import KINDS
from hsd.models.small.gguf import Gguf
from hsd.models.small.head import SmallHead
from hsd.models.small.model import Packed, Shape, SmallModel

NUMBERS = {
    "layers": "block_count", "hidden": "embedding_length", "inner": "feed_forward_length",
    "heads": "attention.head_count", "groups": "attention.head_count_kv", "context": "context_length",
    "base": "rope.freq_base", "eps": "attention.layer_norm_rms_epsilon",
}  # fmt: skip


def load_small(file: Gguf, name: str, revision: str | None, taps: tuple[int, ...] = ()) -> SmallModel:
    """Return the model of a GGUF file. taps: the layers after which a head reads. Raises HsdError if it cannot."""
    try:
        return SmallModel(_shape(file), file.tensors, name, revision, taps)
    except KeyError as error:
        raise HsdError(f"the GGUF file lacks {error.args[0]}: the portable engine reads Llama's files") from None


def load_small_head(folder: Path, target: SmallModel, name: str, revision: str | None) -> SmallHead:
    """Return the head in a folder, for this target. Raises HsdError, one line, if it cannot be read or used."""
    try:
        weights = load_file(folder / "model.safetensors")
        return SmallHead(config_of(folder), weights, target, name, revision)
    except (OSError, SafetensorError, LookupError, TypeError, ValueError, RuntimeError) as error:
        if isinstance(error, HsdError):
            raise
        reason = f"{type(error).__name__}: {first_line(error)}"
    raise HsdError(f"the head in {folder.name!r} cannot be read: {reason}")


def config_of(folder: Path) -> dict[str, Any]:
    """Return a head's configuration. Raises OSError, ValueError or TypeError."""
    return dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))


def _shape(file: Gguf) -> Shape:
    """Return the model's sizes, on which the file's fields and tensors must agree. Raises HsdError, or KeyError."""
    fields, begins = file.fields, "llama."
    if fields.get("general.architecture") != "llama":
        found = str(fields.get("general.architecture"))[:40]
        raise HsdError(f"the file holds a model of the kind {found!r}: the portable engine reads Llama's")
    told = {name: fields[begins + key] for name, key in NUMBERS.items()}
    hidden, heads = told["hidden"], told["heads"]
    width = hidden // heads if type(hidden) is type(heads) is int and heads else 0
    shape = Shape(**told, width=width, vocab=file.tensors["token_embd.weight"].rows).check()
    same: dict[str, object] = {
        "rope.dimension_count": width,
        "attention.key_length": width,
        "attention.value_length": width,
    }
    same |= {"vocab_size": shape.vocab, "rope.scaling.type": "none", "expert_count": 0, "attention.sliding_window": 0}
    for key, value in same.items():
        found = fields.get(begins + key, value)
        if type(found) is not type(value) or found != value:
            raise HsdError(f"{begins}{key} is {str(found)[:40]}, and here it can be {value}: choose another file")
    _check_tensors(file.tensors, shape)
    return shape


def _check_tensors(tensors: dict[str, Packed], shape: Shape) -> None:
    """Raise HsdError unless there are the tensors of this shape and no others; KeyError for one that lacks."""
    hidden, kept = shape.hidden, shape.groups * shape.width
    layer = {"attn_q": (hidden, hidden), "attn_k": (kept, hidden), "attn_v": (kept, hidden), "ffn_norm": (1, hidden)}
    layer |= {"attn_output": (hidden, hidden), "ffn_gate": (shape.inner, hidden), "ffn_up": (shape.inner, hidden)}
    layer |= {"ffn_down": (hidden, shape.inner), "attn_norm": (1, hidden)}
    wanted = {f"blk.{i}.{name}.weight": size for i in range(shape.layers) for name, size in layer.items()}
    wanted |= {"token_embd.weight": (shape.vocab, hidden), "output_norm.weight": (1, hidden)}
    for name in {**wanted, **tensors}:
        if name not in wanted:
            raise HsdError(f"the portable engine does not know {name[:60]}: choose another engine for this model")
        held, size = tensors[name], wanted[name]
        kinds = {0} if size[0] == 1 else {0, 1, 8} if name == "token_embd.weight" else {*KINDS}
        if (held.rows, held.columns) != size or held.kind not in kinds:
            found = f"{held.rows:,} by {held.columns:,} {KINDS[held.kind]}"
            raise HsdError(f"{name} is {found}, and the model has {size[0]:,} by {size[1]:,}: fetch it again")
        if not held.finite():
            raise HsdError(f"{name} has numbers that are not finite: fetch it again")

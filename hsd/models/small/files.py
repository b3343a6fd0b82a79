"""The portable engine's models from files: a GGUF file as it was published, and the head beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file

from hsd.errors import HsdError, first_line
from hsd.models.small.gguf import Gguf
from hsd.models.small.head import SmallHead
from hsd.models.small.model import Shape, SmallModel


def load_small(file: Gguf, name: str, revision: str | None, taps: tuple[int, ...] = ()) -> SmallModel:
    """The model of a GGUF file. taps: after how many layers a head reads. Raises HsdError, one line, if it cannot."""
    try:
        return SmallModel(_shape(file), file.tensors, name, revision, taps)
    except KeyError as error:
        raise HsdError(f"the GGUF file lacks {error.args[0]}: the portable engine reads Llama's files") from None


def load_small_head(folder: Path, target: SmallModel, name: str, revision: str | None) -> SmallHead:
    """The head in a folder, for this target. Raises HsdError, one line, if it cannot be read or used."""
    try:
        weights = load_file(folder / "model.safetensors")
        return SmallHead(config_of(folder), weights, target, name, revision)
    except HsdError:
        raise
    except (OSError, SafetensorError, LookupError, TypeError, ValueError, RuntimeError) as error:
        reason = f"{type(error).__name__}: {first_line(error)}"
    raise HsdError(f"the head in {folder.name!r} cannot be read: {reason}")


def config_of(folder: Path) -> dict[str, Any]:
    """A head's configuration. Raises OSError or ValueError."""
    found: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return found


def _shape(file: Gguf) -> Shape:
    fields, begins = file.fields, "llama."
    if fields.get("general.architecture") != "llama":
        raise HsdError(
            f"the file holds a model of the kind {fields.get('general.architecture')!r}: "
            "the portable engine reads Llama's"
        )
    heads, hidden = fields[begins + "attention.head_count"], fields[begins + "embedding_length"]
    return Shape(
        layers=fields[begins + "block_count"],
        hidden=hidden,
        inner=fields[begins + "feed_forward_length"],
        heads=heads,
        groups=fields[begins + "attention.head_count_kv"],
        width=hidden // heads,
        vocab=file.tensors["token_embd.weight"].rows,
        context=fields[begins + "context_length"],
        base=fields[begins + "rope.freq_base"],
        eps=fields[begins + "attention.layer_norm_rms_epsilon"],
    )

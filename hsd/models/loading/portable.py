"""The fetched pair by the portable engine: the published file as it is, the project's head and exits, its tokenizer.

`transformers` is not needed, so that it is ready in two seconds, most of which torch takes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import load_file

from hsd.errors import HsdError, first_line
from hsd.models.base import Pair
from hsd.models.head import in_full
from hsd.models.loading.text import TokenizerCodec
from hsd.models.loading.tokenizer import FileTokenizer
from hsd.models.small.engine import KINDS, SIDE
from hsd.models.small.exits import SmallExit, SmallLayers
from hsd.models.small.gguf import Gguf, read_gguf
from hsd.models.small.head import SmallHead
from hsd.models.small.model import Packed, Shape, SmallModel

NUMBERS = {
    "layers": "block_count", "hidden": "embedding_length", "inner": "feed_forward_length",
    "heads": "attention.head_count", "groups": "attention.head_count_kv", "context": "context_length",
    "base": "rope.freq_base", "eps": "attention.layer_norm_rms_epsilon",
}  # fmt: skip
NAMED = re.compile(r"exit-(\d+)\.safetensors")
UNREADABLE = (OSError, SafetensorError, ValueError, RuntimeError)


def small_pair(file: Path, draft: Path, chat: bool | None, called: Mapping[str, str]) -> Pair:
    """Return a pair from a GGUF file and the folder of its head, beside which exits may lie, with the file's tokenizer.

    chat: prompts into the file's chat template; by default if it has one. called: "name", "note" and "revision" of the
    pair, "target" and "draft" as its models are called. Raises HsdError, one line, for files that are not that.
    """
    try:
        taps = tuple(_config_of(draft)["target_layers"])
    except (OSError, ValueError, KeyError, TypeError):
        raise HsdError(f"{draft.name!r} is no head that this project trained: choose another one") from None
    found = read_gguf(file)
    target = load_small(found, called["target"], called["revision"], taps)
    target.parts = SmallLayers(target, load_exits(draft.parent, target, found.tensors["token_embd.weight"]))
    tokenizer = FileTokenizer(found.fields, target.vocab_size)
    head = load_small_head(draft, target, called["draft"], None)
    ends = frozenset(i for i in [tokenizer.eos_token_id] if i is not None)
    codec = TokenizerCodec(tokenizer, ends, bool(tokenizer.chat_template) if chat is None else chat)
    return Pair(called["name"], target, head, codec, called["note"])


def load_small(file: Gguf, name: str, revision: str | None, taps: tuple[int, ...] = ()) -> SmallModel:
    """Return the model of a GGUF file. taps: the layers after which a head reads. Raises HsdError if it cannot."""
    try:
        return SmallModel(_shape(file), file.tensors, name, revision, taps)
    except KeyError as error:
        raise HsdError(f"the GGUF file lacks {error.args[0]}: the portable engine reads Llama's files") from None


def load_small_head(folder: Path, target: SmallModel, name: str, revision: str | None) -> SmallHead:
    """Return the head in a folder, for this target. Raises HsdError, one line, if it cannot be read or used."""
    try:
        weights = in_full(load_file(folder / "model.safetensors"))
        return SmallHead(_config_of(folder), weights, target, name, revision)
    except (OSError, SafetensorError, LookupError, TypeError, ValueError, RuntimeError) as error:
        if isinstance(error, HsdError):
            raise
        reason = f"{type(error).__name__}: {first_line(error)}"
    raise HsdError(f"the head in {folder.name!r} cannot be read: {reason}")


def _config_of(folder: Path) -> dict[str, Any]:
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


def load_exits(folder: Path, target: SmallModel, rows: Packed) -> dict[int, SmallExit]:
    """Return the exits in a folder by the layers before them. rows: the target's embedding. Raises HsdError.

    `exit-N.safetensors` is for the state x after N layers, where `norm` is the exit's own:

        y = norm(x);   logits = (y + silu(y · intoᵀ) · outᵀ) · rowsᵀ

    with the rows of the tokens that the exit can draft: d2t holds for each of them, in order, how far off its id is.
    `examples/reproduce/smollm2/train_exit.py` writes such files.
    """
    found = (NAMED.fullmatch(file.name) for file in folder.glob("exit-*.safetensors"))
    depths = sorted(int(match[1]) for match in found if match)
    return {depth: _load_exit(folder / f"exit-{depth}.safetensors", depth, target, rows) for depth in depths}


def _load_exit(file: Path, depth: int, target: SmallModel, rows: Packed) -> SmallExit:
    hidden, engine = target.shape.hidden, target.engine
    if not 1 <= depth < target.layers:
        raise HsdError(f"{file.name} is for another target: {target.name} has {target.layers} layers")
    try:
        weights = load_file(file)
    except UNREADABLE as error:
        raise HsdError(f"{file.name} cannot be read: {first_line(error)}") from None
    if unknown := sorted({*weights} - {"into", "out", "norm", "d2t"}):
        raise HsdError(f"{file.name} has the tensor {unknown[0]}, which is no part of an exit head")
    rank = len(weights["into"]) if "into" in weights else 0
    for name, shape in {"into": (rank, hidden), "out": (hidden, rank), "norm": (hidden,)}.items():
        if name not in weights or tuple(weights[name].shape) != shape:
            held = tuple(weights[name].shape) if name in weights else "missing"
            raise HsdError(f"{file.name} is for another target: {name} is {held}, where {shape} is needed")
        if not weights[name].isfinite().all():
            raise HsdError(f"{file.name} has numbers that are not finite: make it again")
    offsets = weights.get("d2t", torch.empty(0)).long()
    ids = offsets + torch.arange(len(offsets))
    if not len(ids) or ids.min() < 0 or ids.max() >= target.vocab_size or len(ids.unique()) < len(ids):
        raise HsdError(f"{file.name} is for another target: d2t leads out of a vocabulary of {target.vocab_size:,}")
    if len(ids) % SIDE:
        raise HsdError(f"{file.name} drafts {len(ids):,} tokens: choose a multiple of {SIDE}")
    size, more = len(rows.data) // rows.rows, -rank % SIDE  # further columns of zeros change nothing
    data = b"".join(bytes(rows.data[size * i : size * (i + 1)]) for i in ids.tolist())
    maps = F.pad(weights["into"].float(), (0, 0, 0, more)), F.pad(weights["out"].float(), (0, more))
    places = [engine.matrix(rows.kind, len(ids), hidden, memoryview(data))]
    for weight in maps:
        (outputs, inputs), numbers = weight.shape, memoryview(weight.contiguous().numpy().tobytes())
        places.append(engine.matrix(0, outputs, inputs, numbers))
    place = engine.made("leave", target.place, *places, engine.vector(weights["norm"]))
    return SmallExit(place, ids, sum(weights[name].numel() for name in ("norm", "into", "out")))

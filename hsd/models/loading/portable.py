"""Pairs by the portable engine: fetched models and the embedded toys.

A fetched model comes with the project's own head and exits.
"""

import json
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor

from hsd.errors import HsdError
from hsd.models.base import Pair
from hsd.models.loading import fetch
from hsd.models.loading.registry import EMBEDDED, FETCHED
from hsd.models.loading.tensors import (
    ANOTHER,
    Shapes,
    check_tensors,
    drafted_ids,
    head_shapes,
    in_full,
    reading,
)
from hsd.models.loading.text import codec_of
from hsd.models.loading.tokenizer import BEGINS, FileTokenizer, known_tokens
from hsd.models.small.engine import BF16, F32, KINDS, SIDE
from hsd.models.small.exits import SmallExit, SmallLayers
from hsd.models.small.gguf import Gguf, read_gguf
from hsd.models.small.head import SmallHead
from hsd.models.small.model import (
    BIASES,
    FACTORS,
    HEAD_NORMS,
    OUTPUT,
    TURNED,
    ModelShape,
    Packed,
    SmallModel,
)
from hsd.paths import ASSETS

FIELDS = {
    "layers": "block_count",
    "hidden": "embedding_length",
    "inner": "feed_forward_length",
    "context": "context_length",
    "heads": "attention.head_count",
    "groups": "attention.head_count_kv",
    "eps": "attention.layer_norm_rms_epsilon",
}
OPTIONAL = (OUTPUT, FACTORS)
FAMILIES = ("llama", "qwen2", "qwen3")
# parts of a tensor's name, by `transformers` and by GGUF
NAMES = {
    "model.layers": "blk",
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "_proj": "",
    "post_attention_layernorm": "ffn_norm",
    "input_layernorm": "attn_norm",
    "self_attn.o": "attn_output",
    "self_attn.": "attn_",
    "mlp.": "ffn_",
}


def small_pair(
    file: Path,
    draft: Path,
    chat: bool | None,
    name: str,
    note: str = "",
    revision: str | None = None,
) -> Pair:
    """Return a pair from a GGUF file, with its tokenizer, and the folder of its head.

    Exits may lie beside that folder.

    chat: prompts into the file's chat template; by default if it has one. The target is called as
    its file, of this revision. Raises HsdError, one line, for files that are not that.
    """
    with reading("a head", draft.name):
        taps = tuple(_config_of(draft)["target_layers"])
    found = read_gguf(file)
    target = load_small(found, file.stem, revision, taps)
    target.parts = SmallLayers(
        target, load_exits(draft.parent, target, found.tensors["token_embd.weight"])
    )
    tokenizer = FileTokenizer(found.fields, target.vocab_size)
    head = load_small_head(draft, target, f"{name} draft", None)
    chat = bool(tokenizer.chat_template) if chat is None else chat
    return Pair(name, target, head, codec_of(tokenizer, chat), note)


def named_pair(name: str, file: Path | None, chat: bool | None) -> Pair:
    """Return a fetched pair from its file, or an embedded one from its folders.

    See `small_pair` for errors.
    """
    if file is None:
        # of the folders, what each is in a pair
        roles = {"draft": "smallest", "middle": "draft", "target": "target"}
        smallest, draft, target = (
            load_folder(ASSETS / name / part, f"{name} {role}") for part, role in roles.items()
        )
        codec = codec_of(FileTokenizer.of(ASSETS / name / "target"), bool(chat))
        return Pair(name, target, draft, codec, EMBEDDED[name], (smallest,))
    note = f"{FETCHED[name]}; its draft knows the most used tokens only"
    return small_pair(file, ASSETS / name / "draft", chat, name, note, fetch.MODELS[name].revision)


def load_folder(folder: Path, name: str) -> SmallModel:
    """Return the model in a folder of `transformers`.

    It is a Llama, its output tied to its embedding, in bfloat16.

    Matrices get rows and columns of zeros up to a multiple of 32, which change nothing. Raises
    HsdError, one line.
    """
    with reading("a Llama", folder.name):
        config = _config_of(folder)
        weights = load_file(folder / "model.safetensors")
        shape = ModelShape(
            layers=config["num_hidden_layers"],
            hidden=config["hidden_size"],
            heads=config["num_attention_heads"],
            inner=-(-config["intermediate_size"] // SIDE) * SIDE,
            groups=config["num_key_value_heads"],
            width=config["head_dim"],
            vocab=config["vocab_size"],
            context=config["max_position_embeddings"],
            base=config["rope_parameters"]["rope_theta"],
            eps=config["rms_norm_eps"],
        ).check()
        named = {
            reduce(lambda text, part: text.replace(part, NAMES[part]), NAMES, name): name
            for name in weights
        }
        tensors = {
            ours: _packed(weights[theirs], ours, shape.width) for ours, theirs in named.items()
        }
        check_tensors(tensors, _tensor_shapes(shape), OPTIONAL)
    model = SmallModel(shape, tensors, name, None)
    model.parameters = sum(weight.numel() for weight in weights.values())
    model.parts = SmallLayers(model, {}, config.get("early_exits", ()))
    return model


def _packed(weight: Tensor, name: str, width: int) -> Packed:
    """Return a vector in float32, a matrix in bfloat16.

    Rows that are rotated together lie side by side, as in GGUF.
    """
    if weight.dim() == 1:
        return Packed(0, 1, len(weight), memoryview(weight.float().numpy().tobytes()))
    rows, columns = weight.shape
    if name.removesuffix(".weight").endswith(TURNED):
        weight = weight.view(-1, 2, width // 2, columns).transpose(1, 2).reshape(rows, columns)
    padded = F.pad(weight.bfloat16(), (0, -columns % SIDE, 0, -rows % SIDE))
    return Packed(
        BF16, len(padded), padded.shape[1], memoryview(padded.view(torch.uint8).numpy().tobytes())
    )


def load_small(
    file: Gguf,
    name: str,
    revision: str | None,
    taps: tuple[int, ...] = (),
    drafted: int = 0,
) -> SmallModel:
    """Return the model of a GGUF file, on whose sizes its fields and tensors must agree.

    taps: the layers after which a head reads. drafted: how many of the first tokens have logits;
    0: all. Raises HsdError for other files.
    """
    with reading("a model", name):
        fields = file.fields
        family = str(fields.get("general.architecture"))[:40]
        if family not in FAMILIES:
            raise HsdError(
                f"it is of the kind {family!r}, and the portable engine reads "
                f"{', '.join(FAMILIES)}: choose another file"
            )
        sizes = {name: fields[f"{family}.{key}"] for name, key in FIELDS.items()}
        hidden = sizes["hidden"]
        heads = sizes["heads"]
        even = hidden // heads if type(hidden) is type(heads) is int and heads else 0
        width = fields.get(f"{family}.attention.key_length", even)
        shape = ModelShape(
            **sizes,
            width=width,
            vocab=file.tensors["token_embd.weight"].rows,
            base=fields.get(f"{family}.rope.freq_base", 10_000.0),
            family=family,
        ).check()
        _refuse_others(fields, shape)
        check_tensors(file.tensors, _tensor_shapes(shape), OPTIONAL)
        for part, tensor in file.tensors.items():
            if tensor.rows == 1 and tensor.kind != F32:
                raise HsdError(f"{part} is stored as {KINDS[tensor.kind]}: choose another file")
        known = known_tokens(fields) or shape.vocab
        listed = len(fields.get(f"{BEGINS}ggml.tokens", [])) or shape.vocab
        if listed != shape.vocab:
            raise HsdError(
                f"its tokenizer lists {listed:,} tokens, and its table has {shape.vocab:,} rows: "
                "fetch it again, or choose another file"
            )
        model = SmallModel(shape, file.tensors, name, revision, taps, known, drafted)
        model.file = file.path
        return model


def _refuse_others(fields: dict[str, Any], shape: ModelShape) -> None:
    """Raise HsdError for a file whose fields say that its model computes something else."""
    own = f"{shape.family}."
    widths = ("rope.dimension_count", "attention.key_length", "attention.value_length")
    needed: dict[str, object] = {
        f"{own}vocab_size": shape.vocab,
        **{own + key: shape.width for key in widths},
        f"{own}rope.scaling.type": "none",
        f"{own}expert_count": 0,
        f"{own}attention.sliding_window": 0,
        "split.count": 1,
    }
    for key, value in needed.items():
        given = fields.get(key, value)
        if key == "split.count" and given == 0:
            continue
        if type(given) is not type(value) or given != value:
            raise HsdError(
                f"{key} is {str(given)[:40]}, and here it can be {value}: choose another file"
            )


def load_small_head(folder: Path, target: SmallModel, name: str, revision: str | None) -> SmallHead:
    """Return the head in a folder, for this target.

    Raises HsdError, one line, if it cannot be read or used.
    """
    with reading("a head", folder.name):
        config = _config_of(folder)
        weights = in_full(load_file(folder / "model.safetensors"))
        if (
            tuple(config["target_layers"]) != target.tapped
            or config["hidden_size"] != target.shape.hidden
        ):
            raise HsdError(f"it is not for {target.name}: {ANOTHER}")
        drafted = len(drafted_ids(weights["d2t"], target.vocab_size))
        shape = replace(
            target.shape,
            layers=1,
            inner=config["intermediate_size"],
            vocab=drafted,
            heads=config["num_attention_heads"],
            groups=config["num_key_value_heads"],
            base=config["rope_theta"],
            eps=config["rms_norm_eps"],
            width=config.get("head_dim", target.shape.width),
        ).check()
        sizes = shape.hidden, shape.inner, shape.heads, shape.groups, shape.width
        check_tensors(
            weights, head_shapes(*sizes, len(target.tapped), drafted) | {"d2t": (drafted,)}
        )
        return SmallHead(config, shape, weights, target, name, revision)


def _config_of(folder: Path) -> dict[str, Any]:
    """Return the configuration in a folder. Raises OSError, ValueError or TypeError."""
    return dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))


def _tensor_shapes(shape: ModelShape) -> Shapes:
    """Return the shapes of a model's tensors by their GGUF names; a vector has one row."""
    hidden = shape.hidden
    kept = shape.groups * shape.width
    layer = {
        "attn_q": (shape.queries, hidden),
        "attn_k": (kept, hidden),
        "attn_v": (kept, hidden),
        "ffn_norm": (1, hidden),
        "attn_output": (hidden, shape.queries),
        "ffn_gate": (shape.inner, hidden),
        "ffn_up": (shape.inner, hidden),
        "ffn_down": (hidden, shape.inner),
        "attn_norm": (1, hidden),
    }
    parts = {f"{name}.weight": size for name, size in layer.items()}
    factors = {FACTORS: (1, shape.width // 2)} if shape.family == "llama" else {}
    if shape.family == "qwen2":
        sizes = (shape.queries, kept, kept)
        parts |= {name: (1, size) for name, size in zip(BIASES, sizes, strict=True)}
    if shape.family == "qwen3":
        parts |= dict.fromkeys(HEAD_NORMS, (1, shape.width))
    return {
        "token_embd.weight": (shape.vocab, hidden),
        "output_norm.weight": (1, hidden),
        OUTPUT: (shape.vocab, hidden),
        **factors,
        **{f"blk.{i}.{name}": size for i in range(shape.layers) for name, size in parts.items()},
    }


def load_exits(folder: Path, target: SmallModel, rows: Packed) -> dict[int, SmallExit]:
    """Return the exits in a folder by the layers before them.

    rows: the target's embedding. Raises HsdError.

    `exit-N.safetensors` is for the state x after N layers, where `norm` is the exit's own:

        y = norm(x);   logits = (y + silu(y · intoᵀ) · outᵀ) · rowsᵀ

    with the rows of the tokens that the exit can draft: d2t holds for each of them, in order, how
    far off its id is. `examples/reproduce/smollm2/train_exit.py` writes such files.
    """
    exits = {}
    for file in folder.glob("exit-[0-9]*.safetensors"):
        with reading(f"an exit of {target.name}", file.name):
            depth = int(file.stem.removeprefix("exit-"))
            exits[depth] = _exit(load_file(file), depth, target, rows)
    return exits


def _exit(weights: dict[str, Tensor], depth: int, target: SmallModel, rows: Packed) -> SmallExit:
    hidden = target.shape.hidden
    engine = target.engine
    rank = len(weights.get("into", ()))
    drafted = len(weights.get("d2t", ()))
    shapes = {"into": (rank, hidden), "out": (hidden, rank), "norm": (hidden,), "d2t": (drafted,)}
    check_tensors(weights, shapes)
    ids = drafted_ids(weights["d2t"], target.vocab_size)
    if drafted % SIDE:
        raise HsdError(f"it drafts {drafted:,} tokens: train one for a multiple of {SIDE}")
    if not 1 <= depth < target.layers:
        raise HsdError(f"{target.name} has {target.layers} layers: {ANOTHER}")
    known = np.frombuffer(rows.data, np.uint8).reshape(rows.rows, -1)[ids.numpy()]
    out = engine.matrix(rows.kind, drafted, hidden, known.data.cast("B"))
    more = -rank % SIDE  # further columns of zeros change nothing
    maps = F.pad(weights["into"].float(), (0, 0, 0, more)), F.pad(weights["out"].float(), (0, more))
    place = engine.made(
        "leave", target.place, out, *map(engine.floats, maps), engine.vector(weights["norm"])
    )
    return SmallExit(place, ids, sum(weights[name].numel() for name in ("norm", "into", "out")))

"""Heads in files: the layout of published EAGLE-3 heads, and this project's own.

This project's own layout says more.

What published files leave out is settled as those who train and serve such heads do:

- A head is known by its configuration: an architecture with Eagle3 in its name, or a
  `draft_vocab_size`.
- Weights are in `model.safetensors` or `pytorch_model.bin`, whole or in parts that an index lists.
  Names may begin with `model.`, and the layer is called `midlayer` or `layers.0`. How many layers
  there are is told by the names alone: `num_hidden_layers` is the target's in some files.
- Taps, where no list is given: the target's states after 2, L // 2 and L - 3 of its L layers, which
  is what layers 2, L // 2 and L - 3 read. `eagle_aux_hidden_state_layer_ids` that begins with 1
  names the layers whose output is read, so one is added to each; one that begins otherwise counts
  as we do. `target_layers`, our own key, always counts as we do.
- The first token has no column, as nothing was known before it; with `target_layers` it has one.
- `d2t` holds for each draft id how far off the target's id is; without it, ids are the same. `t2d`
  tells nothing more.
- Embeddings are the target's; where the file's own differ by more than rounding, they are what the
  head was trained on.
- `lm_head.weight` is the file's, whatever `tie_word_embeddings` says; without one, the target's if
  it ties its own.
- `rope_theta` is 10,000 where it is not given, and not the target's; scaled positions are left to
  `transformers`.
- `norm_output` and `fc_norm`, one norm per state that `fc` joins, are EAGLE-3.1's (arXiv
  2605.09992); off by default.
- `head_dim` is what the configuration says, else the hidden size by the heads; biases are added
  where there are any.
"""

import json
import math
import re
from contextlib import suppress
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from huggingface_hub.errors import LocalEntryNotFoundError
from safetensors.torch import load_file
from torch import Tensor
from transformers import LlamaConfig

from hsd.errors import HsdError
from hsd.models.following import LAYER
from hsd.models.head import HeadModel
from hsd.models.loading.fetch import sha256_of
from hsd.models.loading.hub import Source, file_of, loading
from hsd.models.loading.memory import TOKENS, Sizes
from hsd.models.loading.tensors import (
    ANOTHER,
    Shapes,
    check_tensors,
    drafted_ids,
    head_shapes,
    in_full,
)

ARCHITECTURES = ("LlamaForCausalLMEagle3", "Eagle3LlamaForCausalLM", "LlamaForCausalLM")
FORMS = ("norm_before_residual", "norm_before_fc")  # of other ways to place the norms
ROPES = ("default", "linear", "llama3", "yarn")  # the same at any length of the text
NEEDED = ("hidden_size", "num_attention_heads", "vocab_size")
WHOLE = (*NEEDED, "num_key_value_heads", "head_dim", "intermediate_size", "draft_vocab_size")
OF_LLAMA = (
    *WHOLE[:5],
    "rms_norm_eps",
    "rope_theta",
    "rope_scaling",
    "rope_parameters",
    "max_position_embeddings",
)
NAMES = ("model.safetensors", "pytorch_model.bin")
PRODUCTS = ("fc.", LAYER + "self_attn.", LAYER + "mlp.")
GATE = LAYER + "mlp.gate_proj.weight"
OPTIONAL = ("embed_tokens.weight", "taps_norm.weight", LAYER + "token_proj.weight")
UNUSED = ("t2d", "rotary_emb.inv_freq")
PADDING = 512  # rows by which two sizes of one vocabulary may differ
ROUNDING = 2**-7  # of a number that was stored in 16 bits


def is_head(source: Source) -> bool:
    """Return whether a folder or a Hub id holds a head, by its configuration.

    Nothing else is fetched for that.
    """
    return _config(source) is not None


def size(source: Source) -> Sizes | None:
    """Return how large a head is, by its configuration; None if that does not tell."""
    with suppress(Exception):  # it may be wrong in any way, which loading will explain
        config = _config(source) or {}
        llama = _llama(config)
        shapes = _shapes(llama, config, config.get("intermediate_size") or 0, 3)
        parameters = sum(math.prod(shapes[part]) for part in {*shapes} - {*OPTIONAL})
        return Sizes(
            parameters,
            1,
            llama.hidden_size,
            llama.num_key_value_heads,
            llama.head_dim,
            0,
            True,
            TOKENS,
        )
    return None


def load_head(source: Source, target: Any, name: str) -> HeadModel:
    """Return the head in a folder or on the Hub for this target.

    Raises HsdError if it cannot be read or used.
    """
    with loading("a head", source):
        config = _config(source) or {}
        llama, taps = _shape(config, target)
        files = _files(source)
        weights = {_named(key): tensor for file in files for key, tensor in _tensors(file).items()}
        _check(weights, llama, len(taps), config, target)
        revision = files[0].parent.name  # the commit, where the Hub's cache has them
        if Path(source.name).is_dir():
            revision = source.revision or "+".join(sha256_of(file)[:12] for file in files)
        return HeadModel(llama, taps, config, weights, target, name, revision)


def _config(source: Source) -> dict[str, Any] | None:
    """Return the configuration of a head; None if the source has none, or one of something else."""
    file = file_of(source, "config.json")
    with suppress(OSError, TypeError, ValueError):
        config = dict(json.loads(file.read_bytes())) if file else {}
        if "draft_vocab_size" in config or "eagle3" in str(config.get("architectures")).lower():
            return config
    return None


def _llama(config: dict[str, Any]) -> Any:
    """Return the `LlamaConfig` of a head's layer, without keys that are null."""
    known = {name: value for name, value in config.items() if value is not None}
    for name in WHOLE:
        if name not in (*NEEDED, *known):
            continue
        value = known.get(name)
        if type(value) is not int or value < 1:
            raise HsdError(
                f"its config.json gives {str(value)[:40]} as {name}: choose another head"
            )
    taken = {name: known[name] for name in OF_LLAMA if name in known}
    taken["attn_implementation"] = "sdpa"
    return LlamaConfig(**taken)


def _shape(config: dict[str, Any], target: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the head's `LlamaConfig`, and its taps.

    Raises HsdError for another kind of head, or another target's.
    """
    if not hasattr(target, "embedding"):
        raise HsdError(f"{target.name} is no model that a head can be put on")
    llama = _llama(config)
    theirs = target.model.config.get_text_config()
    activation = config.get("hidden_act", "silu")
    kinds = config.get("architectures") or ARCHITECTURES
    form = next(filter(config.get, FORMS), None)
    kind = kinds[0] if isinstance(kinds, list | tuple) else kinds
    positions = (llama.rope_parameters or {}).get("rope_type", "default")
    unread = f"not supported: choose one published as {ARCHITECTURES[0]}"
    checks = (
        (kind not in ARCHITECTURES, f"its architecture is {kind}, which is {unread}"),
        (form, f"{form} in its config.json makes it another model, which is {unread}"),
        (activation != "silu", f"the activation {activation!r} is {unread}"),
        (positions not in ROPES, f"positions of the kind {positions!r} are {unread}"),
        (
            llama.hidden_size != theirs.hidden_size,
            f"its hidden size is {llama.hidden_size:,}, that of {target.name} "
            f"{theirs.hidden_size:,}: {ANOTHER}",
        ),
        (
            abs(llama.vocab_size - theirs.vocab_size) > PADDING,
            f"it knows {llama.vocab_size:,} tokens, {target.name} {theirs.vocab_size:,}: {ANOTHER}",
        ),
    )
    if reason := next((words for wrong, words in checks if wrong), None):
        raise HsdError(reason)
    return llama, _taps(config, theirs.num_hidden_layers, target.name)


def _taps(config: dict[str, Any], layers: int, name: str) -> tuple[int, ...]:
    """Return after how many of the target's layers each state is taken that the head reads."""
    key = "eagle_aux_hidden_state_layer_ids"
    taps = config.get("target_layers") or [2, layers // 2, layers - 3]
    if listed := config.get(key) or (config.get("eagle_config") or {}).get(key):
        taps = [tap + (listed[0] == 1) for tap in listed]
    # what the last layer gives is normed, and no tap
    if taps != sorted({*taps}) or taps[0] < 0 or taps[-1] >= layers:
        raise HsdError(
            f"it reads after layers {', '.join(map(str, taps))}, and {name} has {layers}: {ANOTHER}"
        )
    return tuple(taps)


def _files(source: Source) -> list[Path]:
    """Return the files with the weights: one, or the parts that an index lists."""
    for name in NAMES:
        index = file_of(source, f"{name}.index.json")
        listed = json.loads(index.read_bytes())["weight_map"].values() if index else [name]
        files = {
            part: file_of(source, part) for part in sorted({Path(part).name for part in listed})
        }
        missing = next((part for part, file in files.items() if file is None), None)
        if not missing:
            return [file for file in files.values() if file]
        if index:
            raise HsdError(f"the file {missing} is missing: fetch it too")
    if source.local_only and not Path(source.name).is_dir():
        raise LocalEntryNotFoundError(NAMES[0])
    raise HsdError(f"it has no weights, neither {' nor '.join(NAMES)}")


def _tensors(file: Path) -> dict[str, Tensor]:
    """Return the tensors in a file. A pickle is read without running what it holds."""
    if file.suffix == ".safetensors":
        return in_full(load_file(file))
    try:
        content = torch.load(file, map_location="cpu", weights_only=True, mmap=True)
    except UnpicklingError:
        content = None
    except (RuntimeError, OSError):
        raise HsdError(
            f"{file.name} is cut short, or no file that torch has saved: fetch it again"
        ) from None
    if not isinstance(content, dict) or not all(
        isinstance(value, Tensor) for value in content.values()
    ):
        raise HsdError(
            f"{file.name} holds other things than tensors, which are not run: choose another head"
        )
    return content


def _named(key: str) -> str:
    """Return this project's name of a tensor.

    Raises HsdError where it belongs to a second layer.
    """
    key = key.removeprefix("model.")
    layer = re.match(r"\w*layers\.(\d+)\.", key)
    if layer and (layer[1] != "0" or not key.startswith("layers.")):
        raise HsdError(f"it has several layers ({key}), and only heads with one are supported")
    return key.replace("layers.0.", LAYER, 1)


def _shapes(llama: Any, config: dict[str, Any], inner: int, taps: int) -> Shapes:
    """Return the shapes of a head's weights by their names.

    inner: width of the feed-forward part. taps: how many.
    """
    drafted = config.get("draft_vocab_size") or llama.vocab_size
    groups = llama.num_key_value_heads
    return head_shapes(
        llama.hidden_size, inner, llama.num_attention_heads, groups, llama.head_dim, taps, drafted
    )


def _check(
    weights: dict[str, Tensor], llama: Any, taps: int, config: dict[str, Any], target: Any
) -> None:
    """Raise HsdError for missing, unknown or misshapen tensors.

    Tensors that the head does not use are removed from `weights`.

    The norms of EAGLE-3.1's `fc_norm`, one for each state, become one tensor `taps_norm`.
    """
    drafted = config.get("draft_vocab_size") or config["vocab_size"]
    rows = target.vocab_size
    hidden = llama.hidden_size
    for name in [name for name in weights if name.endswith(UNUSED)]:
        del weights[name]
    if drafted == config["vocab_size"]:
        weights.setdefault("d2t", torch.zeros(drafted, dtype=torch.int64, device="cpu"))
    shapes = _shapes(
        llama, config, config.get("intermediate_size") or len(weights.get(GATE, ())), taps
    )
    norms = [f"fc_norm.{number}.weight" for number in range(taps)] if config.get("fc_norm") else []
    biases: Shapes = {
        name.replace("weight", "bias"): shapes[name][:1]
        for name in shapes
        if name.startswith(PRODUCTS)
    }
    shapes |= dict.fromkeys(norms, (hidden,))
    tied = ["lm_head.weight"] * target.model.config.get_text_config().tie_word_embeddings
    shapes |= {"d2t": (drafted,), "embed_tokens.weight": (config["vocab_size"], hidden), **biases}
    check_tensors(weights, shapes, {*biases, *OPTIONAL, *tied})
    drafted_ids(weights["d2t"], rows)
    if norms:
        weights["taps_norm.weight"] = torch.stack([weights.pop(name) for name in norms])
    own = weights.get("embed_tokens.weight")
    theirs = target.embedding
    if own is not None and _same(own, theirs):
        del weights["embed_tokens.weight"]
    elif own is not None and len(own) < rows:
        raise HsdError(
            f"its own embeddings are of {len(own):,} tokens, and {target.name} has {rows:,}"
        )


def _same(own: Tensor, theirs: Tensor) -> bool:
    """Return whether two tensors are equal up to rounding; compares parts, as they may be large."""
    parts = zip(own.split(8192), theirs.split(8192), strict=False)
    return own.shape == theirs.shape and all(
        torch.allclose(a.to(b), b, rtol=ROUNDING, atol=1e-6) for a, b in parts
    )

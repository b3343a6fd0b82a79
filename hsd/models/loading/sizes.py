"""How large a model is, before it is loaded: by its configuration, and of published ones by what the Hub counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import yaml

PUBLISHED: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("published.yaml").read_text("utf-8"))
TOKENS = 4_096  # room for the caches of a text this long, or of the whole context where that is shorter
BYTES = {torch.float32: 4.0, torch.bfloat16: 2.0, torch.float16: 2.0}
QUANTISED = {"8bit": 1.05, "4bit": 0.57}  # bytes a parameter, scales included


@dataclass(frozen=True)
class Sizes:
    """Numbers that one model stores, and what its cache and its first and last layer are made of.

    parameters: shared ones once. layers, hidden: depth and width; kv_heads, head_dim: of the keys and values; rows: of
    the embeddings, padding included; tied: whether the last layer shares them; context: tokens it can read.
    """

    parameters: int
    layers: int
    hidden: int
    kv_heads: int
    head_dim: int
    rows: int
    tied: bool
    context: int

    @property
    def embeddings(self) -> int:
        """Numbers in the first and the last layer, which quantisation leaves as they are."""
        return self.rows * self.hidden * (1 if self.tied else 2)

    @property
    def cache_per_token(self) -> int:
        """Numbers that the key/value cache keeps of each token it has read."""
        return 2 * self.layers * self.kv_heads * self.head_dim

    def weights(self, dtype: torch.dtype, quantize: str | None = None) -> float:
        """Return the bytes of the weights, in this precision or quantised."""
        if quantize is None:
            return self.parameters * BYTES[dtype]
        return (self.parameters - self.embeddings) * QUANTISED[quantize] + self.embeddings * BYTES[dtype]

    def cache(self, dtype: torch.dtype, tokens: int = TOKENS) -> float:
        """Return the bytes of the key/value cache of a text of so many tokens."""
        return self.cache_per_token * BYTES[dtype] * min(tokens, self.context)


def of_config(config: Any) -> Sizes | None:
    """Return the sizes of a model by its configuration, as `transformers` reads it, whatever its files are.

    The model is made without numbers, in some tenths of a second. None where the configuration does not determine it,
    and for weights that are quantised already.
    """
    from transformers import AutoModelForCausalLM  # takes seconds, and names need none

    if getattr(config, "quantization_config", None):
        return None
    try:
        with torch.device("meta"):
            parameters: int = AutoModelForCausalLM.from_config(config).num_parameters()
        text = config.get_text_config()
        hidden, heads = text.hidden_size, text.num_attention_heads
        head_dim = getattr(text, "head_dim", None) or hidden // heads
        kv_heads = getattr(text, "num_key_value_heads", None) or heads
        context = max(getattr(text, "max_position_embeddings", None) or 0, 0) or TOKENS
        tied = text.tie_word_embeddings
        return Sizes(parameters, text.num_hidden_layers, hidden, kv_heads, head_dim, text.vocab_size, tied, context)
    except Exception:  # a configuration may be wrong in any way, which loading will explain
        return None


def numbers_in_folder(folder: Path) -> int | None:
    """Return how many numbers a model's safetensors files in a folder hold, by their headers; None without any."""
    from safetensors import safe_open

    count = 0
    for path in folder.glob("model*.safetensors"):
        with safe_open(path, "pt") as file:
            count += sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
    return count or None


def of_head(hidden: int, inner: int, heads: int, kv_heads: int, head_dim: int, drafted: int) -> Sizes:
    """Return the sizes of an EAGLE-3 head: one layer behind three taps, and a row for each token that it drafts.

    inner: numbers in the middle of the feed-forward part. The embeddings are the target's.
    """
    attention = 2 * hidden * (heads + 2 * kv_heads) * head_dim + heads * head_dim * hidden
    parameters = 3 * hidden**2 + attention + 3 * hidden * inner + 4 * hidden + drafted * hidden
    return Sizes(parameters, 1, hidden, kv_heads, head_dim, rows=0, tied=True, context=TOKENS)


HEADS = {name: of_head(**shape) for name, shape in PUBLISHED["heads"].items()}
SIZES = {**{name: Sizes(**sizes) for name, sizes in PUBLISHED["models"].items()}, **HEADS}

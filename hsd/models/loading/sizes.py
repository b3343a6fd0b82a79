"""How large a model is, before it is loaded: by its configuration, and of published ones by what the Hub counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

TOKENS = 4_096  # room for the caches of a text this long, or of the whole context where that is shorter
BYTES = {torch.float32: 4.0, torch.bfloat16: 2.0, torch.float16: 2.0}
QUANTISED = {"16bit": 2.0, "8bit": 1.05, "4bit": 0.57}  # bytes a parameter, scales included


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
        """Bytes of the weights."""
        if quantize is None:
            return self.parameters * BYTES[dtype]
        return (self.parameters - self.embeddings) * QUANTISED[quantize] + self.embeddings * BYTES[dtype]

    def cache(self, dtype: torch.dtype, tokens: int = TOKENS) -> float:
        """Bytes of the key/value cache of a long text."""
        return self.cache_per_token * BYTES[dtype] * min(tokens, self.context)


def of_config(config: Any, parameters: int) -> Sizes | None:
    """The sizes of a model with that many numbers; None if its configuration does not tell its cache.

    config: as `transformers` reads it.
    """
    config = config.get_text_config()
    layers, hidden, heads = (
        getattr(config, name, None) for name in ("num_hidden_layers", "hidden_size", "num_attention_heads")
    )
    if not (isinstance(layers, int) and isinstance(hidden, int) and isinstance(heads, int) and heads):
        return None
    head_dim = getattr(config, "head_dim", None) or hidden // heads
    kv_heads = getattr(config, "num_key_value_heads", None) or heads
    context = getattr(config, "max_position_embeddings", None) or TOKENS
    rows, tied = config.vocab_size, config.tie_word_embeddings
    return Sizes(parameters, layers, hidden, kv_heads, head_dim, rows, tied, context)


def of_head(hidden: int, inner: int, heads: int, kv_heads: int, head_dim: int, drafted: int) -> Sizes:
    """The sizes of an EAGLE-3 head: one layer behind three taps, and a row for each token that it drafts.

    inner: numbers in the middle of the feed-forward part. The embeddings are the target's.
    """
    attention = 2 * hidden * (heads + 2 * kv_heads) * head_dim + heads * head_dim * hidden
    parameters = 3 * hidden**2 + attention + 3 * hidden * inner + 4 * hidden + drafted * hidden
    return Sizes(parameters, 1, hidden, kv_heads, head_dim, rows=0, tied=True, context=TOKENS)


HEADS = {  # shapes as their makers train them, or as the Hub has them where that is known to differ
    "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B": of_head(4_096, 14_336, 32, 8, 128, 32_000),
    "AngelSlim/Qwen3-1.7B_eagle3": of_head(2_048, 6_144, 16, 8, 128, 32_000),
    "AngelSlim/Qwen3-4B_eagle3": of_head(2_560, 9_728, 32, 8, 80, 32_000),
    "AngelSlim/Qwen3-8B_eagle3": of_head(4_096, 12_288, 32, 8, 128, 32_000),
    "AngelSlim/Qwen3-14B_eagle3": of_head(5_120, 17_408, 40, 8, 128, 32_000),
    "AngelSlim/Qwen3-32B_eagle3": of_head(5_120, 25_600, 64, 8, 80, 32_000),
}

SIZES = {
    "Qwen/Qwen2.5-0.5B-Instruct": Sizes(494_032_768, 24, 896, 2, 64, 151_936, True, 32_768),
    "Qwen/Qwen2.5-1.5B-Instruct": Sizes(1_543_714_304, 28, 1_536, 2, 128, 151_936, True, 32_768),
    "Qwen/Qwen2.5-3B-Instruct": Sizes(3_085_938_688, 36, 2_048, 2, 128, 151_936, True, 32_768),
    "Qwen/Qwen2.5-7B-Instruct": Sizes(7_615_616_512, 28, 3_584, 4, 128, 152_064, False, 32_768),
    "Qwen/Qwen2.5-14B-Instruct": Sizes(14_770_033_664, 48, 5_120, 8, 128, 152_064, False, 32_768),
    "Qwen/Qwen2.5-32B-Instruct": Sizes(32_763_876_352, 64, 5_120, 8, 128, 152_064, False, 32_768),
    "Qwen/Qwen2.5-72B-Instruct": Sizes(72_706_203_648, 80, 8_192, 8, 128, 152_064, False, 32_768),
    "Qwen/Qwen3-0.6B": Sizes(596_049_920, 28, 1_024, 8, 128, 151_936, True, 40_960),
    "Qwen/Qwen3-1.7B": Sizes(1_720_574_976, 28, 2_048, 8, 128, 151_936, True, 40_960),
    "Qwen/Qwen3-4B": Sizes(4_022_468_096, 36, 2_560, 8, 128, 151_936, True, 40_960),
    "Qwen/Qwen3-8B": Sizes(8_190_735_360, 36, 4_096, 8, 128, 151_936, False, 40_960),
    "Qwen/Qwen3-14B": Sizes(14_768_307_200, 40, 5_120, 8, 128, 151_936, False, 40_960),
    "Qwen/Qwen3-32B": Sizes(32_762_123_264, 64, 5_120, 8, 128, 151_936, False, 40_960),
    "meta-llama/Llama-3.2-1B-Instruct": Sizes(1_235_814_400, 16, 2_048, 8, 64, 128_256, True, 131_072),
    "meta-llama/Llama-3.1-8B-Instruct": Sizes(8_030_261_248, 32, 4_096, 8, 128, 128_256, False, 131_072),
    "meta-llama/Llama-3.1-70B-Instruct": Sizes(70_553_706_496, 80, 8_192, 8, 128, 128_256, False, 131_072),
    "HuggingFaceTB/SmolLM2-135M-Instruct": Sizes(134_515_008, 30, 576, 3, 64, 49_152, True, 8_192),
    "HuggingFaceTB/SmolLM2-360M-Instruct": Sizes(361_821_120, 32, 960, 5, 64, 49_152, True, 8_192),
    "HuggingFaceTB/SmolLM2-1.7B-Instruct": Sizes(1_711_376_384, 24, 2_048, 32, 64, 49_152, True, 8_192),
    "google/gemma-3-270m-it": Sizes(268_098_176, 18, 640, 1, 256, 262_144, True, 32_768),
    "google/gemma-3-1b-it": Sizes(999_885_952, 26, 1_152, 1, 256, 262_144, True, 32_768),
    "google/gemma-3-4b-it": Sizes(4_300_079_472, 34, 2_560, 4, 256, 262_208, True, 131_072),
    "google/gemma-3-12b-it": Sizes(12_187_325_040, 48, 3_840, 8, 256, 262_208, True, 131_072),
    "google/gemma-3-27b-it": Sizes(27_432_406_640, 62, 5_376, 16, 128, 262_208, True, 131_072),
    **HEADS,
}

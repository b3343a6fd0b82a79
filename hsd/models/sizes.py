"""How large published models are, computed from their layers and widths before any of them is loaded."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """The published configuration of a decoder with grouped attention and a gated feed-forward part.

    layers, hidden, feed_forward: depth and widths; heads, kv_heads, head_dim: of attention; rows: of the embeddings,
    padding included; tied: whether the last layer shares them; context: tokens it can read. bias: of queries, keys
    and values; head_norms: queries and keys are normalised; norms: per layer; apart: numbers outside the text model,
    which are loaded with it (the part that sees images).
    """

    layers: int
    hidden: int
    feed_forward: int
    heads: int
    kv_heads: int
    head_dim: int
    rows: int
    tied: bool
    context: int
    bias: bool = False
    head_norms: bool = False
    norms: int = 2
    apart: int = 0

    @property
    def embeddings(self) -> int:
        """Numbers in the first and the last layer, which quantisation leaves as they are."""
        return self.rows * self.hidden * (1 if self.tied else 2)

    @property
    def parameters(self) -> int:
        """How many numbers the model has, shared ones once."""
        queries, others = self.heads * self.head_dim, 2 * self.kv_heads * self.head_dim
        attention = self.hidden * (2 * queries + others)
        attention += (queries + others) * self.bias + 2 * self.head_dim * self.head_norms
        layer = attention + 3 * self.hidden * self.feed_forward + self.norms * self.hidden
        return self.embeddings + self.layers * layer + self.hidden + self.apart

    @property
    def cache_per_token(self) -> int:
        """Numbers that the key/value cache keeps of each token it has read."""
        return 2 * self.layers * self.kv_heads * self.head_dim


def qwen2(
    layers: int, hidden: int, feed_forward: int, heads: int, kv_heads: int, head_dim: int, rows: int, tied: bool = False
) -> Sizes:
    """A Qwen2.5 model."""
    return Sizes(layers, hidden, feed_forward, heads, kv_heads, head_dim, rows, tied, 32_768, bias=True)


def qwen3(layers: int, hidden: int, feed_forward: int, heads: int, kv_heads: int, tied: bool = False) -> Sizes:
    """A Qwen3 model with dense layers."""
    return Sizes(layers, hidden, feed_forward, heads, kv_heads, 128, 151_936, tied, 40_960, head_norms=True)


def llama3(layers: int, hidden: int, feed_forward: int, heads: int, head_dim: int = 128, tied: bool = False) -> Sizes:
    """A Llama 3.1 or 3.2 model."""
    return Sizes(layers, hidden, feed_forward, heads, 8, head_dim, 128_256, tied, 131_072)


def smollm2(layers: int, hidden: int, feed_forward: int, heads: int, kv_heads: int) -> Sizes:
    """A SmolLM2 model: a Llama with tied embeddings."""
    return Sizes(layers, hidden, feed_forward, heads, kv_heads, 64, 49_152, True, 8_192)


def gemma3(
    layers: int,
    hidden: int,
    feed_forward: int,
    heads: int,
    kv_heads: int,
    head_dim: int = 256,
    rows: int = 262_208,
    context: int = 131_072,
) -> Sizes:
    """A Gemma 3 model. Those with more than 1B parameters also have a part that sees images, and 64 more rows."""
    apart = GEMMA_VISION + GEMMA_VISION_WIDTH * (hidden + 1) if rows == 262_208 else 0  # with projection and norm
    attention = (heads, kv_heads, head_dim)
    return Sizes(layers, hidden, feed_forward, *attention, rows, True, context, head_norms=True, norms=4, apart=apart)


def _vision_tower(layers: int, width: int, feed_forward: int, patch: int, patches: int) -> int:
    """Numbers of a SigLIP vision model without a pooling head."""
    layer = 4 * width * (width + 1) + 2 * width * feed_forward + feed_forward + width + 4 * width
    return 3 * patch * patch * width + width + patches * width + layers * layer + 2 * width


GEMMA_VISION_WIDTH = 1_152
GEMMA_VISION = _vision_tower(27, GEMMA_VISION_WIDTH, 4_304, 14, 64 * 64)

SIZES: dict[str, Sizes] = {
    "Qwen/Qwen2.5-0.5B-Instruct": qwen2(24, 896, 4_864, 14, 2, 64, 151_936, tied=True),
    "Qwen/Qwen2.5-1.5B-Instruct": qwen2(28, 1_536, 8_960, 12, 2, 128, 151_936, tied=True),
    "Qwen/Qwen2.5-3B-Instruct": qwen2(36, 2_048, 11_008, 16, 2, 128, 151_936, tied=True),
    "Qwen/Qwen2.5-7B-Instruct": qwen2(28, 3_584, 18_944, 28, 4, 128, 152_064),
    "Qwen/Qwen2.5-14B-Instruct": qwen2(48, 5_120, 13_824, 40, 8, 128, 152_064),
    "Qwen/Qwen2.5-32B-Instruct": qwen2(64, 5_120, 27_648, 40, 8, 128, 152_064),
    "Qwen/Qwen2.5-72B-Instruct": qwen2(80, 8_192, 29_568, 64, 8, 128, 152_064),
    "Qwen/Qwen3-0.6B": qwen3(28, 1_024, 3_072, 16, 8, tied=True),
    "Qwen/Qwen3-4B": qwen3(36, 2_560, 9_728, 32, 8, tied=True),
    "Qwen/Qwen3-8B": qwen3(36, 4_096, 12_288, 32, 8),
    "Qwen/Qwen3-14B": qwen3(40, 5_120, 17_408, 40, 8),
    "Qwen/Qwen3-32B": qwen3(64, 5_120, 25_600, 64, 8),
    "meta-llama/Llama-3.2-1B-Instruct": llama3(16, 2_048, 8_192, 32, 64, tied=True),
    "meta-llama/Llama-3.1-8B-Instruct": llama3(32, 4_096, 14_336, 32),
    "meta-llama/Llama-3.1-70B-Instruct": llama3(80, 8_192, 28_672, 64),
    "HuggingFaceTB/SmolLM2-135M-Instruct": smollm2(30, 576, 1_536, 9, 3),
    "HuggingFaceTB/SmolLM2-360M-Instruct": smollm2(32, 960, 2_560, 15, 5),
    "HuggingFaceTB/SmolLM2-1.7B-Instruct": smollm2(24, 2_048, 8_192, 32, 32),
    "google/gemma-3-270m-it": gemma3(18, 640, 2_048, 4, 1, rows=262_144, context=32_768),
    "google/gemma-3-1b-it": gemma3(26, 1_152, 6_912, 4, 1, rows=262_144, context=32_768),
    "google/gemma-3-4b-it": gemma3(34, 2_560, 10_240, 8, 4),
    "google/gemma-3-12b-it": gemma3(48, 3_840, 15_360, 16, 8),
    "google/gemma-3-27b-it": gemma3(62, 5_376, 21_504, 32, 16, head_dim=128),
}

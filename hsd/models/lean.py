"""A packed Llama on a CPU, with almost no overhead around its matrix products.

What a general library does around each product costs a small model as much as the products themselves. Here a layer is
its arithmetic alone, on a cache that is written in place. The model itself is the one that `transformers` loaded, and
the tests hold the two to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from hsd.models.base import View
from hsd.models.buffer import Buffer
from hsd.models.packed import PackedLinear, Product

TOGETHER = 256  # tokens of a prompt that are read at once, as attention scores over a long text take memory


@dataclass(frozen=True)
class Layer:
    """Norms before attention and before the feed-forward part, and the seven products."""

    before: Tensor
    after: Tensor
    q: Product
    k: Product
    v: Product
    out: Product
    gate: Product
    up: Product
    down: Product


class LeanLlama:
    """The arithmetic of a Llama whose linear maps are packed. Ask `fits` first."""

    def __init__(self, model: Any) -> None:
        config = model.config
        self.heads, self.groups = config.num_attention_heads, config.num_key_value_heads
        self.hidden, self.eps = config.hidden_size, config.rms_norm_eps
        self.width: int = getattr(config, "head_dim", None) or self.hidden // self.heads
        self.embedding: Tensor = model.model.embed_tokens.weight.detach()
        self.norm: Tensor = model.model.norm.weight.detach()
        self.head: Product = model.lm_head.product
        self.layers = [_layer(layer) for layer in model.model.layers]
        self.rates = rope_rates(config.rope_parameters["rope_theta"], self.width)

    def logits(self, states: Tensor) -> Tensor:
        """Return logits (n, vocab) of the last layer's output (n, hidden)."""
        return self.head(F.rms_norm(states, (self.hidden,), self.norm, self.eps))

    @staticmethod
    def fits(model: Any) -> bool:
        """Return whether a model is a packed Llama with nothing unusual about it."""
        config = model.config
        return (
            type(model).__name__ == "LlamaForCausalLM"
            and isinstance(model.lm_head, PackedLinear)
            and config.hidden_act == "silu"
            and (config.rope_parameters or {}).get("rope_type") == "default"
            and getattr(config, "pretraining_tp", 1) == 1
            and not (config.attention_bias or config.mlp_bias)
        )


class LeanLayers:
    """Layers of a `LeanLlama` from number `first` to before `end`, and what they keep of one text that they read.

    length: how many tokens they have read. states: (length, taps, hidden), what came in after the layers of
    `keep_states`.
    """

    def __init__(self, llama: LeanLlama, first: int = 0, end: int | None = None) -> None:
        self._llama, self._first, self._layers = llama, first, llama.layers[first:end]
        self._taps: tuple[int, ...] = ()
        self._cache = Buffer(torch.empty(2, len(self._layers), llama.groups, 0, llama.width), 3)  # keys and values
        self._states = Buffer(torch.empty(0, 0, llama.hidden))  # (length, taps, hidden)

    @property
    def length(self) -> int:
        return self._cache.length

    @property
    def states(self) -> Tensor:
        return self._states.rows

    def keep_states(self, taps: Sequence[int]) -> None:
        """Keep the hidden states after so many layers each, of all that is read from now on."""
        self._taps = tuple(taps)
        self._cache.free()
        self._states = Buffer(torch.empty(0, len(taps), self._llama.hidden))

    def read(self, x: Tensor, view: View | None = None) -> Tensor:
        """Run the layers on states (n, hidden) of n new tokens; return their states after the last layer."""
        llama, n, begin, end = self._llama, len(x), self.length, self.length + len(x)
        (all_keys, all_values), states = self._cache.reserve(end, TOGETHER), self._states.reserve(end, TOGETHER)
        positions = view.positions if view else torch.arange(begin, end)
        cos, sin = turns(positions, llama.rates)
        repeat, mask = llama.heads // llama.groups, bias_of(n, end, view)
        bias = torch.zeros(1) if mask is None else mask.repeat(repeat, 1)
        scale, shape = llama.width**-0.5, (llama.hidden,)
        for index, layer in enumerate(self._layers):
            if self._first + index in self._taps:
                states[begin:end, self._taps.index(self._first + index)] = x
            rows = F.rms_norm(x, shape, layer.before, llama.eps)
            q = rotated(layer.q(rows).view(n, llama.heads, llama.width), cos, sin)
            keys, values = all_keys[index], all_values[index]
            keys[:, begin:end] = rotated(layer.k(rows).view(n, llama.groups, llama.width), cos, sin).transpose(0, 1)
            values[:, begin:end] = layer.v(rows).view(n, llama.groups, llama.width).transpose(0, 1)
            q = q.view(n, llama.groups, repeat, llama.width).permute(1, 2, 0, 3).reshape(llama.groups, -1, llama.width)
            scores = torch.baddbmm(bias, q, keys[:, :end].transpose(1, 2), alpha=scale)
            mixed = torch.bmm(scores.softmax(-1), values[:, :end])
            mixed = mixed.view(llama.groups, repeat, n, llama.width).permute(2, 0, 1, 3).reshape(n, -1)
            x = x + layer.out(mixed)
            rows = F.rms_norm(x, shape, layer.after, llama.eps)
            x = x + layer.down(F.silu(layer.gate(rows)) * layer.up(rows))
        self._cache.length = self._states.length = end
        return x

    def crop(self, length: int) -> None:
        self._cache.crop(length)
        self._states.crop(length)

    def select(self, columns: list[int]) -> None:
        self._cache.select(columns)
        self._states.select(columns)

    def close(self) -> None:
        self._cache.free()
        self._states.free()


class LeanSession(LeanLayers):
    """One text read by a `LeanLlama`. See `hsd.models.base.Session`."""

    @torch.inference_mode()
    def forward(self, tokens: Tensor, keep: int, view: View | None = None) -> Tensor:
        """Read `tokens` (n,); logits after the last `keep` of them, (keep, vocab)."""
        begins = range(0, len(tokens), TOGETHER)
        last = [self.read(self._llama.embedding[tokens[at : at + TOGETHER]], _part(view, at)) for at in begins]
        return self._llama.logits(torch.cat(last)[len(tokens) - keep :])


def rope_rates(theta: float, width: int) -> Tensor:
    """Return (width / 2,): how fast each pair of numbers turns from one position to the next."""
    rates: Tensor = 1.0 / theta ** (torch.arange(0, width, 2) / width)
    return rates


def turns(positions: Tensor, rates: Tensor) -> tuple[Tensor, Tensor]:
    """Return cosines and signed sines for `rotated`, both (n, 1, width)."""
    angles = torch.outer(positions.to(rates.dtype), rates)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([cos, cos], -1).unsqueeze(1), torch.cat([-sin, sin], -1).unsqueeze(1)


def rotated(rows: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions for rows (n, heads, width)."""
    return rows * cos + rows.roll(rows.shape[-1] // 2, -1) * sin


def bias_of(n: int, end: int, view: View | None) -> Tensor | None:
    """Return (n, end): 0 for what each of the last n of `end` tokens sees, -inf elsewhere; None where it is all."""
    if view is None and n == 1:
        return None
    visible = view.visible[:, :end] if view else torch.ones(n, end, dtype=torch.bool).tril(end - n)
    return torch.zeros(n, end).masked_fill_(~visible, -torch.inf)


def _part(view: View | None, begin: int) -> View | None:
    """Return the view of the next `TOGETHER` tokens at most, from `begin` on; None for no view."""
    if view is None:
        return None
    return View(view.visible[begin : begin + TOGETHER], view.positions[begin : begin + TOGETHER])


def _layer(layer: Any) -> Layer:
    attention, mlp = layer.self_attn, layer.mlp
    maps = (attention.q_proj, attention.k_proj, attention.v_proj, attention.o_proj)
    products = [part.product for part in (*maps, mlp.gate_proj, mlp.up_proj, mlp.down_proj)]
    return Layer(layer.input_layernorm.weight.detach(), layer.post_attention_layernorm.weight.detach(), *products)

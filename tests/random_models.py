"""GGUF files with random models of each family, and what such a model computes, in float64."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf_blocks import TYPES, numbers_of, random_rows
from small_gguf import write_file
from torch import Tensor

PART_NAMES = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")


@dataclass(frozen=True)
class Family:
    """A model's family and sizes.

    width: of a head, which need not be hidden / heads. own_output: whether the output is another
    matrix than the table of the tokens. slowed: whether the file has factors of rotation.
    """

    architecture: str
    hidden: int = 256
    inner: int = 512
    heads: int = 8
    groups: int = 2
    width: int = 32
    layers: int = 2
    vocab: int = 301
    base: float = 10_000.0
    own_output: bool = False
    slowed: bool = False
    eps: float = 1e-5
    context: int = 512

    @property
    def fields(self) -> dict[str, Any]:
        sizes = {
            "block_count": self.layers,
            "embedding_length": self.hidden,
            "feed_forward_length": self.inner,
            "attention.head_count": self.heads,
            "attention.head_count_kv": self.groups,
            "context_length": self.context,
            "rope.freq_base": self.base,
            "attention.layer_norm_rms_epsilon": self.eps,
        }
        if self.width * self.heads != self.hidden:
            sizes |= {"attention.key_length": self.width, "attention.value_length": self.width}
        named = {f"{self.architecture}.{name}": value for name, value in sizes.items()}
        return {"general.architecture": self.architecture, **named}

    @property
    def matrices(self) -> dict[str, tuple[int, int]]:
        """The shapes of the matrices by name."""
        queries = self.heads * self.width
        kept = self.groups * self.width
        shapes = ((queries, self.hidden), (kept, self.hidden), (kept, self.hidden))
        shapes += ((self.hidden, queries), *[(self.inner, self.hidden)] * 2)
        shapes += ((self.hidden, self.inner),)
        layer = dict(zip(PART_NAMES, shapes, strict=True))
        ends = {"token_embd.weight": (self.vocab, self.hidden)}
        if self.own_output:
            ends["output.weight"] = self.vocab, self.hidden
        return ends | {
            f"blk.{i}.{name}.weight": shape
            for i in range(self.layers)
            for name, shape in layer.items()
        }

    @property
    def vectors(self) -> dict[str, int]:
        """The sizes of the vectors by name."""
        layer = {"attn_norm.weight": self.hidden, "ffn_norm.weight": self.hidden}
        if self.architecture == "qwen2":
            kept = self.groups * self.width
            layer |= {"attn_q.bias": self.heads * self.width}
            layer |= {"attn_k.bias": kept, "attn_v.bias": kept}
        if self.architecture == "qwen3":
            layer |= dict.fromkeys(("attn_q_norm.weight", "attn_k_norm.weight"), self.width)
        slow = {"rope_freqs.weight": self.width // 2} if self.slowed else {}
        return {
            "output_norm.weight": self.hidden,
            **slow,
            **{f"blk.{i}.{name}": n for i in range(self.layers) for name, n in layer.items()},
        }


LLAMA = Family("llama", own_output=True, slowed=True)
QWEN2 = Family("qwen2", heads=4, groups=4, width=64, base=1_000_000.0)
QWEN3 = Family("qwen3", heads=8, groups=2, width=64)
FAMILIES = {family.architecture: family for family in (LLAMA, QWEN2, QWEN3)}


def write_model(
    file: Path,
    family: Family,
    kinds: str | Mapping[str, str] = "Q8_0",
    seed: int = 0,
    known: bool = True,
    share: float = 1.0,
    **fields: Any,
) -> dict[str, Tensor]:
    """Write the file of a random model; return its numbers in float64, as the file has them.

    Models of one seed that differ in their layers alone have equal first ones.

    kinds: the type of all matrices, or of each by a part of its name, else "". known: whether the
    numbers are wanted. share: of the hidden state that a layer adds, about. fields: others than
    those of the family, with __ for a dot; None for none.
    """
    tensors = {}
    numbers = {}
    by_part = {"": kinds} if isinstance(kinds, str) else kinds
    for name, shape in family.matrices.items():
        kind = next(kind for part, kind in by_part.items() if part in name)
        size = 3 / sqrt(shape[1]) if name.startswith(("token", "output")) else 1 / sqrt(shape[1])
        if name.endswith(("attn_output.weight", "ffn_down.weight")):
            size *= share
        data = random_rows(kind, *shape, size, _noise(seed, name))
        tensors[name] = TYPES[kind], shape, data
        if known:
            numbers[name] = torch.from_numpy(numbers_of(kind, data, *shape))
    for name, length in family.vectors.items():
        vector = _noise(seed, name).standard_normal(length).astype(np.float32)
        if name == "rope_freqs.weight":
            vector = np.linspace(1, 8, length, dtype=np.float32)
        elif "norm" in name:
            vector = 1 + vector / 10
        tensors[name] = TYPES["F32"], (length,), vector.tobytes()
        numbers[name] = torch.from_numpy(vector).double()
    told = family.fields | {name.replace("__", "."): value for name, value in fields.items()}
    write_file(file, {name: value for name, value in told.items() if value is not None}, tensors)
    return numbers


def _noise(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng([seed, *name.encode()])


# The same model in float64


def logits_of(family: Family, numbers: Mapping[str, Tensor], ids: Tensor) -> Tensor:
    """Return the logits (n, vocab) after each of the tokens (n,) of a text."""
    x = numbers["token_embd.weight"][ids]
    for i in range(family.layers):
        layer = {
            name.removeprefix(f"blk.{i}."): value
            for name, value in numbers.items()
            if name.startswith(f"blk.{i}.")
        }
        slower = numbers.get("rope_freqs.weight")
        x = x + _attention(family, layer, _normed(x, layer["attn_norm.weight"], family), slower)
        y = _normed(x, layer["ffn_norm.weight"], family)
        gate = torch.nn.functional.silu(y @ layer["ffn_gate.weight"].T)
        x = x + (gate * (y @ layer["ffn_up.weight"].T)) @ layer["ffn_down.weight"].T
    out = numbers.get("output.weight", numbers["token_embd.weight"])
    return _normed(x, numbers["output_norm.weight"], family) @ out.T


def _normed(x: Tensor, weight: Tensor, family: Family) -> Tensor:
    return x / (x.square().mean(-1, keepdim=True) + family.eps).sqrt() * weight


def _attention(
    family: Family, layer: Mapping[str, Tensor], x: Tensor, slower: Tensor | None
) -> Tensor:
    n = len(x)

    def heads_of(part: str) -> Tensor:
        """Return the rows of a part, (heads, n, width)."""
        rows = x @ layer[f"attn_{part}.weight"].T + layer.get(f"attn_{part}.bias", 0)
        return rows.view(n, -1, family.width).transpose(0, 1)

    queries, keys, values = map(heads_of, "qkv")
    if "attn_q_norm.weight" in layer:
        queries = _normed(queries, layer["attn_q_norm.weight"], family)
        keys = _normed(keys, layer["attn_k_norm.weight"], family)
    each = family.heads // family.groups
    keys = _turned(family, keys, slower).repeat_interleave(each, 0)
    scores = _turned(family, queries, slower) @ keys.transpose(1, 2) / sqrt(family.width)
    scores = scores.masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf)
    mixed = scores.softmax(-1) @ values.repeat_interleave(each, 0)
    return mixed.transpose(0, 1).reshape(n, -1) @ layer["attn_output.weight"].T


def _turned(family: Family, heads: Tensor, slower: Tensor | None) -> Tensor:
    """Turn pairs of numbers by the positions of their rows.

    A Llama's file has the two of a pair beside each other, another's half a head apart.
    """
    pairs = torch.arange(family.width // 2, dtype=torch.float64)
    rates = family.base ** (-2 * pairs / family.width)
    if slower is not None:
        rates = rates / slower
    turns = torch.polar(torch.ones(()).double(), torch.arange(heads.shape[1])[:, None] * rates)
    beside = family.architecture == "llama"
    apart = heads.unflatten(-1, (-1, 2) if beside else (2, -1))
    if not beside:
        apart = apart.transpose(-1, -2)
    turned = torch.view_as_real(torch.view_as_complex(apart.contiguous()) * turns)
    return (turned if beside else turned.transpose(-1, -2)).flatten(-2)


def divergence(wanted: Tensor, given: Tensor) -> Tensor:
    """Return the Kullback-Leibler divergence of rows of logits from the wanted ones, in nats."""
    right, ours = (rows.double().log_softmax(-1) for rows in (wanted, given))
    known = right.isfinite() & ours.isfinite()
    return (right.exp() * (right - ours).where(known, torch.tensor(0.0).double())).sum(-1)

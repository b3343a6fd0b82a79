"""Weights in 16 bits for a CPU, arithmetic in 32: half of the memory to read, which is what decoding waits for.

The products are FBGEMM's: a weight is rounded to float16 once, and so is the model; activations stay float32, and every
row is computed by itself. Packed this way, a pass over six tokens costs little more than a pass over one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Product = Callable[[Tensor], Tensor]  # (..., in) to (..., out)


@cache
def packs() -> bool:
    """Return whether this build of torch and this processor can pack weights."""
    try:
        packed(torch.ones(8, 8))(torch.ones(1, 8))
    except (RuntimeError, AttributeError, NotImplementedError):
        return False
    return True


def packed(weight: Tensor, bias: Tensor | None = None) -> Product:
    """Return the function x → x·weightᵀ + bias. weight (out, in) float32 is rounded to float16."""
    held = torch.ops.quantized.linear_prepack_fp16.default(weight.detach(), None if bias is None else bias.detach())
    product = torch.ops.quantized.linear_dynamic_fp16.default
    return lambda x: product(x, held)


def product_of(weight: Tensor, bias: Tensor | None = None, pack: bool = False) -> Product:
    """Return the function x → x·weightᵀ + bias, by `packed`, or with the weight unchanged."""
    return packed(weight, bias) if pack else lambda x: F.linear(x, weight, bias)


def spread(known: Tensor, ids: Tensor, width: int) -> Tensor:
    """Return logits (n, width) of a head that tells only some tokens, (n, len(ids)): -inf for all others."""
    logits = known.new_full((len(known), width), -torch.inf)
    logits[:, ids] = known
    return logits


class PackedLinear(nn.Linear):
    """A linear map with packed weights in place of its own; it cannot be trained or saved."""

    def __init__(self, linear: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight = nn.Parameter(torch.empty(0), requires_grad=False)
        self.product = packed(linear.weight, linear.bias)

    def forward(self, input: Tensor) -> Tensor:
        return self.product(input.contiguous())


def pack(model: nn.Module) -> None:
    """Pack all linear maps of a model, and let go of their float32 weights."""
    for name, part in list(model.named_modules()):
        if type(part) is nn.Linear:
            above, _, last = name.rpartition(".")
            setattr(model.get_submodule(above), last, PackedLinear(part))

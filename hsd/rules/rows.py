"""Checks of what a program gives a rule: rows of probabilities and drafted tokens."""

from typing import Any

import torch
from torch import Tensor

from hsd.errors import HsdError

NEAR = 1e-3  # how far from 1 the sum of a row may be
NEAR_IN_HALF = 2e-2  # the same in 16 bits, in which a row loses its smallest numbers


def check_draft(p: Any, q: Any, tokens: Any) -> None:
    """Raise HsdError unless p (γ+1, V), q (γ, V) and tokens (γ,) are rows and ids of one draft."""
    for name, value in (("p", p), ("q", q), ("tokens", tokens)):
        if not isinstance(value, Tensor):
            raise HsdError(f"{name} is of the type {type(value).__name__}: give a torch tensor")
    gamma = len(tokens) if tokens.ndim == 1 else -1
    if p.ndim != 2 or p.shape[0] != gamma + 1 or q.shape != (gamma, p.shape[-1]):
        raise HsdError(
            f"p {tuple(p.shape)}, q {tuple(q.shape)}, tokens {tuple(tokens.shape)} "
            "do not fit: they must be (γ+1, V), (γ, V) and (γ,)"
        )
    if len({p.device, q.device, tokens.device}) > 1 or p.is_meta:
        raise HsdError(
            f"p, q and tokens are on {p.device}, {q.device} and {tokens.device}: put them on one "
            "device"
        )
    check_rows("p", p)
    check_rows("q", q)
    if tokens.dtype not in (torch.int64, torch.int32):
        raise HsdError(f"tokens are {tokens.dtype}: give ids as torch.int64")
    vocab = p.shape[-1]
    if gamma and not 0 <= int(tokens.min()) <= int(tokens.max()) < vocab:
        raise HsdError(f"tokens {tokens.tolist()}: give ids from 0 to {vocab - 1:,}"[:300])


def check_raw(raw: tuple[Tensor, Tensor], p: Tensor, q: Tensor) -> None:
    """Raise HsdError unless `raw` has rows of probabilities beside p and q."""
    if raw[0].shape not in (p.shape, q.shape) or raw[1].shape != q.shape:
        shapes = " and ".join(str(tuple(rows.shape)) for rows in raw)
        raise HsdError(
            f"raw rows {shapes} do not fit p and q: they must be (γ or γ+1, V) and (γ, V)"
        )
    for name, rows in zip(("raw p", "raw q"), raw, strict=True):
        check_rows(name, rows)


def check_rows(name: str, rows: Tensor) -> None:
    """Raise HsdError unless `rows` (n, V), n from 0 on, are probabilities that sum to 1."""
    if not rows.is_floating_point():
        raise HsdError(f"{name} is {rows.dtype}: give probabilities as torch.float32 or float64")
    if not len(rows):
        return
    rows = rows.detach()
    near = NEAR if rows.dtype in (torch.float32, torch.float64) else NEAR_IN_HALF
    sums = rows.sum(-1, dtype=torch.float64)
    least = float(rows.min())
    off = (sums - 1).abs()
    if least >= 0 and float(off.max()) <= near:
        return
    if not bool(rows.isfinite().all()):
        wrong = "has numbers that are not finite"
    elif least < 0:
        wrong = f"has the number {least:.3g}, below 0"
    else:
        wrong = f"has a row that sums to {float(sums[off.argmax()]):.4g}, not to 1"
    raise HsdError(f"{name} {wrong}: give probabilities, such as logits.softmax(-1)")

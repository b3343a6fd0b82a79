"""Sums over a vocabulary by the library for this processor, in double precision.

They are softmax, masses and the draw of a token.

Each returns None where there is no library, or where its tensors are not long rows of float32 on
the CPU: whoever asks then computes the same with torch, which takes several times as long.
"""

from typing import Any

import torch
from torch import Tensor

from hsd.engine.machine import usable
from hsd.engine.memory import address, fits, room

LONG = 2048  # numbers of a row from which on it pays
LANES = 8  # a row has a multiple of so many numbers


def library() -> dict[str, Any]:
    """Return the functions of the fastest library here by name, none where there is no library."""
    return usable()[0][0] if usable() else {}


def _fits(*rows: Tensor) -> bool:
    """Return whether C may read these tensors.

    They must have one shape, with long rows of float32, contiguous on the CPU.
    """
    shape = rows[0].shape
    width = rows[0].shape[-1]
    if width < LONG or width % LANES:
        return False
    return all(row.shape == shape and fits(row) for row in rows) and bool(library())


def soften(logits: Tensor, temperature: float) -> Tensor | None:
    """Return the softmax of logits (n, V) at a temperature above 0, (n, V) float32."""
    if not _fits(logits):
        return None
    rows, width = logits.shape
    found = room(rows, width)
    powers = room(width, dtype=torch.float64)
    begin = address(logits)
    to = address(found)
    powers_at = address(powers, torch.float64)
    for at in range(0, 4 * rows * width, 4 * width):
        library()["soften"](begin + at, width, temperature, to + at, powers_at)
    return found


def surplus(
    p: Tensor, q: Tensor, a: Tensor, b: Tensor | None = None
) -> tuple[Tensor, Tensor] | None:
    """Return Σ max(a p - b q, 0) and Σ max(b q - a p, 0) of rows (…, V), with factors (…).

    Both sums are (…) float64.
    """
    if not _fits(p, q):
        return None
    if any(factor is not None and factor.shape != p.shape[:-1] for factor in (a, b)):
        return None
    rows = a.numel()
    width = q.shape[-1]
    found = room(*q.shape[:-1], 2, dtype=torch.float64)
    p_at = address(p)
    q_at = address(q)
    found_at = address(found, torch.float64)
    of_p = a.flatten().tolist()
    of_q = [1.0] * rows if b is None else b.flatten().tolist()
    for row in range(rows):
        at = 4 * row * width
        place = found_at + 16 * row
        library()["surplus"](p_at + at, q_at + at, width, of_p[row], of_q[row], place)
    return found[..., 0], found[..., 1]


def pick(row: Tensor, number: Tensor) -> Tensor | None:
    """Return the token that a number in [0, 1) picks from a row (V,), () int64.

    It inverts the cumulative sum.
    """
    if not _fits(row):
        return None
    sums = room(len(row) // LANES, dtype=torch.float64)
    sums_at = address(sums, torch.float64)
    token = library()["pick"](address(row), len(row), float(number), sums_at)
    return torch.tensor(token, dtype=torch.int64, device="cpu")

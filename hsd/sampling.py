"""From logits to the distribution that is sampled, and from a row and a number to a token."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from hsd.engine import sums
from hsd.errors import HsdError

COLDEST = 1e-30  # below, logits divided by the temperature leave single precision
LEAST = 1e-37  # of top-p, likewise: the likeliest token alone has more
SPARE = 32  # how many tokens equal to the k-th likeliest top-k keeps besides it


@dataclass(frozen=True)
class Sampling:
    """How logits become probabilities; target and draft always use the same.

    temperature: 0 means greedy (all mass on the likeliest token). top_k: keep the k likeliest and
    those that equal the last of them, 0 keeps all. top_p: keep the fewest likeliest tokens whose
    mass reaches top_p, 1 keeps all. Raises HsdError when out of range.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise HsdError(f"{name} {value!r}: choose a number")
        if not (math.isfinite(self.temperature) and 0 <= self.temperature <= 100):
            raise HsdError(
                f"temperature {self.temperature}: choose a number from 0 (greedy) to 100"
            )
        if not 0 < self.top_p <= 1:
            raise HsdError(
                f"top-p {self.top_p}: choose a number above 0, up to 1 (1 keeps every token)"
            )
        if not isinstance(self.top_k, int) or self.top_k < 0:
            raise HsdError(
                f"top-k {self.top_k}: choose 0 (keep every token) or a whole positive number"
            )

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Sampling":
        """Return the sampling settings among `options`, by name; missing ones have their defaults.

        Raises HsdError.
        """
        return cls(**{name: options[name] for name in vars(cls()) if name in options})

    @property
    def greedy(self) -> bool:
        """Whether the temperature is 0: the likeliest token is taken and no random number used."""
        return self.temperature == 0

    def probabilities(self, logits: Tensor, exact: bool = False) -> Tensor:
        """Return probabilities (n, V) float32 of logits (n, V), rows summing to 1.

        They are after temperature, top-k and top-p. exact: exponentiate and sum in double
        precision, so that the result is the same on every machine.
        """
        if self.temperature < COLDEST:
            likeliest = logits.argmax(-1, keepdim=True)
            return torch.zeros_like(logits, dtype=torch.float32).scatter_(-1, likeliest, 1.0)
        whole = replace(self, temperature=1.0) == Sampling()  # nothing is cut off
        if exact and whole and (found := sums.soften(logits, self.temperature)) is not None:
            return found
        scaled = logits.float() / self.temperature
        kind = torch.float64 if exact else torch.float32
        if 0 < self.top_k < scaled.shape[-1]:
            # sorted, likeliest first
            values, index = scaled.topk(min(self.top_k + SPARE, scaled.shape[-1]), dim=-1)
            least = values[..., self.top_k - 1 : self.top_k]
            values = values.masked_fill(values < least, -torch.inf)
        elif self.top_p < 1:
            values, index = scaled.sort(dim=-1, descending=True)
        else:
            return scaled.softmax(-1, dtype=kind).float()
        kept = self._nucleus(values.softmax(-1, dtype=kind).float())
        return torch.zeros_like(scaled).scatter_(-1, index, kept)

    def _nucleus(self, ordered: Tensor) -> Tensor:
        """Return rows, sorted from likeliest to least likely, cut at top_p and normalised again."""
        if self.top_p >= 1:
            return ordered
        mass_before = ordered.cumsum(-1) - ordered
        kept = ordered.masked_fill(mass_before >= max(self.top_p, LEAST), 0.0)
        return kept / kept.sum(-1, keepdim=True)


def draw(row: Tensor, number: Tensor) -> Tensor:
    """Return the token () int64 that `number` (1,) in [0, 1) picks from `row` (V,).

    The cumulative sum is inverted. Equal numbers give equal tokens, whoever asks, and a token of
    probability 0 is never picked. Of rows (B, V) and numbers (B, 1), one of each: (B,).
    """
    if row.ndim == 1 and (token := sums.pick(row, number)) is not None:
        return token
    cumulative = row.double().cumsum(-1)
    total = cumulative[..., -1:].contiguous()
    picked = torch.searchsorted(cumulative, number * total, right=True)
    # Should number * total be all of total, the last token with mass is the right one.
    return torch.minimum(picked, torch.searchsorted(cumulative, total)).squeeze(-1)

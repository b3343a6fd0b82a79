"""Whether a pair fits: what it will need, computed before anything is loaded, against what is free.

1 GB is 10^9 bytes here, as in the sizes that makers of GPUs print.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from hsd.errors import HsdError
from hsd.models.loading.devices import Room
from hsd.models.loading.registry import PAIRS
from hsd.models.loading.sizes import QUANTISED, SIZES, Sizes

MARGIN = 1.05  # activations, and what an allocator cannot use
GPU_BASE = 0.7e9  # what a GPU's own libraries take before the first number is stored
CPU_BASE = 0.1e9


@dataclass(frozen=True)
class Need:
    """The memory, in bytes, that a pair takes on a device. drafting: the models below the target."""

    target: Sizes
    drafting: tuple[Sizes, ...]
    dtype: torch.dtype
    on_gpu: bool
    quantize: str | None = None

    @property
    def weights(self) -> tuple[float, float]:
        """Bytes of the target's weights, and of all that draft: these are never quantised, as they must be fast."""
        return self.target.weights(self.dtype, self.quantize), sum(m.weights(self.dtype) for m in self.drafting)

    @property
    def caches(self) -> float:
        return sum(model.cache(self.dtype) for model in (self.target, *self.drafting))

    @property
    def total(self) -> float:
        base = GPU_BASE if self.on_gpu else CPU_BASE
        return (sum(self.weights) + self.caches) * MARGIN + base


def refusal(name: str, need: Need, room: Room) -> HsdError:
    """Return the error, in one line, that a pair needs more memory than there is, with what would fit."""
    (target, draft), free = need.weights, room.free or 0.0
    parts = f"target {_gb(target)}, draft {_gb(draft)}, caches {_gb(need.caches)}"
    advice = ", or ".join([*_settings_that_fit(need, free), _pair_that_fits(name, need, free)])
    return HsdError(
        f"{name[:80]} needs about {_gb(need.total)} GB of memory ({parts}), {_gb(free)} GB are free on {room.name}: "
        f"choose {advice}"
    )


def _settings_that_fit(need: Need, free: float) -> list[str]:
    """Return settings, in words, with which the same models would fit; [] if there are none."""
    half = replace(need, dtype=torch.bfloat16)
    if need.dtype == torch.float32 and half.total <= free:
        return ["dtype bfloat16"]
    if need.on_gpu and need.quantize is None:
        return [f"quantize={kind}" for kind in QUANTISED if replace(half, quantize=kind).total <= free][:1]
    return []


def _pair_that_fits(name: str, need: Need, free: float) -> str:
    """Return the largest smaller pair of the registry that would fit, of the same family if there is one."""
    family = name.split("-")[0]
    size = sum(model.parameters for model in (need.target, *need.drafting))
    for like, tail in ((need, ""), (replace(need, dtype=torch.bfloat16), " with dtype bfloat16")):
        fitting = [
            (pair.name.split("-")[0] == family, pair.parameters, pair.name)
            for pair in PAIRS.values()
            if pair.parameters < size
            and replace(like, target=SIZES[pair.target], drafting=(SIZES[pair.draft],)).total <= free
        ]
        if fitting:
            return f"the pair {max(fitting)[2]}{tail}"
    return "the pair tiny"


def _gb(count: float) -> str:
    return f"{count / 1e9:,.1f}"

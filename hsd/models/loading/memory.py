"""Whether a pair fits: where it can be loaded and what is free there, against what it will need, before it is loaded.

1 GB is 10^9 bytes here, as in the sizes that makers of GPUs print.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from hsd.errors import HsdError
from hsd.models.loading.registry import PAIRS
from hsd.models.loading.sizes import QUANTISED, SIZES, Sizes

SHARDED = "sharded"  # of device maps: every layer of the target is shared by the processes of torchrun
MARGIN = 1.05  # activations, and what an allocator cannot use
GPU_BASE = 0.7e9  # what a GPU's own libraries take before the first number is stored
CPU_BASE = 0.1e9


@dataclass(frozen=True)
class Room:
    """A device, or several, that a pair may be loaded on; `name` is for messages.

    device_map: how the target is spread over devices, None for one. free: free bytes, None if unknown.
    """

    device_map: str | None
    free: float | None
    name: str

    def holds(self, count: float) -> bool:
        """Return whether this many bytes fit, as far as is known."""
        return self.free is None or count <= self.free


def rooms(device: str, device_map: str | None) -> list[Room]:
    """Return the places where a pair can be loaded, best first. device_map: the user's; None if not given."""
    gpus = torch.cuda.device_count() if device.startswith("cuda") else 0
    alone = Room(device_map, free_on(device), "this computer" if device == "cpu" else device)
    if gpus < 2 or (device_map is None and device != "cuda"):
        return [alone]
    free = [count for count in map(_free_on_gpu, range(gpus)) if count is not None]
    together = Room(device_map or "auto", sum(free) if free else None, f"{gpus} GPUs")
    return [alone, together] if device_map is None else [together]


def share(key_heads: int, device: str) -> None:
    """Make ready to share a target with so many groups of keys. Raises HsdError where that cannot be."""
    if not (count := int(os.environ.get("WORLD_SIZE", "0"))):
        raise HsdError("device map sharded is for several processes: start them by torchrun --nproc-per-node 2 -m hsd")
    if key_heads % count:
        raise HsdError(f"{count} processes cannot share {key_heads} groups of keys: start a number that divides these")
    if device == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))


def free_on(device: str) -> float | None:
    """Return free bytes on one device ("cuda:1", "mps", "cpu"); None if unknown."""
    kind, _, index = device.partition(":")
    if kind == "cuda":
        return _free_on_gpu(int(index) if index else None)
    if kind == "mps":
        return float(torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory())
    return free_ram()


def _free_on_gpu(index: int | None) -> float | None:
    """Free bytes, with those that torch holds but does not use; None where a GPU is lent only later (ZeroGPU).

    index: None for the current GPU.
    """
    try:
        free, _ = torch.cuda.mem_get_info(index)
    except (RuntimeError, AssertionError):
        return None
    return float(free + torch.cuda.memory_reserved(index) - torch.cuda.memory_allocated(index))


def free_ram(root: Path = Path("/")) -> float | None:
    """Return free bytes of this machine's memory, or of the container's share of it. Only Linux tells."""
    bounds = []
    with suppress(OSError, StopIteration):
        lines = (root / "proc/meminfo").read_text().splitlines()
        bounds.append(float(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) * 1024)
    with suppress(OSError, ValueError):  # no limit: "max"
        group = root / "sys/fs/cgroup"
        used, limit = (int((group / f"memory.{name}").read_text()) for name in ("current", "max"))
        lines = (group / "memory.stat").read_text().splitlines()  # cached files do not count as used
        bounds.append(limit - used + sum(float(line.split()[1]) for line in lines if line.startswith("inactive_file ")))
    return min(bounds, default=None)


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

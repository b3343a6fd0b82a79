"""Where a pair can be loaded, and the free bytes there: on one device, on all GPUs together, on this computer."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from hsd.errors import HsdError

SHARDED = "sharded"  # of device maps: every layer of the target is shared by the processes of torchrun


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
    together = Room(device_map or "auto", free_on_all_gpus(), f"{gpus} GPUs")
    if gpus > 1 and device_map is not None:
        return [together]
    return [alone, together] if gpus > 1 and device == "cuda" else [alone]


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


def free_on_all_gpus() -> float | None:
    """Return free bytes of all GPUs together."""
    found = [_free_on_gpu(index) for index in range(torch.cuda.device_count())]
    return sum(count for count in found if count is not None) if found else None


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
    found = [_try(lambda: _available(root / "proc/meminfo")), _try(lambda: _share(root / "sys/fs/cgroup"))]
    return min((count for count in found if count is not None), default=None)


def _try(read: Callable[[], float]) -> float | None:
    try:
        return read()
    except (OSError, ValueError, StopIteration):
        return None


def _available(file: Path) -> float:
    line = next(line for line in file.read_text().splitlines() if line.startswith("MemAvailable:"))
    return float(line.split()[1]) * 1024


def _share(folder: Path) -> float:
    """Return the bytes that a container may still use: its limit less its use, where cached files do not count."""
    used, limit = int((folder / "memory.current").read_text()), int((folder / "memory.max").read_text())  # or "max"
    lines = (folder / "memory.stat").read_text().splitlines()
    return float(limit - used + sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file ")))

"""Where a pair can be loaded, and the free bytes there: on one device, on all GPUs together, on this computer."""

from __future__ import annotations

import os
from contextlib import suppress
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
    found = []
    with suppress(OSError, StopIteration):
        lines = (root / "proc/meminfo").read_text().splitlines()
        found.append(float(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) * 1024)
    with suppress(OSError, ValueError):  # no limit: "max"
        group = root / "sys/fs/cgroup"
        used, limit = (int((group / f"memory.{name}").read_text()) for name in ("current", "max"))
        lines = (group / "memory.stat").read_text().splitlines()  # cached files do not count as used
        found.append(limit - used + sum(float(line.split()[1]) for line in lines if line.startswith("inactive_file ")))
    return min(found, default=None)

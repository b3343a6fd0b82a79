"""Seconds of a run's forward passes, and the machine that they ran on."""

import os
import platform
import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from hsd.models.base import Pair
from hsd.models.reading import Reader
from hsd.models.threads import threads_of


@dataclass
class CallTimes:
    """Seconds of every forward pass of one model, by the number of tokens it read.

    The first one, which reads the prompt, is kept apart.
    """

    first: float | None = None
    by_width: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, width: int, seconds: float) -> None:
        if self.first is None:
            self.first = seconds
        else:
            self.by_width[width].append(seconds)

    def summary(self) -> dict[str, Any]:
        """widths: by width how many calls, their seconds in all, and the median of one."""
        rows = sorted(self.by_width.items())
        widths = {str(w): [len(times), sum(times), statistics.median(times)] for w, times in rows}
        return {"first": self.first or 0.0, "widths": widths}


def timed(readers: Sequence[Reader]) -> Callable[[], dict[str, Any]]:
    """Time the forward passes of a run's readers, smallest model first, from now on.

    Returns what gives their times so far by level, each as `CallTimes.summary` has them.
    "target" is the last one; "draft" what drafts for it: the draft model, or the exit below the target; "level 0" and
    so on what is under that one, smallest first.
    """
    names = [*(f"level {i}" for i in range(len(readers) - 2)), "draft", "target"][-len(readers) :]
    times = {name: CallTimes() for name in ("target", "draft", *names)}
    for reader, name in zip(readers, names, strict=False):
        reader.watch = times[name].add
    return lambda: {name: of_level.summary() for name, of_level in times.items()}


def machine(pair: Pair) -> dict[str, Any]:
    """Return what identifies the machine, versions and precision behind a measured number, for a file."""
    device = pair.target.device
    return {
        "device": f"{device} ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else str(device),
        "processor": processor(), "cores": os.cpu_count(), "threads": threads_of(pair.target),
        "load": round(os.getloadavg()[0], 2), "dtype": pair.target.dtype, "python": platform.python_version(),
        "torch": torch.__version__, "transformers": version("transformers"),
    }  # fmt: skip


def processor() -> str:
    """Return the processor's name, as far as the system tells it."""
    file = Path("/proc/cpuinfo")
    named = re.search(r"^model name\s*:\s*(.+)", file.read_text(encoding="utf-8") if file.is_file() else "", re.M)
    return named[1] if named else platform.processor() or platform.machine()

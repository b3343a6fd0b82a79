"""Sessions whose forward passes are timed, and the machine that they ran on."""

import os
import platform
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from hsd.models.base import Pair, Session, View
from hsd.models.reading import Reader
from hsd.models.threads import settle_threads


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


class TimedSession:
    """A session whose forward passes are timed. Everything else is the session's own."""

    def __init__(self, session: Session, times: CallTimes) -> None:
        self._session, self._times = session, times

    def forward(self, tokens: Tensor, keep: int, view: View | None = None) -> Tensor:
        begin = time.perf_counter()
        logits = self._session.forward(tokens, keep, view)
        if logits.device.type == "cuda":
            torch.cuda.synchronize()
        self._times.add(len(tokens), time.perf_counter() - begin)
        return logits

    def fill(self, to: int, tokens: Sequence[int], keep: int) -> None:
        """Time `fill` of a text of the portable engine, see `hsd.models.small.model.Text.fill`."""
        begin = time.perf_counter()
        self._session.fill(to, tokens, keep)  # type: ignore[attr-defined]
        self._times.add(len(tokens), time.perf_counter() - begin)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def timed(readers: Sequence[Reader]) -> Callable[[], dict[str, Any]]:
    """Time the forward passes of a run's readers, smallest model first, from now on.

    Returns what gives their times so far by level, each as `CallTimes.summary` has them.
    "target" is the last one; "draft" what drafts for it: the draft model, or the exit below the target; "level 0" and
    so on what is under that one, smallest first.
    """
    names = [*(f"level {i}" for i in range(len(readers) - 2)), "draft", "target"][-len(readers) :]
    times = {name: CallTimes() for name in ("target", "draft", *names)}
    for reader, name in zip(readers, names, strict=False):
        reader.session = cast(Session, TimedSession(reader.session, times[name]))
    return lambda: {name: of_level.summary() for name, of_level in times.items()}


def machine(pair: Pair) -> dict[str, Any]:
    """Return what identifies the machine, versions and precision behind a measured number, for a file."""
    versions = {"torch": torch.__version__, "transformers": version("transformers")}
    return {
        "device": _device_name(pair.target.device), "processor": _processor(), "cores": os.cpu_count(),
        "threads": settle_threads(pair).most, "load": round(os.getloadavg()[0], 2), "dtype": pair.target.dtype,
        "python": platform.python_version(), **versions,
    }  # fmt: skip


def _device_name(device: torch.device) -> str:
    return f"{device} ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else str(device)


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()

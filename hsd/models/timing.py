"""Models whose forward passes are timed, and the machine that they ran on."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import torch
from torch import Tensor

from hsd.models.base import LanguageModel, Pair, Session, View
from hsd.models.exits import EarlyExits
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


class TimedModel:
    """A model whose forward passes are timed. Everything else is the model's own.

    of_exits: the times of its early exits, shallowest first, where these are timed too.
    """

    def __init__(self, model: LanguageModel, times: CallTimes, of_exits: Sequence[CallTimes] = ()) -> None:
        self._model, self._times, self._of_exits = model, times, of_exits
        self.itself = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def start(self) -> Session:
        return cast(Session, TimedSession(self._model.start(), self._times))

    def early_exits(self, exits: Sequence[int]) -> Any:
        """Return the model and its exits, see `hsd.models.exits`; sessions that are opened are timed."""
        levels = EarlyExits(self._model, exits)
        times = [*self._of_exits[len(self._of_exits) - len(exits) :], self._times]
        return SimpleNamespace(
            depths=levels.depths, models=levels.models, open=lambda: [*map(TimedSession, levels.open(), times)]
        )


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
        """Read as a text of the portable engine does."""
        begin = time.perf_counter()
        self._session.fill(to, tokens, keep)  # type: ignore[attr-defined]
        self._times.add(len(tokens), time.perf_counter() - begin)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def timed(pair: Pair) -> tuple[Pair, dict[str, CallTimes]]:
    """Return the pair with all its models timed, and the times by level.

    "target" is the target's; "draft" those of what drafts for it: the draft model, or the exit below the target; "level
    0" and so on those of what is under that one, smallest first.
    """
    times = {name: CallTimes() for name in ("target", "draft", *(f"level {i}" for i in range(len(pair.smaller) or 1)))}
    under = [times[f"level {i}"] for i in range(len(pair.smaller))]
    smaller = [TimedModel(model, t) for model, t in zip(pair.smaller, under, strict=True)]
    draft = TimedModel(pair.draft, times["draft"])
    target = TimedModel(pair.target, times["target"], (times["level 0"], times["draft"]))
    return replace(pair, target=target, draft=draft, smaller=tuple(smaller)), times


def call_summaries(times: dict[str, CallTimes]) -> dict[str, Any]:
    """Return the times of a run's levels as plain data, without levels below the draft that were never called."""
    return {name: t.summary() for name, t in times.items() if name in ("target", "draft") or t.first is not None}


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

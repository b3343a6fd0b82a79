"""Cases run in turn on the same prompts, timed inside and outside the models' forward passes.

Machines drift: cases take turns on every prompt, so that a slow minute hits all of them, and the first repetition is
dropped. Every run gives one `Record`, plain data; everything that is reported is computed from records alone.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from hsd.decoding.loop import run
from hsd.errors import HsdError
from hsd.models import LanguageModel, Pair, Session, View
from hsd.models.exits import EarlyExits
from hsd.trace import Trace

Record = dict[str, Any]
Runner = Callable[[Pair, str, int], Record]


@dataclass(frozen=True)
class Case:
    """A way to decode, with a name: keyword options of `hsd.run`, or a `runner` of its own for another library.

    A runner takes pair, prompt and seed, and returns at least new_tokens, target_calls, seconds and calls.
    """

    name: str
    options: dict[str, Any]
    runner: Runner | None = None


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
        found = sorted(self.by_width.items())
        widths = {str(w): [len(times), sum(times), statistics.median(times)] for w, times in found}
        return {"first": self.first or 0.0, "widths": widths}


class TimedModel:
    """A model whose forward passes are timed. Everything else is the model's own."""

    def __init__(self, model: LanguageModel, times: CallTimes) -> None:
        self._model, self._times = model, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def start(self) -> Session:
        return TimedSession(self._model.start(), self._times)


class TimedExits(TimedModel):
    """A model whose early exits are timed as well. by_level: the times of the exits, shallowest first."""

    def __init__(self, model: LanguageModel, times: CallTimes, by_level: Sequence[CallTimes]) -> None:
        super().__init__(model, times)
        self._by_level = by_level

    def early_exits(self, exits: Sequence[int]) -> Any:
        """The model and its exits, see `hsd.models.exits`; sessions that are opened are timed."""
        made = EarlyExits(self._model, exits)
        times = [*self._by_level[len(self._by_level) - len(exits) :], self._times]
        return SimpleNamespace(
            depths=made.depths,
            models=made.models,
            open=lambda: [TimedSession(s, t) for s, t in zip(made.open(), times, strict=True)],
        )


class TimedSession:
    """A session whose forward passes are timed."""

    def __init__(self, session: Session, times: CallTimes) -> None:
        self._session, self._times = session, times

    @property
    def length(self) -> int:
        return self._session.length

    def forward(self, tokens: Tensor, keep: int, view: View | None = None) -> Tensor:
        begin = time.perf_counter()
        logits = self._session.forward(tokens, keep, view)
        if logits.device.type == "cuda":
            torch.cuda.synchronize()
        self._times.add(len(tokens), time.perf_counter() - begin)
        return logits

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def crop(self, length: int) -> None:
        self._session.crop(length)

    def select(self, columns: list[int]) -> None:
        self._session.select(columns)

    def close(self) -> None:
        self._session.close()


def fitting(pair: Pair, prompts: Sequence[str], new_tokens: int) -> list[tuple[int, str]]:
    """The prompts that leave room for the new tokens, numbered. Raises HsdError when none does."""
    context = min(model.context for model in pair.models)
    found = [(i, p) for i, p in enumerate(prompts) if len(pair.codec.encode(p)) + new_tokens <= context]
    if not found:
        raise HsdError(f"no prompt leaves room for {new_tokens} new tokens in {context:,}: choose fewer new tokens")
    return found


def measure(
    pair: Pair, cases: Sequence[Case], prompts: Sequence[tuple[int, str]], repetitions: int, warm: bool = False
) -> Iterator[Record]:
    """Run every case on every prompt `repetitions` times after one run that is dropped, seeds equal across cases.

    prompts: number and text; the number makes the seed, so that a part of the prompts, on another process, is measured
    as it would be with all of them. Yields one record per run that counts: case, prompt, repetition, seed, the sums
    that statistics are made of, and the times of both models' calls. warm: the others too, as repetition 0.
    """
    for repetition in range(repetitions + 1):
        for number, prompt in prompts:
            for case in cases:
                seed = 1_000 * repetition + number
                record = (case.runner or _own(case))(pair, prompt, seed)
                if repetition or warm:
                    yield {"case": case.name, "prompt": number, "repetition": repetition, "seed": seed, **record}


def timed(pair: Pair) -> tuple[Pair, dict[str, CallTimes]]:
    """The pair with all its models timed, and the times by level.

    "target" is the target's; "draft" those of what drafts for it: the draft model, or the exit below the target; "level
    0" and so on those of what is under that one, smallest first.
    """
    times = {name: CallTimes() for name in ("target", "draft", *(f"level {i}" for i in range(len(pair.smaller) or 1)))}
    under = [times[f"level {i}"] for i in range(len(pair.smaller))]
    smaller = [TimedModel(model, t) for model, t in zip(pair.smaller, under, strict=True)]
    draft = TimedModel(pair.draft, times["draft"])
    target = TimedExits(pair.target, times["target"], (times["level 0"], times["draft"]))
    return replace(pair, target=target, draft=draft, smaller=tuple(smaller)), times


def call_summaries(times: dict[str, CallTimes]) -> dict[str, Any]:
    """The times of a run's levels as plain data; levels that were not asked are left out, target and draft never."""
    return {name: t.summary() for name, t in times.items() if name in ("target", "draft") or t.first is not None}


def _own(case: Case) -> Runner:
    """The runner of a case that is decoded here."""

    def runner(pair: Pair, prompt: str, seed: int) -> Record:
        watched, times = timed(pair)
        trace = run(watched, prompt, seed=seed, **case.options)
        return {**sums(trace), "calls": call_summaries(times)}

    return runner


def sums(trace: Trace) -> Record:
    """What statistics are made of. positions: for i = 1, 2, … the steps that kept, and that drafted, at least i."""
    stats, steps = trace.stats(), trace.steps
    longest = max((step.depth for step in steps), default=0)
    positions = [[sum(s.kept >= i for s in steps), sum(s.depth >= i for s in steps)] for i in range(1, longest + 1)]
    names = ("new_tokens", "target_calls", "steps", "drafted", "kept", "calls_below", "seconds", "time")
    histogram = {str(kept): count for kept, count in sorted(Counter(s.kept for s in steps).items())}
    return {**{name: stats[name] for name in names}, "positions": positions, "kept_histogram": histogram}


def machine(pair: Pair) -> dict[str, Any]:
    """What a number was measured on."""
    return {
        "device": _device_name(pair.target.device),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "load": round(os.getloadavg()[0], 2),
        "dtype": pair.target.dtype,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": version("transformers"),
    }


def _device_name(device: torch.device) -> str:
    return f"{device} ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else str(device)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()

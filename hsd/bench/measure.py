"""Cases run in turn on the same prompts, timed inside and outside the models' forward passes.

Machines drift: cases take turns on every prompt, so that a slow minute hits all of them, the first repetition
is dropped, and medians over repetitions are reported. Ratios are taken within a repetition.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hsd.loop import run
from hsd.models import LanguageModel, Pair, Session, View
from hsd.trace import Trace

Stats = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A way to decode, with a name: keyword options of `hsd.run`."""

    name: str
    options: dict[str, Any]


@dataclass
class CallTimes:
    """Seconds of every forward pass of one model, by the number of tokens it read."""

    by_width: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))

    @property
    def total(self) -> float:
        return sum(map(sum, self.by_width.values()))

    def median(self, width: int) -> float:
        """Median seconds of a call of that width; NaN if there was none."""
        return statistics.median(self.by_width[width]) if self.by_width.get(width) else float("nan")


class TimedModel:
    """A model whose forward passes are timed. Everything else is the model's own."""

    def __init__(self, model: LanguageModel, times: CallTimes) -> None:
        self._model, self._times = model, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def start(self) -> Session:
        return TimedSession(self._model.start(), self._times)


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
        self._times.by_width[len(tokens)].append(time.perf_counter() - begin)
        return logits

    def crop(self, length: int) -> None:
        self._session.crop(length)

    def select(self, columns: list[int]) -> None:
        self._session.select(columns)

    def close(self) -> None:
        self._session.close()


@dataclass
class Measurement:
    """All runs of one case: statistics per (repetition, prompt), and the times of the models' calls."""

    case: Case
    stats: list[list[Stats]] = field(default_factory=list)
    target: CallTimes = field(default_factory=CallTimes)
    draft: CallTimes = field(default_factory=CallTimes)

    def tokens_per_second(self) -> list[float]:
        """One value per repetition: new tokens over seconds, prefill included."""
        return [_ratio(row, "new_tokens", "seconds") for row in self.stats]

    def block_efficiency(self) -> tuple[float, float, float]:
        """Committed tokens per target call, and its 95 % interval by a bootstrap over prompts."""
        return bootstrap(self.stats, lambda rows: _ratio(rows, "new_tokens", "target_calls"))

    def acceptance_rate(self) -> tuple[float, float, float]:
        """Kept per drafted token, with its interval."""
        return bootstrap(self.stats, lambda rows: _ratio(rows, "kept", "drafted"))

    def outside_ms_per_step(self) -> float:
        """Milliseconds per step that pass outside the two models' forward passes."""
        rows = [stats for row in self.stats for stats in row]
        seconds = sum(s["seconds"] for s in rows) - self.target.total - self.draft.total
        return 1e3 * seconds / sum(s["steps"] for s in rows)


def measure(pair: Pair, cases: Sequence[Case], prompts: Sequence[str], repetitions: int) -> list[Measurement]:
    """Run every case on every prompt `repetitions` times after one run that is dropped, seeds equal across cases."""
    results = [Measurement(case) for case in cases]
    for repetition in range(repetitions + 1):
        rows: list[list[Stats]] = [[] for _ in cases]
        for number, prompt in enumerate(prompts):
            for result, row in zip(results, rows, strict=True):
                seed = 1_000 * repetition + number
                row.append(_timed_run(pair, prompt, result, seed, counted=repetition > 0).stats())
        if repetition:
            for result, row in zip(results, rows, strict=True):
                result.stats.append(row)
    return results


def limit(plain: Measurement, other: Measurement, gamma: int) -> float:
    """S* = A T(1) / (γ d + T(γ+1)): the speed-up if nothing but the models' forward passes took time."""
    efficiency, _, _ = other.block_efficiency()
    round_time = gamma * other.draft.median(1) + other.target.median(gamma + 1)
    return efficiency * plain.target.median(1) / round_time


def bootstrap(
    rows: list[list[Stats]], statistic: Callable[[list[Stats]], float], samples: int = 1_000
) -> tuple[float, float, float]:
    """The statistic of all runs, and its 95 % interval when prompts are drawn anew with replacement."""
    by_prompt = list(zip(*rows, strict=True))
    rng = np.random.default_rng(0)
    draws = rng.integers(len(by_prompt), size=(samples, len(by_prompt)))
    values = [statistic([s for i in draw for s in by_prompt[i]]) for draw in draws]
    low, high = np.percentile(values, [2.5, 97.5])
    return statistic([s for prompt in by_prompt for s in prompt]), float(low), float(high)


def machine(pair: Pair) -> dict[str, Any]:
    """What a number was measured on."""
    return {
        "device": str(pair.target.device),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "load": round(os.getloadavg()[0], 2),
        "dtype": pair.target.dtype,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": version("transformers"),
    }


def _timed_run(pair: Pair, prompt: str, result: Measurement, seed: int, counted: bool) -> Trace:
    target, draft = (result.target, result.draft) if counted else (CallTimes(), CallTimes())
    timed = replace(pair, target=TimedModel(pair.target, target), draft=TimedModel(pair.draft, draft))
    return run(timed, prompt, seed=seed, **result.case.options)


def _ratio(rows: Sequence[Stats], above: str, below: str) -> float:
    total = sum(s[below] for s in rows)
    return sum(s[above] for s in rows) / total if total else 0.0

"""The machine that models compute on: what identifies it, and a target's threads on a CPU.

Larger models take more: beside a small one a further thread waits for the others at every product,
and slows it down. On a busy machine a target takes one thread, as others would wait for a
processor. What tells is the share of a step's time in which its thread had one. The caller's own
number of threads comes back after every step.
"""

import os
import platform
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from hsd.models.base import LanguageModel, Pair

PER_THREAD = 50_000_000  # parameters that keep a thread busy enough
# The share of a step's time in which its thread had a processor: below BUSY others want it, above
# QUIET they do not.
BUSY = 0.6
QUIET = 0.85
PATIENCE = 8  # quiet steps on one thread until several are tried again, at first
LONGEST = 512  # the same, at most


class OtherWork:
    """Whether other work keeps this machine busy, by what steps on several threads have found.

    waiting: quiet steps to come on one thread. patience: how many there will be after the next busy
    step.
    """

    waiting = 0
    patience = PATIENCE

    def learn(self, share: float) -> None:
        """Wait on one thread after a busy step.

        share: the part of the step's time in which its thread had a processor.
        """
        if self.waiting:
            # steps of several threads count down together
            self.waiting = max(0, self.waiting - (share > QUIET))
        elif share < BUSY:
            self.waiting = self.patience
            self.patience = min(2 * self.patience, LONGEST)
        elif self.patience > PATIENCE:
            self.patience -= 1


OTHERS = OtherWork()


def threads_of(target: LanguageModel) -> int:
    """Return how many threads a target computes with on a quiet machine.

    At most as many as torch uses in the calling thread.
    """
    most = torch.get_num_threads()
    return (
        most if target.device.type != "cpu" else max(1, min(most, target.parameters // PER_THREAD))
    )


@contextmanager
def computing(pair: Pair) -> Iterator[None]:
    """A context manager that sets the threads for a pair.

    Torch gets one where the target's engine has its own. Every model with an engine has the same.
    """
    target = pair.target
    before = torch.get_num_threads()
    most = threads_of(target)
    if target.device.type != "cpu":
        yield
        return
    count = 1 if OTHERS.waiting else most
    own = [model.use_threads for model in pair.models if hasattr(model, "use_threads")]
    computed = time.thread_time()
    begin = time.perf_counter()
    try:
        torch.set_num_threads(1 if hasattr(target, "use_threads") else count)
        for use_threads in own:
            use_threads(count)
        yield
    finally:
        torch.set_num_threads(before)
        if most > 1:
            OTHERS.learn((time.thread_time() - computed) / max(time.perf_counter() - begin, 1e-9))


def machine(pair: Pair) -> dict[str, Any]:
    """Return the machine, versions and precision behind a measured number, for a file."""
    device = pair.target.device
    title = str(device)
    if device.type == "cuda":
        title = f"{device} ({torch.cuda.get_device_name(device)})"
    return {
        "device": title,
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": threads_of(pair.target),
        "load": _load(),
        "dtype": pair.target.dtype,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": version("transformers"),
    }


def _load() -> float | None:
    """Return the mean number of programs at work in the last minute, None where nothing tells."""
    with suppress(AttributeError, OSError):
        return round(os.getloadavg()[0], 2)
    return None


def processor() -> str:
    """Return the processor's name, as far as the system tells it."""
    file = Path("/proc/cpuinfo")
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    named = re.search(r"^model name\s*:\s*(.+)", text, re.M)
    return named[1] if named else platform.processor() or platform.machine()

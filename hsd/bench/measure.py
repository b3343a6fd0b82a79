"""Cases run in turn on the same prompts, timed inside and outside the models' forward passes.

Machines drift: cases take turns on every prompt, so that a slow minute hits all of them, and what warms up is
dropped. Every run gives one `Record`, plain data; everything that is reported is computed from records alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from hsd.decoding.loop import run
from hsd.errors import HsdError
from hsd.models import Pair
from hsd.models.timing import call_summaries, timed
from hsd.trace import Trace

Record = dict[str, Any]
Runner = Callable[[Pair, str, int], Record]
WARM = 4  # prompts that are run once before anything counts
NO_CALLS = {"first": 0.0, "widths": {}}  # of a case that does not report its forward passes


@dataclass(frozen=True)
class Case:
    """A way to decode, with a name: keyword options of `hsd.run`, or a `runner` of its own for another library.

    A runner takes pair, prompt and seed, and returns at least new_tokens, target_calls, seconds and calls.
    """

    name: str
    options: dict[str, Any]
    runner: Runner | None = None


def fitting(pair: Pair, prompts: Sequence[str], new_tokens: int) -> list[tuple[int, str]]:
    """Number the prompts and return those that leave room for the new tokens. Raises HsdError when none does."""
    context = min(model.context for model in pair.models)
    numbered = [(i, p) for i, p in enumerate(prompts) if len(pair.codec.encode(p)) + new_tokens <= context]
    if not numbered:
        raise HsdError(f"no prompt leaves room for {new_tokens} new tokens in {context:,}: choose fewer new tokens")
    return numbered


def measure(
    pair: Pair, cases: Sequence[Case], prompts: Sequence[tuple[int, str]], repetitions: int, warm: bool = False
) -> Iterator[Record]:
    """Run every case on every prompt `repetitions` times, seeds equal across cases, and yield a record of each run.

    prompts: number and text; the number makes the seed, so that a part of the prompts, on another process, is measured
    as it would be with all of them. A record has case, prompt, repetition, seed, the sums that statistics are made of,
    and the times of both models' calls. A first run on the first `WARM` prompts is dropped; warm: it is yielded too, as
    repetition 0.
    """
    for repetition in range(repetitions + 1):
        for number, prompt in prompts if repetition else prompts[:WARM]:
            for case in cases:
                seed = 1_000 * repetition + number
                record = (case.runner or partial(_own, case.options))(pair, prompt, seed)
                if repetition or warm:
                    yield {"case": case.name, "prompt": number, "repetition": repetition, "seed": seed, **record}


def _own(options: dict[str, Any], pair: Pair, prompt: str, seed: int) -> Record:
    """Decode one prompt with this project's loop and return its record."""
    watched, times = timed(pair)
    trace = run(watched, prompt, seed=seed, **options)
    return {**sums(trace), "calls": call_summaries(times)}


def sums(trace: Trace) -> Record:
    """Return the sums of a run. positions: for i = 1, 2, … how many steps kept, and drafted, at least i tokens."""
    stats, steps = trace.stats(), trace.steps
    longest = max((step.depth for step in steps), default=0)
    positions = [[sum(s.kept >= i for s in steps), sum(s.depth >= i for s in steps)] for i in range(1, longest + 1)]
    names = ("new_tokens", "target_calls", "steps", "drafted", "kept", "calls_below", "seconds", "time")
    histogram = {str(kept): count for kept, count in sorted(Counter(s.kept for s in steps).items())}
    return {**{name: stats[name] for name in names}, "positions": positions, "kept_histogram": histogram}

"""Statistics of a run, by the definitions that hold everywhere in this project."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hsd.trace.step import Step


def statistics(steps: list[Step], seconds: float) -> dict[str, Any]:
    """Return the numbers that are quoted about a run.

    Block efficiency is committed tokens per target call, correction and bonus included, prefill not counted.
    Acceptance at position i: of the steps that drafted at least i tokens, the share that kept at least i.
    `calls_below` are the forward calls of each level under the target, smallest first, where they were counted.
    `tokens_per_second` counts the whole run, prefill included.
    """
    tokens = sum(len(s.committed) for s in steps)
    calls = sum(s.target_calls for s in steps)
    drafted, kept = sum(s.drafted for s in steps), sum(s.kept for s in steps)
    longest = max((s.depth for s in steps), default=0)
    return {
        "new_tokens": tokens,
        "steps": len(steps),
        "target_calls": calls,
        "drafted": drafted,
        "kept": kept,
        "block_efficiency": tokens / calls if calls else 0.0,
        "acceptance_rate": kept / drafted if drafted else 0.0,
        "acceptance_by_position": [
            sum(s.kept >= i for s in steps) / sum(s.depth >= i for s in steps) for i in range(1, longest + 1)
        ],
        "kept_histogram": dict(sorted(Counter(s.kept for s in steps).items())),
        "calls_below": [sum(calls) for calls in zip(*([w.calls for w in s.below] for s in steps), strict=True)],
        "origins": dict(Counter(c.origin for s in steps for c in s.committed)),
        "seconds": seconds,
        "tokens_per_second": tokens / seconds if seconds else 0.0,
        "time": {k: sum(getattr(s.times, k) for s in steps) for k in ("draft", "target", "verify", "rest")},
    }

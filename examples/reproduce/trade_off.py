"""The fuzzy rule's trade-off: what a tolerance gains, and what it costs. `measure_fuzzy.py` draws the curve."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that this runs without installing the package

from hsd.bench import Record
from hsd.bench.fuzzy import EXACT
from hsd.bench.summary import ratio_interval
from hsd.trace import Step, Trace

Point = dict[str, Any]


def drift(step: Step, tolerance: float) -> float:
    """Σ D over the kept tokens with D ≤ tolerance: what a step of the fuzzy rule spent. At most tolerance × kept."""
    return sum(value for value in step.divergences[: step.kept] if value <= tolerance)


def overruled(step: Step) -> int:
    """How many kept tokens the exact test, coin < min(1, p/q), would have rejected."""
    return sum(node.coin >= min(1.0, node.p / node.q) for node in step.nodes[: step.kept] if node.q > 0)


def counts(trace: Trace) -> Record:
    """What a point of the trade-off is made of, from one traced run with one draft."""
    asked, stats = trace.setup.options, trace.stats()
    names = ("new_tokens", "target_calls", "steps", "drafted", "kept", "seconds")
    tolerance = asked.fuzzy.tolerance if asked.rule == "fuzzy" else EXACT
    return {
        **{name: stats[name] for name in names},
        "answers": 1,
        "drift": sum(drift(step, tolerance) for step in trace.steps),
        "overruled": sum(overruled(step) for step in trace.steps),
        "impossible": sum(node.p == 0 for step in trace.steps for node in step.nodes[: step.kept]),
        "finished": int(trace.result.finish == "end"),
    }


RATIOS = {
    "tokens_per_call": ("new_tokens", "target_calls"),
    "drift": ("drift", "new_tokens"),
    "overruled": ("overruled", "kept"),
    "length": ("new_tokens", "answers"),
    "seconds": ("seconds", "answers"),
    "right": ("right", "answers"),
}


def point(records: Sequence[Record]) -> Point:
    """Where one setting lies, each number with its 95 % interval by a bootstrap over prompts.

    tokens_per_call: committed per target call. drift: nats (of total variation: shares) per new token. overruled: the
    share of kept tokens that the exact test would have rejected. length, seconds: of an answer. right: the share of
    right answers, where they can be checked. Also plain sums: answers, finished (by an end of text), impossible (kept
    tokens with p = 0).
    """
    known = {name: parts for name, parts in RATIOS.items() if all(parts[0] in record for record in records)}
    sums = {name: sum(record[name] for record in records) for name in ("answers", "finished", "impossible")}
    return {name: ratio_interval(records, *map(itemgetter, parts)) for name, parts in known.items()} | sums

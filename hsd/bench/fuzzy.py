"""The fuzzy rule's trade-off: which tolerance lets how much pass, what it gains, and what it costs.

A tolerance means little by itself: published ones do not carry over to other models or texts. `calibrate` finds those
of a pair and a text, in words that mean something: "accept 20 % of what would be rejected".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hsd.bench.measure import Record
from hsd.bench.summary import Interval, bootstrap, ratio
from hsd.decoding.loop import run
from hsd.errors import HsdError
from hsd.models import Pair
from hsd.trace import Step, Trace

EXACT = -1.0  # a tolerance that lets nothing pass
Point = dict[str, Any]


@dataclass(frozen=True)
class ExactTest:
    """One test of exact decoding: the divergence D at its position, and whether it rejected the drafted token."""

    divergence: float
    rejected: bool


@dataclass(frozen=True)
class Calibration:
    """All tests that exact decoding made on some prompts, with D in the given divergence and on the given rows."""

    divergence: str
    on: str
    tests: tuple[ExactTest, ...]

    @cached_property
    def rejected(self) -> tuple[float, ...]:
        """D of the rejected tokens, smallest first."""
        return tuple(sorted(test.divergence for test in self.tests if test.rejected))

    def tolerance(self, share: float) -> float:
        """The smallest tolerance that accepts this share of what exact decoding rejected here: a quantile of its D.

        0.2 means "accept 20 % of what would be rejected". 0 is exact decoding, and its tolerance -1; 1 is the largest D
        of a rejected token. Raises HsdError for a share outside 0 to 1, and where nothing was rejected.
        """
        if not isinstance(share, (int, float)) or not 0 <= share <= 1:
            raise HsdError(
                f"share {share!r}: choose a number from 0 to 1, such as 0.2 for 20 % of what would be rejected"
            )
        if not self.rejected:
            raise HsdError("exact decoding rejected nothing on these prompts: give more of them, or longer runs")
        return self.rejected[math.ceil(share * len(self.rejected)) - 1] if share > 0 else EXACT

    def share(self, tolerance: float) -> float:
        """What share of the rejected tokens that tolerance accepts; 0 where nothing was rejected."""
        return sum(value <= tolerance for value in self.rejected) / max(len(self.rejected), 1)


def calibrate(
    pair: Pair, prompts: Iterable[str], divergence: str = "kl", on: str = "warped", **options: object
) -> Calibration:
    """Decode the prompts exactly, token by token, and record D wherever a drafted token was tested.

    Prompt i has seed i. options: further keywords of `hsd.run`, the same as in the runs that the tolerance is for.
    """
    asked = {**options, "rule": "fuzzy", "divergence": divergence, "divergence_on": on, "tolerance": EXACT}
    asked["fuzzy_mode"] = "exact-first"  # the other mode makes no exact tests
    traces = (run(pair, prompt, **{**asked, "seed": seed}) for seed, prompt in enumerate(prompts))
    return Calibration(divergence, on, tuple(test for trace in traces for test in exact_tests(trace)))


def exact_tests(trace: Trace) -> list[ExactTest]:
    """The tests of a run of rule "fuzzy" that let nothing pass, and so made the exact tests and no others."""
    return [
        ExactTest(step.divergences[decision.node - 1], not decision.accepted)
        for step in trace.steps
        if step.verdict
        for decision in step.verdict.decisions
    ]


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
    return {name: _interval(records, *parts) for name, parts in known.items()} | sums


def _interval(records: Sequence[Record], above: str, below: str) -> Interval:
    return bootstrap(records, lambda rows: ratio(rows, above, below))

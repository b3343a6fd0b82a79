"""Ways to decode that are compared, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from typing import Any

from hsd.planner import LONGEST, Models, Stack, best_of, levels

Values = dict[str, Any]


@lru_cache(maxsize=64)  # a visitor tries many thresholds of the same models
def alternatives(models: Models, longest: int = LONGEST) -> tuple[Stack, ...]:
    """Return plain decoding, every single draft, and the best stack of each larger number of drafts."""
    singles = [best_of(models, (model, models.target), longest) for model in range(models.target)]
    stacks = [
        min((best_of(models, stack, longest) for stack in _stacks(models, drafts)), key=lambda way: way.latency)
        for drafts in range(2, models.target + 1)
    ]
    return (Stack((models.target,), (), float(models.costs[-1])), *singles, *stacks)


def _stacks(models: Models, drafts: int) -> Iterator[tuple[int, ...]]:
    return ((*below, models.target) for below in combinations(range(models.target), drafts))


def described(models: Models, way: Stack) -> Values:
    """Return a way to decode with all numbers behind it.

    levels: smallest model first, see `_levels`.
    """
    return {
        "models": list(way.models),
        "thresholds": list(way.thresholds),
        "latency": way.latency,
        "speedup": models.costs[-1] / way.latency,
        "levels": _levels(models, way),
    }


def _levels(models: Models, way: Stack) -> list[Values]:
    """Return a row for each level. Numbers are per request to a level, for the target per round.

    passes: its own calls. pass: cost of one. below: cost of what it asks for per call. cost: all together. tokens:
    handed up, for the target committed. share: of the time per committed token, spent in this model's own calls.
    """
    parts = levels(models, way.models, way.thresholds)
    rows = [
        {
            "model": level.model,
            "passes": level.passes,
            "pass": float(models.pass_cost(level.model, below.tokens)) if below else models.costs[level.model],
            "below": below.cost if below else 0.0,
            "cost": level.cost,
            "tokens": level.tokens,
        }
        for below, level in zip([None, *parts], parts, strict=False)
    ]
    requests = 1.0  # to this level per round of the target
    for row in reversed(rows):
        requests *= row["passes"]
        row["share"] = requests * row["pass"] / parts[-1].cost
    return rows

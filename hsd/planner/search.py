"""The best stack: by the exact latency, and by the shortest path of the fluid one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hsd.errors import HsdError
from hsd.planner.inputs import LONGEST, MOST_LONGEST, Models, check_stack
from hsd.planner.renewal import Offers, drafting, levels, per_token, verifying

BEAM = 48  # ways kept per pair of levels; tests compare with keeping all of them


@dataclass(frozen=True)
class Stack:
    """One way to decode. models: their numbers, smallest first, the target last. thresholds: of all but the target.

    latency: exact, per committed token, in the unit of the costs. The target alone, without thresholds, is plain
    decoding.
    """

    models: tuple[int, ...]
    thresholds: tuple[int, ...]
    latency: float


@dataclass(frozen=True)
class Plan:
    """The best stack and what it is compared with.

    bound: no stack with thresholds up to those considered has an exact latency below it.
    """

    best: Stack
    single: Stack
    plain: Stack
    bound: float


@dataclass(frozen=True)
class Path:
    """The fluid optimum. latency[i]: cost of a token of M_i. below[i]: who drafts for it and with which threshold."""

    latency: tuple[float, ...]
    below: tuple[tuple[int, int] | None, ...]


def plan(models: Models, longest: int = LONGEST, beam: int = BEAM) -> Plan:
    """The stack with the smallest exact latency, with thresholds from 1 to `longest`; plain decoding is one of them.

    For every model, the ways to make it hand up tokens are built on those of the smaller models; of the ways to use one
    model below another, the `beam` cheapest per token are followed. Raises HsdError for a wrong `longest`.
    """
    if not 1 <= longest <= MOST_LONGEST:
        raise HsdError(f"longest threshold {longest}: choose 1 to {MOST_LONGEST}")
    target = models.target
    plain = Stack((target,), (), float(models.costs[target]))
    singles, stacks = [], [plain]
    offers: list[Offers] = []
    for model in range(target):
        alone = drafting(models, model, longest)
        built = [_built_on(models, below, model, longest, beam) for below in offers]
        offers.append(_joined([alone, *built]))
        singles.append(_finished(models, alone))
        stacks.append(_finished(models, offers[-1]))
    single = min(singles, key=lambda stack: stack.latency)
    # In case of a draw the first one wins: plain decoding, then the best single draft.
    best = min([plain, single, *stacks], key=lambda stack: stack.latency)
    # Blocks may be longer than any threshold, but not longer than this; the minimum only takes off rounding.
    bound = shortest_path(models, longest * len(models.costs)).latency[-1]
    return Plan(best, single, plain, min(bound, best.latency))


def _built_on(models: Models, below: Offers, model: int, longest: int, beam: int) -> Offers:
    """A model that verifies what the one below hands up, in the `beam` ways that are cheapest per token."""
    order = np.argsort(per_token(models, below, model), kind="stable")[:beam]
    lower = Offers(below.model, below.costs[order], below.laws[order], [below.ways[k] for k in order])
    return verifying(models, lower, model, longest)


def _finished(models: Models, lower: Offers) -> Stack:
    """The best of these ways under the target."""
    costs = per_token(models, lower, models.target)
    best = int(np.argmin(costs))
    stack, thresholds = lower.ways[best]
    return Stack((*stack, models.target), thresholds, float(costs[best]))


def _joined(parts: list[Offers]) -> Offers:
    size = max(part.laws.shape[1] for part in parts)
    laws = [np.pad(part.laws, ((0, 0), (0, size - part.laws.shape[1]))) for part in parts]
    costs = np.concatenate([part.costs for part in parts])
    return Offers(parts[0].model, costs, np.concatenate(laws), [way for part in parts for way in part.ways])


def fluid_latency(models: Models, stack: Sequence[int], thresholds: Sequence[int]) -> float:
    """Cost per committed token if every block had its threshold's length: l_i = (c_i + T l_{i-1}) / μ(a, T)."""
    check_stack(models, stack, thresholds)
    cost = models.costs[stack[0]]
    for below, model, drafts in zip(stack, stack[1:], thresholds, strict=False):
        cost = _over(models, below, model, cost, drafts)
    return cost


def shortest_path(models: Models, longest: int = LONGEST) -> Path:
    """The fluid optimum over all stacks, d_i = min(c_i, min_{j<i,T} (c_i + T d_j) / μ(a_ji, T)), in one pass.

    In words of a graph: an edge from M_i to M_j costs c_i / μ and multiplies what is asked for by T / μ; the edge to
    the sink, "on its own", costs c_i. O(K² · longest).
    """
    best: list[float] = []
    below: list[tuple[int, int] | None] = []
    for model, own in enumerate(models.costs):
        ways = [
            (_over(models, lower, model, best[lower], drafts), (lower, drafts))
            for lower in range(model)
            for drafts in range(1, longest + 1)
        ]
        cost, way = min(ways, default=(math.inf, None))
        best.append(min(own, cost))
        below.append(way if cost < own else None)
    return Path(tuple(best), tuple(below))


def path_stack(path: Path) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The models and thresholds on a path to the target, smallest first."""
    stack, thresholds = [len(path.below) - 1], list[int]()
    while (way := path.below[stack[0]]) is not None:
        stack.insert(0, way[0])
        thresholds.insert(0, way[1])
    return tuple(stack), tuple(thresholds)


def mean_yield(acceptance: float, drafts: int) -> float:
    """μ(a, n) = 1 + a + … + aⁿ: mean tokens from one verification of n drafts, the verifier's own token included."""
    return float(np.sum(acceptance ** np.arange(drafts + 1.0)))


def _over(models: Models, below: int, model: int, cost: float, drafts: int) -> float:
    """Fluid cost of a token of `model` that verifies `drafts` tokens of `cost` each."""
    spent: float = models.pass_cost(model, drafts) + drafts * cost
    return spent / mean_yield(models.kept(below, model), drafts)


def as_json(models: Models, found: Plan) -> dict[str, Any]:
    """A plan as plain data; see `Plan` and `Level` for what the numbers are."""
    best = found.best
    ways = levels(models, best.models, best.thresholds)
    names = ("model", "threshold", "tokens", "cost", "passes")
    return {
        "stack": list(best.models),
        "thresholds": list(best.thresholds),
        "latency": best.latency,
        "best_single": found.single.latency,
        "plain": found.plain.latency,
        "bound": found.bound,
        "single": {"stack": list(found.single.models), "thresholds": list(found.single.thresholds)},
        "levels": [{name: getattr(level, name) for name in names} for level in ways],
        "warnings": models.warnings(),
    }

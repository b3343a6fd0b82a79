"""The best stack: by the exact latency, and by the shortest path of the fluid one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hsd.errors import HsdError
from hsd.planner.inputs import LONGEST, MOST_LONGEST, MOST_ROUNDS, Models, check_stack
from hsd.planner.renewal import Array, Offers, drafting, levels, per_token, verifying

Places = NDArray[np.intp]
Choice = Callable[[Array, int], Places]
BEAM, MOST_WAYS = 48, 3_000  # ways kept per pair of models: by the first search, and at most by the exact one


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


def plan(models: Models, longest: int = LONGEST, beam: int = BEAM, most: int = MOST_WAYS) -> Plan:
    """The stack with the smallest exact latency, with thresholds from 1 to `longest`; plain decoding is one of them.

    Branch and bound. A first search follows the `beam` cheapest ways to use one model below another. The second follows
    every way from which the fluid optimum of what is still open would beat what the first one found: no completion has
    an exact latency below that. Where these are more than `most`, it follows the most promising, and the result is at
    least as good as the first search's. A stack whose step could take more rounds than a run allows is no candidate.
    Raises HsdError for a wrong `longest`.
    """
    if not 1 <= longest <= MOST_LONGEST:
        raise HsdError(f"longest threshold {longest}: choose 1 to {MOST_LONGEST}")
    target = models.target
    plain = Stack((target,), (), float(models.costs[target]))
    single = min((_finished(models, drafting(models, m, longest)) for m in range(target)), key=lambda s: s.latency)

    def cheapest(costs: Array, model: int) -> Places:
        return np.argsort(costs, kind="stable")[:beam]

    found = _search(models, longest, cheapest)
    best = min([plain, single, found], key=lambda stack: stack.latency)  # in case of a draw the first one wins

    def promising(costs: Array, model: int) -> Places:
        bounds = _fluid_above(models, model, costs, longest)
        order = np.argsort(bounds, kind="stable")[:most]
        return order[bounds[order] < best.latency * (1 - 1e-12)]

    best = min([best, _search(models, longest, promising)], key=lambda stack: stack.latency)
    # Blocks may be longer than any threshold, but not longer than this; the minimum only takes off rounding.
    bound = shortest_path(models, longest * len(models.costs)).latency[-1]
    return Plan(best, single, plain, min(bound, best.latency))


def _search(models: Models, longest: int, choose: Choice) -> Stack:
    """The best stack among the ways that `choose` follows, told the cost per token of each, and of which model."""
    offers: list[Offers] = []
    for model in range(models.target):
        built = [_built_on(models, below, model, longest, choose) for below in offers]
        offers.append(_joined([drafting(models, model, longest), *built]))
    return min((_finished(models, lower) for lower in offers), key=lambda stack: stack.latency)


def _built_on(models: Models, below: Offers, model: int, longest: int, choose: Choice) -> Offers:
    """A model that verifies what the one below hands up, in the ways that `choose` picks and a run allows."""
    lower = _chosen(below, choose(per_token(models, below, model), model))
    built = verifying(models, lower, model, longest)
    return _chosen(built, np.array([math.prod(t[1:]) <= MOST_ROUNDS for _, t in built.ways], dtype=bool).nonzero()[0])


def _chosen(offers: Offers, places: Places) -> Offers:
    return Offers(offers.model, offers.costs[places], offers.laws[places], [offers.ways[k] for k in places])


def _fluid_above(models: Models, model: int, costs: Array, longest: int) -> Array:
    """(S,): the fluid optimum at the target where `model` makes a token at each of these costs and the rest is open."""
    lengths = np.arange(1.0, longest * len(models.costs) + 1)
    reached = {model: costs}
    for upper in range(model + 1, models.target + 1):
        ways = []
        for lower, each in reached.items():
            tokens = np.cumsum(models.kept(lower, upper) ** np.arange(len(lengths) + 1.0))[1:]
            spent = models.pass_cost(upper, lengths) + lengths * each[:, None]
            ways.append((spent / tokens).min(1))
        reached[upper] = np.minimum.reduce(ways)
    return reached[models.target]


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

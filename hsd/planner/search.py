"""The best stack: by the exact latency, and by the shortest path of the fluid one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from hsd.errors import HsdError
from hsd.planner.bounds import Above, LowerBounds
from hsd.planner.inputs import LONGEST, MOST_LONGEST, Models, check_stack
from hsd.planner.renewal import (
    Offers,
    block_requests,
    draft_alone,
    latency,
    levels,
    per_token,
    select_offers,
)
from hsd.values import shown, whole_between

BEAM = 48  # alternatives followed per stack by the first search
MOST_WAYS = 20_000  # at most followed by the second


@dataclass(frozen=True)
class Stack:
    """A stack of models; the target alone, without thresholds, is plain decoding.

    models: their numbers, smallest first, the target last. thresholds: of all but the target.
    latency: exact, per committed token, in the unit of the costs.
    """

    models: tuple[int, ...]
    thresholds: tuple[int, ...]
    latency: float


@dataclass(frozen=True)
class StackPlan:
    """The best stack, and those it is compared with.

    bound: no stack that a run allows, with thresholds up to those considered, has an exact latency
    below it (to a relative 1e-12): the best one's own latency, unless the search had to drop
    alternatives.
    """

    best: Stack
    single: Stack
    plain: Stack
    bound: float


def plan(
    models: Models, longest: int = LONGEST, beam: int = BEAM, most: int = MOST_WAYS
) -> StackPlan:
    """Return the stack with the smallest exact latency, which may be plain decoding.

    Thresholds are from 1 to `longest`. Branch and bound makes two passes over all stacks whose step
    cannot take more rounds than a run allows. The first follows the `beam` alternatives of each
    lower part with the lowest bounds (`hsd.planner.bounds`); the second all of those whose bound is
    below what the first one found. Where these are more than `most` per stack it follows the
    lowest, and the result is at least as good as that of the first pass. Raises HsdError for an
    invalid `longest`.
    """
    if not isinstance(models, Models):
        raise HsdError(f"models {shown(models)}: give a hsd.planner.Models")
    longest = whole_between("longest threshold", longest, 1, MOST_LONGEST)
    beam = whole_between("beam", beam, 1)
    most = whole_between("most", most, 1)
    drafts = range(models.target)
    target = models.target
    plain = Stack((target,), (), float(models.costs[target]))
    singles = [best_of(models, (model, target), longest) for model in drafts]
    single = min(singles, key=lambda stack: stack.latency)
    # in case of a draw the first one wins
    best = min([plain, single], key=lambda stack: stack.latency)
    above = {model: range(model + 1, target + 1) for model in drafts}
    best, bound = _search(models, longest, drafts, above, best, (beam, most))
    return StackPlan(best, single, plain, bound)


def best_of(models: Models, stack: Sequence[int], longest: int = LONGEST) -> Stack:
    """Return the best stack of these models, at least two, as `plan` does.

    Thresholds are from 1 to `longest`.
    """
    check_stack(models, stack, [1] * (len(stack) - 1))
    above = {lower: (upper,) for lower, upper in pairwise(stack)}
    none = Stack(tuple(stack), (), math.inf)
    return _search(models, longest, stack[:1], above, none, (BEAM, MOST_WAYS))[0]


def _search(
    models: Models,
    longest: int,
    first: Sequence[int],
    above: Above,
    best: Stack,
    widths: Sequence[int],
) -> tuple[Stack, float]:
    """Return the best stack, `best` or better, and a latency that no stack goes below.

    first: models that may draft. above: which may verify each model's tokens. Each pass follows the
    alternatives whose bound is below the best latency known, at most its width of them per stack:
    those with the lowest bounds.
    """
    bounds = LowerBounds(models, longest, above)
    for width in widths:
        todo = [draft_alone(models, model, longest) for model in first]
        dropped = [math.inf]
        while todo:
            lower = todo.pop()
            for model in above[lower.model]:
                if model == models.target:
                    best = min(best, _finished(models, lower), key=lambda stack: stack.latency)
                    continue
                enough = best.latency * (1 - 1e-12)
                costs = per_token(models, lower, model)
                hopeful = lower.at(bounds.of(lower, model, costs) < enough)
                requests = block_requests(models, hopeful, model, longest)
                bounded = bounds.of_requests(requests, above[model]).reshape(-1)
                order = np.argsort(bounded, kind="stable")[: (bounded < enough).sum()]
                dropped.extend(bounded[order[width:][:1]])
                if len(order):
                    places, threshold_less_1 = np.divmod(order[:width], longest)
                    todo.append(select_offers(requests, places, threshold_less_1 + 1))
    return best, float(min(best.latency, *dropped))


def _finished(models: Models, lower: Offers) -> Stack:
    """Return the stack with the least exact latency of those in `lower` with the target on top."""
    best = np.argmin(per_token(models, lower, models.target))
    stack = (*lower.stack, models.target)
    thresholds = tuple(lower.thresholds[best].tolist())
    return Stack(stack, thresholds, latency(models, stack, thresholds))


def shortest_path(models: Models, longest: int = LONGEST) -> list[float]:
    """Return the fluid optimum of each model over all stacks.

    It is d_i = min(c_i, min_{j<i,T} (c_i + T d_j) / μ(a_ji, T)).

    As a graph: an edge from M_i to M_j costs c_i / μ and multiplies the requested tokens by T / μ;
    the edge to the sink, "on its own", costs c_i. One pass, O(K² · longest).
    """
    best: list[float] = []
    for model, own in enumerate(models.costs):
        ways = [(lower, drafts) for lower in range(model) for drafts in range(1, longest + 1)]
        costs = [
            (models.pass_cost(model, drafts) + drafts * best[lower])
            / mean_yield(models.kept(lower, model), drafts)
            for lower, drafts in ways
        ]
        best.append(min([own, *costs]))
    return best


def mean_yield(acceptance: float, drafts: int) -> float:
    """Return μ(a, n) = 1 + a + … + aⁿ.

    It is the mean number of tokens from verifying n drafts, the verifier's own token included.
    """
    return float(np.sum(acceptance ** np.arange(drafts + 1.0)))


def as_json(models: Models, best_plan: StackPlan) -> dict[str, Any]:
    """Return a plan as JSON data; for the numbers see `StackPlan` and `Level`."""
    best = best_plan.best
    ways = levels(models, best.models, best.thresholds)
    names = ("model", "threshold", "tokens", "cost", "passes")
    return {
        "stack": list(best.models),
        "thresholds": list(best.thresholds),
        "latency": best.latency,
        "best_single": best_plan.single.latency,
        "plain": best_plan.plain.latency,
        "bound": best_plan.bound,
        "single": {
            "stack": list(best_plan.single.models),
            "thresholds": list(best_plan.single.thresholds),
        },
        "levels": [{name: getattr(level, name) for name in names} for level in ways],
        "warnings": models.warnings(),
    }

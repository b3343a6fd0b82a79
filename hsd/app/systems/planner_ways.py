"""Ways to decode that are compared, and the graph in which the planner finds the shortest path, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from typing import Any

from hsd.planner import LONGEST, Models, Stack, best_of, levels, mean_yield, shortest_path

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

    levels: smallest model first, see `_levels`. edges: its path in the graph, the target's first, see `edge`.
    """
    return {
        "models": list(way.models),
        "thresholds": list(way.thresholds),
        "latency": way.latency,
        "speedup": models.costs[-1] / way.latency,
        "levels": _levels(models, way),
        "edges": path_edges(models, way),
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


def path_edges(models: Models, way: Stack) -> list[Values]:
    """Return the edges of a way to decode, from the target down to the sink, with the fluid cost of a token at each."""
    edges: list[Values] = [alone(models, way.models[0])]
    for below, model, drafts in zip(way.models, way.models[1:], way.thresholds, strict=False):
        edges.insert(0, edge(models, below, model, drafts, edges[0]["value"]))
    return edges


def edge(models: Models, below: int, model: int, drafts: int, price: float) -> Values:
    """Return the edge where `model` verifies blocks of `drafts` tokens of `below`, each at `price`.

    One token of `model` costs `cost` of its own calls and takes `gain` tokens of `below`: value = cost + gain · price.
    pass: cost of one call, which is more than c where it widens with the tokens that it reads.
    """
    tokens, spent = mean_yield(models.kept(below, model), drafts), float(models.pass_cost(model, drafts))
    cost, gain = spent / tokens, drafts / tokens
    return {
        "from": model,
        "to": below,
        "threshold": drafts,
        "acceptance": models.kept(below, model),
        "yield": tokens,
        "pass": spent,
        "widens": spent > models.costs[model],
        "cost": cost,
        "gain": gain,
        "price": price,
        "value": cost + gain * price,
    }


def alone(models: Models, model: int) -> Values:
    """Return the edge to the sink: the model writes its tokens by itself."""
    return {"from": model, "to": None, "cost": models.costs[model], "gain": 0.0, "value": models.costs[model]}


def graph(models: Models, longest: int = LONGEST) -> Values:
    """Return the graph. distance: fluid optimum of every model. edges: of every two models, and the sinks."""
    distance = shortest_path(models, longest).latency
    pairs = combinations(range(len(models.costs)), 2)
    best = [
        min((edge(models, below, model, t, distance[below]) for t in range(1, longest + 1)), key=lambda e: e["value"])
        for below, model in pairs
    ]
    return {"distance": list(distance), "edges": best + [alone(models, model) for model in range(len(models.costs))]}

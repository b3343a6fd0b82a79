"""The planner's part of the Systems screen: what the page asks of `hsd.planner`, as plain data.

Nothing is computed in the page. Inputs come from its fields as texts, and every error is one line for the reader.
"""

from __future__ import annotations

from typing import Any

from hsd.app.replies import NOT_UNDERSTOOD
from hsd.app.systems.planner_presets import presets
from hsd.app.systems.planner_ways import alternatives, described, graph
from hsd.app.systems.planner_words import bound_sentence, trial_sentence, verdict
from hsd.errors import HsdError
from hsd.planner import LONGEST, Models, Stack, latency, read_numbers, shortest_path

Values = dict[str, Any]
MOST, LONGEST_TEXT, HIGHEST_COST = 5, 40, 1e6


def plan_stack(asked: Any) -> Values:
    """The plan for models that the page asks about; see `read_models`. Raises HsdError."""
    return planned(read_models(asked))


def try_thresholds(asked: Any) -> Values:
    """One way of these models; asked: stack and thresholds besides. Raises HsdError."""
    return tried(read_models(asked), *_read_way(asked))


def props() -> Values:
    """What the page's script gets at the start."""
    return {"presets": presets(), "most": MOST, "longest": LONGEST}


def read_models(asked: Any) -> Models:
    """asked: costs and per_token as lists of texts, acceptance as rows of them. Raises HsdError."""
    if not isinstance(asked, dict) or not isinstance(asked.get("acceptance"), list):
        raise HsdError(NOT_UNDERSTOOD)
    costs, further = _numbers(asked.get("costs")), _numbers(asked.get("per_token"))
    rows = tuple(_numbers(row) for row in asked["acceptance"][: MOST + 1])
    if len(costs) > MOST:
        raise HsdError(f"{len(costs)} models: the page plans for at most {MOST}, the command `hsd plan` for more")
    models = Models(costs, rows, further)
    for i, cost in enumerate([*costs, *further]):
        if cost > HIGHEST_COST:
            raise HsdError(f"cost {cost:g} of model {i % len(costs)}: choose at most {HIGHEST_COST:,.0f}")
    return models


def _numbers(texts: Any) -> tuple[float, ...]:
    known = isinstance(texts, list) and len(texts) <= MOST + 1
    if not known or not all(isinstance(text, str) and len(text) <= LONGEST_TEXT for text in texts):
        raise HsdError(NOT_UNDERSTOOD)
    if any(not text.strip() for text in texts):
        raise HsdError("a field is empty: type a number such as 0.8")
    return tuple(number for text in texts for number in read_numbers(text))


def _read_way(asked: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The models and thresholds that a page wants to try."""
    lists = asked.get("stack"), asked.get("thresholds")
    for numbers in lists:
        if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
            raise HsdError(NOT_UNDERSTOOD)
    if any(threshold > LONGEST for threshold in lists[1]):
        raise HsdError(f"threshold {max(lists[1])}: choose 1 to {LONGEST}")
    return tuple(lists[0]), tuple(lists[1])


def planned(models: Models) -> Values:
    """All that the page draws of a plan; see `planner_ways` for the shapes."""
    ways = alternatives(models)
    best = min(range(len(ways)), key=lambda k: ways[k].latency)  # the first in case of a draw: the shortest
    plain, found = ways[0].latency, ways[best].latency
    # Blocks may be longer than any threshold, but not longer than this; the minimum only takes off rounding.
    bound = min(found, shortest_path(models, LONGEST * len(models.costs)).latency[-1])
    return {
        "alternatives": [described(models, way) for way in ways],
        "best": best,
        "plain": plain,
        "single": min(way.latency for way in ways if len(way.models) == 2),
        "speedup": plain / found,
        "bound": bound,
        "graph": graph(models),
        "verdict": verdict(ways, best),
        "bound_sentence": bound_sentence(bound, found),
        "warnings": models.warnings(),
    }


def tried(models: Models, stack: tuple[int, ...], thresholds: tuple[int, ...]) -> Values:
    """A stack with thresholds of the visitor's choice.

    curves: for every threshold, the exact latency at each of its values from 1 on, while the others stay.
    """
    now = Stack(stack, thresholds, latency(models, stack, thresholds))
    curves = [
        [latency(models, stack, (*thresholds[:k], value, *thresholds[k + 1 :])) for value in range(1, LONGEST + 1)]
        for k in range(len(thresholds))
    ]
    ways = alternatives(models)
    same = next(iter(way for way in ways if way.models == stack), None)
    best = min(ways, key=lambda way: way.latency)
    return {"way": described(models, now), "curves": curves, "sentence": trial_sentence(now, same, best)}

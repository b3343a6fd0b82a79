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
    """Return the plan for models that the page asks about, see `read_models`, as `planned` gives it.

    asked: besides `stack`, the models of the way to look at, and `thresholds` to try there; both empty for the best.
    Raises HsdError, one line.
    """
    return planned(read_models(asked), *_read_way(asked))


def props() -> Values:
    """Return what the page needs before it asks for a plan."""
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


def _read_way(asked: Values) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the models and the thresholds that a page wants to look at. Raises HsdError."""
    lists = asked.get("stack", []), asked.get("thresholds", [])
    for numbers in lists:
        if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
            raise HsdError(NOT_UNDERSTOOD)
    if any(threshold > LONGEST for threshold in lists[1]):
        raise HsdError(f"threshold {max(lists[1])}: choose 1 to {LONGEST}")
    return tuple(lists[0]), tuple(lists[1])


def planned(models: Models, stack: tuple[int, ...] = (), thresholds: tuple[int, ...] = ()) -> Values:
    """Return all that the page draws of a plan; see `planner_ways` for the shapes.

    chosen: of the alternatives, the one of `stack`, else the best. way: that one with `thresholds` where they fit it.
    trial: where it has thresholds, for each of them the exact latency at all its values from 1 on while the others stay
    (`curves`), and a sentence about them.
    """
    ways = alternatives(models)
    best = min(range(len(ways)), key=lambda k: ways[k].latency)  # the first in case of a draw: the shortest
    chosen = next((k for k, way in enumerate(ways) if way.models == stack), best)
    now = way = ways[chosen]
    if thresholds and len(thresholds) == len(way.thresholds):
        now = Stack(way.models, thresholds, latency(models, way.models, thresholds))
    plain, found = ways[0].latency, ways[best].latency
    # Blocks may be longer than any threshold, but not longer than this; the minimum only takes off rounding.
    bound = min(found, shortest_path(models, LONGEST * len(models.costs)).latency[-1])
    trial = {"curves": _curves(models, now), "sentence": trial_sentence(now, way)}
    return {
        "alternatives": [described(models, way) for way in ways],
        "best": best,
        "chosen": chosen,
        "way": described(models, now),
        "trial": trial if now.thresholds else None,
        "plain": plain,
        "single": min(way.latency for way in ways if len(way.models) == 2),
        "speedup": plain / found,
        "bound": bound,
        "graph": graph(models),
        "verdict": verdict(ways, best),
        "bound_sentence": bound_sentence(bound, found),
        "warnings": models.warnings(),
    }


def _curves(models: Models, way: Stack) -> list[list[float]]:
    given = way.thresholds
    return [
        [latency(models, way.models, (*given[:k], value, *given[k + 1 :])) for value in range(1, LONGEST + 1)]
        for k in range(len(given))
    ]

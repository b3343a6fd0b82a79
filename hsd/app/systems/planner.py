"""The planner's part of the Systems screen.

It answers what the page asks of `hsd.planner`, as plain data and sentences. Nothing is computed in
the page. Inputs come from its fields as texts, and every error is one line for the reader.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, StrictInt, ValidationError

from hsd.app.replies import NOT_UNDERSTOOD
from hsd.errors import HsdError
from hsd.paths import ASSETS, RESULTS, read_yaml
from hsd.planner import (
    LONGEST,
    Models,
    Stack,
    best_of,
    latency,
    levels,
    read_numbers,
    shortest_path,
)

Values = dict[str, Any]
MOST = 5
LONGEST_TEXT = 40
HIGHEST_COST = 1e6
LIMITS = {"most": MOST, "longest": LONGEST}
FILE = RESULTS / "plan.json"  # python -m hsd plan --pair tiny --limit 60 --new-tokens 64 --json
DIGITS = 3  # of a measured number
SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉"
WORDS: Values = read_yaml(Path(__file__).with_suffix(".yaml"))
WORKED: Values = read_yaml(ASSETS / "presets" / "planner.yaml")
Texts = Annotated[list[Annotated[str, Field(max_length=LONGEST_TEXT)]], Field(max_length=MOST + 1)]


class PlannerQuestion(BaseModel):
    """What the page asks: its table's fields as texts, and what to show.

    That is a stack and its thresholds, both empty for the best.
    """

    costs: Texts
    acceptance: list[Texts]
    per_token: Texts
    stack: list[StrictInt] = []
    thresholds: list[StrictInt] = []

    def models(self) -> Models:
        """Return the models of the table. Raises HsdError, one line."""
        costs, further, *rows = map(
            _numbers, (self.costs, self.per_token, *self.acceptance[: MOST + 1])
        )
        if len(costs) > MOST:
            limit = f"the page plans for at most {MOST}, the command `hsd plan` for more"
            raise HsdError(f"{len(costs)} models: {limit}")
        models = Models(costs, tuple(rows), further)
        for i, cost in enumerate([*costs, *further]):
            if cost > HIGHEST_COST:
                raise HsdError(
                    f"cost {cost:g} of model {i % len(costs)}: choose at most {HIGHEST_COST:,.0f}"
                )
        return models


def plan_stack(values: Any) -> Values:
    """Return `plan_data` for the JSON fields of a `PlannerQuestion`.

    Raises HsdError, one line, for invalid ones.
    """
    try:
        question = PlannerQuestion.model_validate(values)
    except ValidationError:
        raise HsdError(NOT_UNDERSTOOD) from None
    if any(threshold > LONGEST for threshold in question.thresholds):
        raise HsdError(f"threshold {max(question.thresholds)}: choose 1 to {LONGEST}")
    return plan_data(question.models(), tuple(question.stack), tuple(question.thresholds))


def _numbers(texts: list[str]) -> tuple[float, ...]:
    if any(not text.strip() for text in texts):
        raise HsdError("a field is empty: type a number such as 0.8")
    return tuple(number for text in texts for number in read_numbers(text))


def plan_data(
    models: Models, stack: tuple[int, ...] = (), thresholds: tuple[int, ...] = ()
) -> Values:
    """Return all that the page draws of a plan; see `way_data` for the shape of each way.

    chosen: the number of the alternative with the models of `stack`, else of the best. way: this
    alternative, with `thresholds` if their number fits. trial: None without thresholds; else
    `curves`, for each threshold the latency at 1, 2, … up to `LONGEST` while the others stay, and a
    sentence about the thresholds.
    """
    ways = alternatives(models)
    # the first in case of a draw: the shortest
    best = min(range(len(ways)), key=lambda k: ways[k].latency)
    chosen = next((k for k, way in enumerate(ways) if way.models == stack), best)
    now = way = ways[chosen]
    if thresholds and len(thresholds) == len(way.thresholds):
        now = Stack(way.models, thresholds, latency(models, way.models, thresholds))
    plain = ways[0].latency
    least = ways[best].latency
    # Blocks may be longer than any threshold, but not longer than this. The minimum only takes off
    # rounding.
    bound = min(least, shortest_path(models, LONGEST * len(models.costs))[-1])
    given = now.thresholds
    each = (
        [(*given[:k], value, *given[k + 1 :]) for value in range(1, LONGEST + 1)]
        for k in range(len(given))
    )
    curves = [[latency(models, now.models, one) for one in values] for values in each]
    trial = {"curves": curves, "sentence": trial_sentence(now, way)}
    return {
        "alternatives": [way_data(models, way) for way in ways],
        "best": best,
        "chosen": chosen,
        "way": way_data(models, now),
        "trial": trial if now.thresholds else None,
        "plain": plain,
        "single": min(way.latency for way in ways if len(way.models) == 2),
        "speedup": plain / least,
        "bound": bound,
        "verdict": verdict(ways, best),
        "bound_sentence": bound_sentence(bound, least),
        "warnings": models.warnings(),
    }


@lru_cache(maxsize=64)  # a visitor tries many thresholds of the same models
def alternatives(models: Models) -> tuple[Stack, ...]:
    """Return plain decoding, every single draft, and the best stack of each larger number."""
    target = models.target
    singles = [best_of(models, (model, target), LONGEST) for model in range(target)]
    sizes = [
        [(*below, target) for below in combinations(range(target), drafts)]
        for drafts in range(2, target + 1)
    ]
    stacks = [
        min((best_of(models, one, LONGEST) for one in of), key=lambda way: way.latency)
        for of in sizes
    ]
    return (Stack((target,), (), float(models.costs[-1])), *singles, *stacks)


def way_data(models: Models, way: Stack) -> Values:
    """Return a way to decode as plain data.

    That is its latency, speed-up, and levels, smallest model first, see `_levels`.
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

    passes: calls of this level's model. pass: cost of one call. below: cost of a request to the
    level below. cost: all together. tokens: handed up, or committed by the target. share: of the
    time, spent in this model's own calls.
    """
    parts = levels(models, way.models, way.thresholds)
    rows = [
        {
            "model": level.model,
            "passes": level.passes,
            "pass": float(models.pass_cost(level.model, below.tokens))
            if below
            else models.costs[level.model],
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


# ---- inputs to start from


def presets() -> list[Values]:
    """Return all inputs to start from.

    Each has a name, title and note, and costs, acceptances and per-token costs as texts.
    """
    note = WORDS["invented"]
    invented = ({"name": name, "note": note, **given} for name, given in WORKED.items())
    return [*invented, measured_preset()]


def measured_preset() -> Values:
    """Return the planner's inputs as measured on the embedded models, with title and note.

    All numbers are texts.
    """
    facts = json.loads(FILE.read_text(encoding="utf-8"))["measured"]
    names = [f"M{SUBSCRIPTS[i]} is “{name}”" for i, name in enumerate(facts["names"][:-1])]
    return {
        "name": "measured",
        "title": "The embedded models, measured",
        "note": WORDS["measured"].format(**facts["machine"] | facts | {"names": ", ".join(names)}),
        "costs": _texts(facts["costs"]),
        "acceptance": [_texts(row) for row in facts["acceptance"]],
        "per_token": _texts(facts["per_token"]),
    }


def _texts(numbers: list[float]) -> list[str]:
    return [f"{number:.{DIGITS}g}" for number in numbers]


# ---- sentences


def verdict(ways: Sequence[Stack], best: int) -> str:
    """Return which way is best.

    ways: no draft first, then the single drafts, then stacks of several.
    """
    plain = ways[0]
    chosen = ways[best]
    single = min((way for way in ways if len(way.models) == 2), key=lambda way: way.latency)
    larger = min(
        (way for way in ways if len(way.models) > 2), key=lambda way: way.latency, default=plain
    )
    if len(chosen.models) > 2:
        kind = "stack"
    elif chosen is plain:
        kind = "plain"
    else:
        kind = "alone" if larger is plain else "single"
    return str(WORDS["verdict"][kind]).format(
        best=in_words(chosen),
        cost=f"{_number(chosen.latency)} per token",
        fast=f"{_short(plain.latency / chosen.latency)} times as fast as no draft",
        over=_short(single.latency / chosen.latency),
        single=in_words(single),
        single_cost=_number(single.latency),
        larger=in_words(larger),
        larger_cost=_number(larger.latency),
    )


def bound_sentence(bound: float, latency: float) -> str:
    """Return a sentence on how far above the fluid optimum the plan is."""
    above = 100 * (latency / bound - 1)
    reach = WORDS["reached" if above < 1e-9 else "above"].format(more=_short(above, 2))
    return str(WORDS["bound"].format(bound=_number(bound), reach=reach))


def trial_sentence(now: Stack, best: Stack) -> str:
    """Return what a choice of thresholds costs beside the best one of the same models."""
    more = 100 * (now.latency / best.latency - 1)
    given, usual = (", ".join(map(str, way.thresholds)) for way in (now, best))
    rival = WORDS["best" if more < 1e-9 else "worse"]
    rival = rival.format(more=_short(more, 2), best=usual, best_cost=_number(best.latency))
    return str(WORDS["trial"].format(given=given, cost=_number(now.latency), rival=rival))


def in_words(way: Stack) -> str:
    """Return a way as text, such as `M₀ (T = 4) → M₂ (T = 6) → target`."""
    parts = [
        f"M{SUBSCRIPTS[m]} (T = {t})" for m, t in zip(way.models, way.thresholds, strict=False)
    ]
    return " → ".join([*parts, "target"])


def _short(value: float, digits: int = 3) -> str:
    """Return a ratio or a percentage with few digits."""
    return f"{value:,.0f}" if value >= 10**digits else f"{value:.{digits}g}"


def _number(value: float) -> str:
    """Return four significant digits, never in scientific notation from 0.0001 on."""
    return f"{value:,.0f}" if value >= 1e4 else f"{value:.4g}"

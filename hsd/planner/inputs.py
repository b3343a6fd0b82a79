"""The planner's input: costs and acceptance rates, read from text and checked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from hsd.errors import HsdError
from hsd.values import listed, reals, shown

MOST_MODELS = 8
LONGEST = 32
MOST_LONGEST = 32  # a run takes no longer blocks
MOST_ROUNDS = 1_024  # of one level in one step of a run
ROUNDING = 0.015  # three acceptances, each rounded to two digits, can be off by so much together


@dataclass(frozen=True)
class Models:
    """The planner's input: models in order, the target last. Raises HsdError for invalid numbers.

    costs: time of one forward pass over one token, in any unit. acceptance: row i has a_ij for j =
    i + 1, i + 2, …: the mean over contexts of Σ_x min(p_i(x), p_j(x)), the chance that M_j keeps a
    token of M_i. per_token: the time that each further token adds to a forward pass over several;
    () for none.
    """

    costs: tuple[float, ...]
    acceptance: tuple[tuple[float, ...], ...]
    per_token: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        rows = listed(self.acceptance)
        if rows is None:
            raise HsdError(f"acceptance {shown(self.acceptance)}: give a list of rows of numbers")
        # in a frozen class
        object.__setattr__(self, "costs", reals("costs", self.costs))
        object.__setattr__(self, "per_token", reals("per_token", self.per_token))
        object.__setattr__(self, "acceptance", tuple(reals("acceptance", row) for row in rows))
        _check_costs(self.costs, self.per_token)
        _check_acceptance(self.acceptance, len(self.costs))

    @property
    def target(self) -> int:
        return len(self.costs) - 1

    def kept(self, lower: int, upper: int) -> float:
        """Return a_ij: the chance that the upper model keeps a token of the lower one."""
        return self.acceptance[lower][upper - lower - 1]

    def pass_cost(self, model: int, drafts: Any) -> Any:
        """Return the cost of a pass that verifies `drafts` tokens (a number or an array)."""
        return self.costs[model] + (self.per_token[model] * drafts if self.per_token else 0.0)

    def warnings(self) -> list[str]:
        """Return a sentence for each model that costs no more than the one before it."""
        pairs = zip(self.costs, self.costs[1:], strict=False)
        return [
            f"model {i + 1} costs {above:g}, not more than the {below:g} of model {i}: "
            "the smallest is expected first"
            for i, (below, above) in enumerate(pairs)
            if above <= below
        ]


def read_numbers(text: str) -> tuple[float, ...]:
    """Return the numbers in a text that separates them by commas.

    Raises HsdError for anything else.
    """
    return tuple(_number(part) for part in text.split(",")) if text.strip() else ()


def read_acceptance(text: str) -> tuple[tuple[float, ...], ...]:
    """Return the rows of numbers in a text that separates rows by semicolons.

    Raises HsdError for anything else.
    """
    return tuple(read_numbers(row) for row in text.strip().rstrip(";").split(";"))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise HsdError(
            f"{text.strip()[:40]!r} is not a number: write numbers like 0.8, with commas between"
        ) from None


def _check_costs(costs: Sequence[float], per_token: Sequence[float]) -> None:
    if not 2 <= len(costs) <= MOST_MODELS:
        raise HsdError(
            f"{len(costs)} costs: give 2 to {MOST_MODELS}, one for each model, the target's last"
        )
    if per_token and len(per_token) != len(costs):
        raise HsdError(
            f"{len(per_token)} costs per further token for {len(costs)} models: give one for each"
        )
    for what, numbers in (("", costs), (" per further token", per_token)):
        for i, cost in enumerate(numbers):
            if not (math.isfinite(cost) and cost >= 0):
                raise HsdError(f"cost {cost:g}{what} of model {i}: choose a number from 0 up")
    if costs[-1] == 0:
        raise HsdError("cost 0 of the target: choose a number above 0")


def _check_acceptance(rows: Sequence[Sequence[float]], count: int) -> None:
    if len(rows) != count - 1:
        raise HsdError(
            f"{len(rows)} rows of acceptances for {count} models: "
            f"give {count - 1}, one for each model but the target"
        )
    for i, row in enumerate(rows):
        if len(row) != count - 1 - i:
            wanted = f"give {count - 1 - i}, one for each larger model"
            raise HsdError(f"{len(row)} acceptances in row {i}: {wanted}")
        for j, value in enumerate(row, i + 1):
            if not 0 <= value <= 1:  # also refuses NaN
                raise HsdError(
                    f"acceptance {value:g} of models {i} and {j}: choose a number from 0 to 1"
                )
    _check_triples(rows, count)


def _check_triples(rows: Sequence[Sequence[float]], count: int) -> None:
    """Raise HsdError where three models break the triangle inequality.

    It holds for their mean total variations, 1 - a.
    """
    apart = {(i, j): 1 - rows[i][j - i - 1] for i, j in combinations(range(count), 2)}
    for i, j, k in combinations(range(count), 3):
        sides = apart[i, j], apart[j, k], apart[i, k]
        if 2 * max(sides) > sum(sides) + ROUNDING:
            a, b, c = (f"{1 - side:g}" for side in sides)
            raise HsdError(
                f"models {i}, {j}, {k}: acceptances {a} ({i}, {j}), {b} ({j}, {k}) and {c} "
                f"({i}, {k}) cannot all be true, two are too high for the third: measure all three "
                "on the same text"
            )


def check_stack(models: Models, stack: Sequence[int], thresholds: Sequence[int]) -> None:
    """Raise HsdError for a stack that cannot run, or a wrong number of thresholds.

    stack: models from small to the target. thresholds: one for each model but the target.
    """
    numbers = list(stack)
    ordered = numbers and numbers == sorted(set(numbers))
    if not ordered or numbers[0] < 0 or numbers[-1] != models.target:
        raise HsdError(
            f"stack {numbers}: give model numbers from small to large, the last one {models.target}"
        )
    if len(thresholds) != len(numbers) - 1:
        raise HsdError(
            f"{len(thresholds)} thresholds for {len(numbers)} models: "
            "give one for each but the target"
        )
    for threshold in thresholds:
        if not 1 <= threshold <= MOST_LONGEST:
            raise HsdError(f"threshold {threshold}: choose 1 to {MOST_LONGEST}")

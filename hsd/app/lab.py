"""The Lab: p and q to edit, every rule by exact arithmetic, nearly all of it in the browser. See `hsd/web/lab`.

fuzzy.js, rules.js and enumerate.js restate `hsd.rules` and `hsd.audit.chains`; tests/web/test_lab_arithmetic.py
compares them. What a rule that is not restated there does with the same numbers, the page asks of the server.
"""

from __future__ import annotations

import itertools
from typing import Annotated, Any

import torch
from pydantic import BaseModel, Field, ValidationError

from hsd.app.replies import NOT_UNDERSTOOD, Answer
from hsd.audit import TableModels, output_law, target_law, total_variation
from hsd.errors import HsdError
from hsd.rules import RULES

MAX_OUTCOMES = 4096  # as in enumerate.js
Row = Annotated[list[Annotated[float, Field(ge=0, le=1)]], Field(min_length=2, max_length=MAX_OUTCOMES)]


class _Asked(BaseModel):
    """p: γ+1 rows, q: γ, each of V probabilities; rule: a name in `hsd.RULES`."""

    rule: str
    p: list[Row] = Field(min_length=2, max_length=12)
    q: list[Row] = Field(min_length=1, max_length=11)


def exact_numbers(asked: Any) -> Answer:
    """{kept, distance} of a rule by enumeration: tokens kept on average, total variation from the target.

    asked: plain data as in `_Asked`. Raises HsdError where it is something else, or too much to list.
    """
    try:
        given = _Asked.model_validate(asked)
    except ValidationError as error:
        raise HsdError(NOT_UNDERSTOOD) from error
    vocab, gamma = len(given.p[0]), len(given.q)
    shapes = {len(row) for row in (*given.p, *given.q)} == {vocab} and len(given.p) == gamma + 1
    if not shapes or vocab ** (gamma + 1) > MAX_OUTCOMES or given.rule not in RULES:
        raise HsdError(NOT_UNDERSTOOD)
    p, q = torch.tensor(given.p, dtype=torch.float64), torch.tensor(given.q, dtype=torch.float64)
    paths = [path for length in range(gamma + 1) for path in itertools.product(range(vocab), repeat=length)]
    draft = {path: q[len(path)] for path in paths if len(path) < gamma}
    models = TableModels({path: p[len(path)] for path in paths}, draft, vocab, gamma)
    rule = RULES[given.rule]
    output, kept = output_law(models, rule.law, rule.resamples)
    return {"kept": kept, "distance": total_variation(output, target_law(models))}

"""What panels of the Systems screen show besides runs: measured figures, and facts about a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hsd.app import pairs
from hsd.errors import HsdError
from hsd.models.exits import head_cost, trained_exits
from hsd.models.groups import decoder_of
from hsd.paths import RESULTS

Values = dict[str, Any]
EMBEDDED = pairs.PairChoice("tiny")
FUZZY = RESULTS / "fuzzy.json"


def layer_facts() -> Values:
    """layers of the target; exits it was trained at; head: cost of one row of its output head, in layers."""
    target: Any = pairs.load(EMBEDDED).target
    return {
        "layers": len(decoder_of(target.model).layers),
        "trained": list(trained_exits(target)),
        "head": head_cost(target),
    }


def fuzzy_results(file: Path = FUZZY) -> Values:
    """What examples/reproduce/measure_fuzzy.py has measured. Raises HsdError, one line, when it is not there."""
    try:
        found: Values = json.loads(file.read_text(encoding="utf-8"))
        if not found["texts"] or not found["shares"]:
            raise ValueError("empty")
    except (OSError, ValueError, KeyError, TypeError):
        raise HsdError("there is no measured trade-off: run `python examples/reproduce/measure_fuzzy.py`") from None
    return found

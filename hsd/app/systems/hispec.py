"""What the HiSpec panel must know of the embedded target besides a run's trace: its layers, exits and output head."""

from __future__ import annotations

from typing import Any

from hsd.app import pairs
from hsd.models.exits import head_cost, trained_exits
from hsd.models.groups import decoder_of

Values = dict[str, Any]
EMBEDDED = pairs.PairChoice("tiny")


def layer_facts(_: Any) -> Values:
    """layers of the target; exits it was trained at; head: cost of one row of its output head, in layers."""
    target: Any = pairs.load(EMBEDDED).target
    return {
        "layers": len(decoder_of(target.model).layers),
        "trained": list(trained_exits(target)),
        "head": head_cost(target),
    }

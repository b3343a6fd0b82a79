"""What the HiSpec panel must know of the embedded target besides a run's trace: its layers, exits and output head."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hsd.models.exits import head_cost, trained_exits
from hsd.models.groups import decoder_of
from hsd.ui import pairs
from hsd.ui.fetch import answer

Values = dict[str, Any]
EMBEDDED = pairs.PairChoice("tiny")


def functions() -> list[Callable[[Any], Values]]:
    """What the page's script can call, by these names, with one argument each."""

    def layer_facts(_: Any) -> Values:
        return answer(facts)

    return [layer_facts]


def props() -> Values:
    """What the page's script gets at the start: nothing, as the model would have to be loaded for it."""
    return {}


def facts() -> Values:
    """layers of the target; exits it was trained at; head: cost of one row of its output head, in layers."""
    target: Any = pairs.load(EMBEDDED).target
    return {
        "layers": len(decoder_of(target.model).layers),
        "trained": list(trained_exits(target)),
        "head": head_cost(target),
    }

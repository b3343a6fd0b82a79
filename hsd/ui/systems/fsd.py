"""What the FSD panel shows besides runs: the measured trade-off, calibrations, and a published re-test."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from hsd.errors import HsdError
from hsd.paths import EXAMPLES
from hsd.ui.fetch import answer

Values = dict[str, Any]
FILE = EXAMPLES / "results" / "fuzzy.json"


def functions() -> list[Callable[[Any], Values]]:
    """What the page's script can call, by these names, with one argument each."""

    def fuzzy_results(_: Any) -> Values:
        return answer(results)

    return [fuzzy_results]


def props() -> Values:
    """What the page's script gets at the start: nothing, the measurement is fetched when the panel is opened."""
    return {}


@lru_cache(maxsize=2)
def results(file: Path = FILE) -> Values:
    """What examples/measure_fuzzy.py has measured. Raises HsdError, one line, when it is not there."""
    try:
        found: Values = json.loads(file.read_text(encoding="utf-8"))
        if not found["texts"] or not found["shares"]:
            raise ValueError("empty")
    except (OSError, ValueError, KeyError, TypeError):
        raise HsdError("there is no measured trade-off: run `python examples/measure_fuzzy.py`") from None
    return found

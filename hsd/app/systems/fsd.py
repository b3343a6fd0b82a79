"""What the FSD panel shows besides runs: the measured trade-off, calibrations, and a published re-test."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from hsd.errors import HsdError
from hsd.paths import EXAMPLES

Values = dict[str, Any]
FILE = EXAMPLES / "results" / "fuzzy.json"


def fuzzy_results(_: Any) -> Values:
    """`results`, which the page's script fetches when the panel is opened."""
    return results()


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

"""What panels of the Systems screen show besides runs: published and measured figures, and facts about a model."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hsd.app import pairs
from hsd.bench.published import published
from hsd.draft import LAYOUTS
from hsd.errors import HsdError
from hsd.models.exits import head_cost, trained_exits
from hsd.models.groups import decoder_of
from hsd.paths import ASSETS, EXAMPLES
from hsd.rules import COMPARED, VANILLA

Values = dict[str, Any]
EMBEDDED = pairs.PairChoice("tiny")
FUZZY = EXAMPLES / "results" / "fuzzy.json"
PAGE = ASSETS / "docs" / "rules.md"
MEASURED = EXAMPLES / "results" / "smollm2.json"
LAYOUT = "distinct-comb"
BEFORE = VANILLA[LAYOUTS[LAYOUT].siblings]  # top-down rejection


def layer_facts() -> Values:
    """layers of the target; exits it was trained at; head: cost of one row of its output head, in layers."""
    target: Any = pairs.load(EMBEDDED).target
    return {
        "layers": len(decoder_of(target.model).layers),
        "trained": list(trained_exits(target)),
        "head": head_cost(target),
    }


def fuzzy_results(file: Path = FUZZY) -> Values:
    """What examples/measure_fuzzy.py has measured. Raises HsdError, one line, when it is not there."""
    try:
        found: Values = json.loads(file.read_text(encoding="utf-8"))
        if not found["texts"] or not found["shares"]:
            raise ValueError("empty")
    except (OSError, ValueError, KeyError, TypeError):
        raise HsdError("there is no measured trade-off: run `python examples/measure_fuzzy.py`") from None
    return found


@cache
def trees() -> Values:
    """Of EAGLE-3 trees: what is published, and what rules keep of sampled trees.

    exact: by rule, how many tokens of a sampled tree it keeps on average over everything that can be drawn, on `pairs`
    random pairs of small models; from the page on rules, which an enumeration has written. measured: see `gains`.
    """
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(rf"^\| (\S+), {LAYOUT} \| ([\d.]+) \|", text, re.MULTILINE)
    laws = re.search(r"^## Several drafts\s+(\d+) random pairs", text, re.MULTILINE)
    exact = {"exact": dict(rows), "pairs": laws[1] if laws else ""}
    kept = json.loads(MEASURED.read_text(encoding="utf-8"))["kept"]
    return {"published": published()["eagle"], **exact, "measured": gains(kept)}


def gains(rows: Sequence[Values]) -> Values:
    """How many more tokens of sampled trees rules keep than top-down rejection, on the real model, over all coins.

    rows: as examples/measure_smollm2.py writes them, one for each kind of text and size of tree. Returns trees, how
    many in all; rows, how many; and by rule least and most, the gain in tokens per pass as a share of all, and clear,
    in how many rows the interval of the difference has 0 outside.
    """
    found: Values = {"trees": sum(row["trees"] for row in rows), "rows": len(rows)}
    for rule in COMPARED:
        shares = [row[f"{rule} more"][0] / (1 + row[BEFORE][0]) for row in rows]
        clear = sum(low > 0 or high < 0 for _, low, high in (row[f"{rule} more"] for row in rows))
        found[rule] = {"least": min(shares), "most": max(shares), "clear": clear}
    return found

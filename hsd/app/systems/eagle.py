"""What the panel of EAGLE-3 trees shows besides runs: published figures, and what rules keep of sampled trees."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from hsd.bench.published import published
from hsd.paths import ASSETS, EXAMPLES

Values = dict[str, Any]
PAGE = ASSETS / "docs" / "rules.md"
MEASURED = EXAMPLES / "results" / "smollm2.json"
BESIDE = ("recursive-hsd", "traversal")  # rules that are compared with top-down rejection
LAYOUT = "distinct-comb"


@cache
def props() -> Values:
    """What the page's script gets at the start.

    published: see `hsd.bench.published`. exact: by rule, how many tokens of a sampled tree it keeps on average over
    everything that can be drawn, on `pairs` random pairs of small models; from the page on rules, which an enumeration
    has written.
    """
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(rf"^\| (\S+), {LAYOUT} \| ([\d.]+) \|", text, re.MULTILINE)
    pairs = re.search(r"^## Several drafts\s+(\d+) random pairs", text, re.MULTILINE)
    exact = {"exact": dict(rows), "pairs": pairs[1] if pairs else ""}
    kept = json.loads(MEASURED.read_text(encoding="utf-8"))["kept"]
    return {"published": published()["eagle"], **exact, "measured": gains(kept)}


def gains(rows: Sequence[Values]) -> Values:
    """What rules keep of sampled trees on the real model beyond top-down rejection, over all coins.

    rows: as examples/measure_smollm2.py writes them, one for each kind of text and size of tree. Returns trees, how
    many in all; rows, how many; and by rule least and most, the gain in tokens per pass as a share of all, and clear,
    in how many rows the interval of the difference has 0 outside.
    """
    found: Values = {"trees": sum(row["trees"] for row in rows), "rows": len(rows)}
    for rule in BESIDE:
        shares = [row[f"{rule} more"][0] / (1 + row["top-down"][0]) for row in rows]
        clear = sum(low > 0 or high < 0 for _, low, high in (row[f"{rule} more"] for row in rows))
        found[rule] = {"least": min(shares), "most": max(shares), "clear": clear}
    return found

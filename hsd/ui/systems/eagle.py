"""What the panel of EAGLE-3 trees shows besides runs: published figures, and what rules keep of sampled trees."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from hsd.paths import ASSETS
from hsd.ui.measure.published import EAGLE

Values = dict[str, Any]
PAGE = ASSETS / "docs" / "rules.md"
LAYOUT = "distinct-comb"


@cache
def props() -> Values:
    """What the page's script gets at the start.

    published: see EAGLE. exact: by rule, how many tokens of a sampled tree it keeps on average over everything that can
    be drawn, on `pairs` random pairs of small models; from the page on rules, which an enumeration has written.
    """
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(rf"^\| (\S+), {LAYOUT} \| ([\d.]+) \|", text, re.MULTILINE)
    pairs = re.search(r"^## Several drafts\s+(\d+) random pairs", text, re.MULTILINE)
    return {"published": EAGLE, "exact": dict(rows), "pairs": pairs[1] if pairs else ""}

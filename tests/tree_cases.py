"""Every combination of a rule for several drafts with a layout that it fits: what decoding offers."""

from __future__ import annotations

from hsd.draft import LAYOUTS
from hsd.rules import TREE_RULES

TREE_CASES = [
    (rule.name, name)
    for name, layout in LAYOUTS.items()
    for rule in TREE_RULES.values()
    if layout.siblings in rule.siblings
]
UNFIT = [(rule, tree) for tree in LAYOUTS for rule in TREE_RULES if (rule, tree) not in TREE_CASES]

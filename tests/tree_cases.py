"""Every combination of a lossless rule for several drafts with a layout that it fits; UNFIT: what
is refused.
"""

from __future__ import annotations

from hsd.draft import LAYOUTS
from hsd.rules import TREE_RULES

TREE_CASES = [
    (rule.name, name)
    for name, layout in LAYOUTS.items()
    for rule in TREE_RULES.values()
    if layout.siblings in rule.siblings and rule.lossless
]
UNFIT = [
    (name, tree)
    for tree, layout in LAYOUTS.items()
    for name, rule in TREE_RULES.items()
    if layout.siblings not in rule.siblings
]

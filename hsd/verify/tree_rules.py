"""The registry of rules for several drafts and trees."""

from __future__ import annotations

from hsd.errors import HsdError
from hsd.verify.rules import RULES
from hsd.verify.tree import TreeRule, one_hot, recursive, top_down, traversal

SEVERAL = "Yang et al. 2024, arXiv 2401.06706"
TREE_RULES: dict[str, TreeRule] = {
    rule.name: rule
    for rule in [
        TreeRule("recursive-tokenwise", "Draft after draft, token-wise", SEVERAL, True, recursive(RULES["tokenwise"])),
        TreeRule(
            "recursive-hsd",
            "Draft after draft, HSD",
            "Zhou et al. 2026, arXiv 2601.05724, algorithm 3",
            True,
            recursive(RULES["hsd"]),
        ),
        TreeRule("top-down", "Top-down rejection", "Miao et al. 2024, arXiv 2305.09781", True, top_down),
        TreeRule("traversal", "Traversal, leaf to root", "Weng et al. 2025, arXiv 2505.12398", True, traversal),
        TreeRule("one-hot", "Rule for chosen trees", "Li et al. 2024, arXiv 2406.16858", True, one_hot),
    ]
}


def find_tree_rule(name: str) -> TreeRule:
    """The rule for several drafts of that name; a chain rule's name stands for verifying draft after draft by it.

    Raises HsdError with the list of names.
    """
    known = {**{rule.removeprefix("recursive-"): rule for rule in TREE_RULES}, **{rule: rule for rule in TREE_RULES}}
    if name in RULES and name not in known:
        raise HsdError(f"rule {name} does not fit several drafts: choose one of {', '.join(known)}")
    if name not in known:
        raise HsdError(f"unknown rule {name!r} for several drafts: choose one of {', '.join(known)}")
    return TREE_RULES[known[name]]

"""The registry of rules for several drafts and trees."""

from hsd.errors import HsdError
from hsd.rules.chain import RULES
from hsd.rules.clipped import clipped_tree
from hsd.rules.fuzzy import Fuzzy, fuzzy_tree
from hsd.rules.rejection import one_hot, recursive, top_down
from hsd.rules.rule import Look, Rule
from hsd.rules.traversal import traversal
from hsd.rules.tree import TreeRule

SAMPLED = frozenset({"independent", "distinct", "mixed"})
ANY = SAMPLED | {"chosen"}


def _draft_after_draft(rule: Rule) -> TreeRule:
    """Return the tree rule that verifies drafts one after another by a chain rule."""
    own = {
        "name": f"recursive-{rule.name}",
        "title": f"Draft after draft: {rule.title}",
        "citation": rule.drafts,
    }
    return TreeRule(
        **rule.info | own, process=recursive(rule), siblings=SAMPLED, forward=rule.forward
    )


TREE_RULES = {
    rule.name: rule
    for rule in [
        *(_draft_after_draft(rule) for rule in RULES.values() if rule.drafts),
        TreeRule(
            "top-down",
            "Top-down rejection",
            "top-down",
            "Miao et al. 2024, arXiv 2305.09781",
            True,
            top_down,
            SAMPLED,
            look=Look("#cc79a7", "triangle-down", "|"),
        ),
        TreeRule(
            "traversal",
            "Traversal, leaf to root",
            "traversal",
            "Weng et al. 2025, arXiv 2505.12398",
            True,
            traversal,
            SAMPLED,
            forward=False,
            look=Look("#009e73", "star", "/"),
        ),
        TreeRule(
            "one-hot",
            "Rule for chosen trees",
            "one-hot",
            "Li et al. 2024, arXiv 2406.16858",
            True,
            one_hot,
            ANY,
            look=Look("#8c7a00", "cross", "\\"),
        ),
        fuzzy_tree(Fuzzy()),
        clipped_tree(RULES["clipped"]),
    ]
}
VANILLA = {"single": "tokenwise", "independent": "recursive-tokenwise", "chosen": "one-hot"}
VANILLA |= dict.fromkeys(("distinct", "mixed"), "top-down")
NEEDS = {
    "independent": "draws its siblings independently",
    "distinct": "draws siblings without replacement",
    "mixed": "draws one of its siblings and chooses the others",
    "chosen": "chooses its tokens and draws none",
}


def check_fit(rule: TreeRule, tree: str, siblings: str, drafts: int = 2) -> None:
    """Raise HsdError unless `rule` is lossless on the layout `tree`.

    The tree has siblings of this kind and `drafts` drafts.
    """
    if siblings not in rule.siblings:
        fitting = ", ".join(
            name for name, other in TREE_RULES.items() if siblings in other.siblings
        )
        name = rule.name.removeprefix("recursive-")
        raise HsdError(
            f"drafts {drafts}, tree {tree!r}: rule {name} does not fit a tree that "
            f"{NEEDS[siblings]}: choose rule {fitting}, or another tree, such as paths"
        )


def find_tree_rule(name: str) -> TreeRule:
    """Return the rule for several drafts by its name.

    "hsd" means "recursive-hsd", and so for other chain rules.

    Raises HsdError, with the list of names, for an unknown one.
    """
    known = {rule.removeprefix("recursive-"): rule for rule in TREE_RULES}
    known |= {rule: rule for rule in TREE_RULES}
    if name not in known:
        why = f"rule {name} does not fit" if name in RULES else f"unknown rule {name!r} for"
        raise HsdError(f"{why} several drafts: choose one of {', '.join(known)}")
    return TREE_RULES[known[name]]

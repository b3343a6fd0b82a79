"""Verification rules as pure functions on tensors: no model, no random numbers, no input or output."""

from hsd.verify.explain import BranchMasses, branch_masses
from hsd.verify.law import Law, PrefixRatios
from hsd.verify.rules import RULES, Rule, find_rule
from hsd.verify.tree import Change, DraftTree, Ending, Grounds, Path, Test, TreeRule, decide, endings
from hsd.verify.tree_rules import TREE_RULES, VANILLA, check_fit, find_tree_rule

__all__ = [
    "RULES",
    "TREE_RULES",
    "VANILLA",
    "BranchMasses",
    "Change",
    "DraftTree",
    "Ending",
    "Grounds",
    "Law",
    "Path",
    "PrefixRatios",
    "Rule",
    "Test",
    "TreeRule",
    "branch_masses",
    "check_fit",
    "decide",
    "endings",
    "find_rule",
    "find_tree_rule",
]

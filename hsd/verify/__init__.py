"""Verification rules as pure functions on tensors: no model, no random numbers, no input or output."""

from hsd.verify.explain import BranchMasses, branch_masses
from hsd.verify.law import Law, PrefixRatios
from hsd.verify.rules import RULES, Rule, find_rule
from hsd.verify.tree import DraftTree, Ending, Path, Test, TreeRule, decide
from hsd.verify.tree_rules import TREE_RULES, find_tree_rule

__all__ = [
    "RULES",
    "TREE_RULES",
    "BranchMasses",
    "DraftTree",
    "Ending",
    "Law",
    "Path",
    "PrefixRatios",
    "Rule",
    "Test",
    "TreeRule",
    "branch_masses",
    "decide",
    "find_rule",
    "find_tree_rule",
]

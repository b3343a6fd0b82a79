"""Verification rules as pure functions on tensors, without a model, random numbers or files."""

from hsd.rules.chain import RULES, USUAL, find_rule
from hsd.rules.forms import LETTERS, Form, Grounds
from hsd.rules.fuzzy import DIVERGENCES, Fuzzy, fuzzy_rule, fuzzy_tree
from hsd.rules.law import Law, PrefixRatios, branch_masses
from hsd.rules.recipe import RuleRecord
from hsd.rules.rule import Look, Rule, RuleSetting
from hsd.rules.tree import Change, DraftTree, Ending, Test, TreePath, TreeRule, decide, endings
from hsd.rules.trees import TREE_RULES, VANILLA, check_fit, find_tree_rule

__all__ = [
    "DIVERGENCES",
    "LETTERS",
    "RULES",
    "TREE_RULES",
    "USUAL",
    "VANILLA",
    "Change",
    "DraftTree",
    "Ending",
    "Form",
    "Fuzzy",
    "Grounds",
    "Law",
    "Look",
    "PrefixRatios",
    "Rule",
    "RuleRecord",
    "RuleSetting",
    "Test",
    "TreePath",
    "TreeRule",
    "branch_masses",
    "check_fit",
    "decide",
    "endings",
    "find_rule",
    "find_tree_rule",
    "fuzzy_rule",
    "fuzzy_tree",
]

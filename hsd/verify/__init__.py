"""Verification rules as pure functions on tensors: no model, no random numbers, no input or output."""

from hsd.verify.explain import BranchMasses, branch_masses
from hsd.verify.law import Law, PrefixRatios
from hsd.verify.rules import RULES, Rule, find_rule

__all__ = ["RULES", "BranchMasses", "Law", "PrefixRatios", "Rule", "branch_masses", "find_rule"]

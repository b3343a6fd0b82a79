"""What a rule would have kept, estimated without drafting: from log-probabilities alone."""

from hsd.estimate.chances import HSD, RULES, VANILLA, expected_passes, kept_chances, pass_begins
from hsd.estimate.summary import (
    Costs,
    Estimate,
    Interval,
    Rated,
    as_json,
    estimate,
    read_costs,
    speedups,
)
from hsd.estimate.texts import ScoredText, checked, read_texts

__all__ = [
    "HSD",
    "RULES",
    "VANILLA",
    "Costs",
    "Estimate",
    "Interval",
    "Rated",
    "ScoredText",
    "as_json",
    "checked",
    "estimate",
    "expected_passes",
    "kept_chances",
    "pass_begins",
    "read_costs",
    "read_texts",
    "speedups",
]

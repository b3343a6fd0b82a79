"""Two rules that are records and nothing else, with a form of test that no other rule has; one has
a number.
"""

from __future__ import annotations

from hsd.rules import Form, Rule, RuleRecord, RuleSetting

HALF = Form(
    "half",
    "a",
    "min(1, p / (2 * q))",
    {"p": "p", "q": "q"},
    " = min(1, p/(2q)) with p = {p}, q = {q}",
)
NEWCOMER = Rule(
    "newcomer", "Newcomer, a test", "the newcomer", "nobody 2026", False, RuleRecord((HALF,))
)
TEMPERED = Rule(
    "tempered",
    "Tempered, a test",
    "the tempered",
    "nobody 2026",
    False,
    RuleRecord(
        (
            Form(
                "tempered",
                "a",
                "min(1, (p / q) ** weight)",
                {"p": "p", "q": "q", "weight": "power"},
                " = min(1, (p/q)^a) with a = {weight}, p = {p}, q = {q}",
            ),
        )
    ),
    knob=RuleSetting("power", "a", "Power", "Below 1 more pass.", 0.5),
)

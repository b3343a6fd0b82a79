"""A rule that is a record and nothing else, with a form of test that no other rule has."""

from __future__ import annotations

from hsd.rules import Form, Recipe, Rule

HALF = Form(
    "half",
    "a",
    "min(1, p / (2 * q))",
    {"p": "p", "q": "q"},
    " = min(1, p/(2q)) with p = {p}, q = {q}",
)
NEWCOMER = Rule("newcomer", "Newcomer, a test", "the newcomer", "nobody 2026", False, Recipe((HALF,)))

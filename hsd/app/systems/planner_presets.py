"""Inputs that the planner offers to start from: three worked ones, and the embedded models as measured."""

from __future__ import annotations

import json
from typing import Any

import yaml

from hsd.paths import ASSETS, RESULTS

FILE = RESULTS / "plan.json"  # python -m hsd plan --pair tiny --limit 60 --new-tokens 64 --json
DIGITS = 3  # of a measured number

WORKED: dict[str, dict[str, Any]] = yaml.safe_load((ASSETS / "presets" / "planner.yaml").read_text(encoding="utf-8"))
INVENTED = "Costs and acceptances made up to show a case; the costs have no unit."


def presets() -> list[dict[str, Any]]:
    """Return all inputs to start from: name, title, note, and costs, acceptances and per-token costs as texts."""
    return [*({"name": name, "note": INVENTED, **given} for name, given in WORKED.items()), measured()]


def measured() -> dict[str, Any]:
    """Return the inputs of the embedded models, as they were measured."""
    facts = json.loads(FILE.read_text(encoding="utf-8"))["measured"]
    return {
        "name": "measured",
        "title": "The embedded models, measured",
        "note": _note(facts),
        "costs": _texts(facts["costs"]),
        "acceptance": [_texts(row) for row in facts["acceptance"]],
        "per_token": _texts(facts["per_token"]),
    }


def _texts(numbers: list[float]) -> list[str]:
    return [f"{number:.{DIGITS}g}" for number in numbers]


def _note(facts: dict[str, Any]) -> str:
    """Return a sentence about what was measured, and on which machine."""
    machine = facts["machine"]
    names = [f"M{'₀₁₂₃₄₅₆₇'[i]} is “{name}”" for i, name in enumerate(facts["names"][:-1])]
    where = f"{machine['processor']}, {machine['device']}, {machine['threads']} of {machine['cores']} threads"
    return (
        f"Measured, {', '.join(names)}: acceptances on {facts['positions']:,} tokens that the target wrote at "
        f"temperature {facts['temperature']:g}; costs in {facts['unit']}, forward passes only, on {where}, "
        f"{machine['dtype']}, load {machine['load']:g}, torch {machine['torch']}."
    )

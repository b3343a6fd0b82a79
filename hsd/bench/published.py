"""Published numbers (published.yaml), and the results of a benchmark that compare with them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from hsd.bench.report import interval
from hsd.bench.summary import Row, copies
from hsd.rules import RULES, USUAL, VANILLA

FILE = Path(__file__).with_suffix(".yaml")
MISSING = "Not in this benchmark."


@cache
def published() -> dict[str, Any]:
    """Return published.yaml: lines (tokens per target call by rule), notes, source, systems with claims."""
    data: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return data


def rules_here(rows: Sequence[Row]) -> list[dict[str, str]]:
    """Return a line per setting in which a benchmark measured both HSD and token-wise, with all published rules."""
    rules = [name for name in published()["lines"][0] if name in RULES]
    values_of: dict[tuple[Any, ...], dict[str, str]] = {}
    for row in rows:
        options = row["options"]
        if options.get("rule") in rules and "acceptance_rate" in row and _system(row) == "speculative":
            setting = (options["gamma"], options["temperature"], options.get("drafts", 1), options.get("tree", "paths"))
            values_of.setdefault(setting, {})[options["rule"]] = interval(row["block_efficiency"])
    return [
        {"setting": _words(*setting), **{rule: values.get(rule, "") for rule in rules}}
        for setting, values in values_of.items()
        if {VANILLA["single"], USUAL} <= set(values)
    ]


def _words(gamma: int, temperature: float, drafts: int, tree: str) -> str:
    several = f", {drafts} drafts ({tree})" if drafts > 1 else ""
    return f"γ = {gamma}, T = {temperature:g}{several}"


def systems_here(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each published system, in order, on its fastest case in a benchmark."""
    return [_fastest_sentence(one, rows) for one in published()["systems"]]


def _fastest_sentence(claim: dict[str, str], rows: Sequence[Row]) -> str:
    own = [row for row in rows if "acceptance_rate" in row and _is_of(row, claim)]
    if not own:
        return MISSING
    fastest = max(own, key=lambda row: row["speedup"])
    single = best_single(rows, fastest["options"]["temperature"])
    beside = "no exact rule with one draft was measured beside it"
    if single:
        times = fastest["tokens_per_second"] / single["tokens_per_second"]
        beside = f"{times:.2f}× the speed of “{single['case']}”, the fastest exact case with one draft"
    many = "The fastest such case here" if len(own) > 1 else "Here"
    return f"{many}: “{fastest['case']}”, {fastest['speedup']:.2f}× plain decoding; {beside}. {claim['beside']}"


def best_single(rows: Sequence[Row], temperature: float) -> Row | None:
    """Return the fastest case with one draft by one model and an exact rule at this temperature; None without any."""
    own = [row for row in rows if "acceptance_rate" in row and _system(row) == "speculative" and _is_exact(row)]
    alike = {"drafts": 1, "temperature": temperature}
    comparable = [row for row in own if {"drafts": 1, **row["options"]}.items() >= alike.items()]
    return max(comparable, key=lambda row: row["tokens_per_second"], default=None)


def _is_of(row: Row, claim: dict[str, str]) -> bool:
    """Return whether a case belongs to a published system: has its rule, or its structure with an exact rule."""
    if "rule" in claim:
        return _system(row) == "speculative" and row["options"].get("rule") == claim["rule"]
    return _system(row) == claim["system"] and _is_exact(row)


def _is_exact(row: Row) -> bool:
    rule = RULES.get(str(row["options"].get("rule")))
    return rule is not None and rule.lossless


def _system(row: Row) -> str:
    """Return the system of a case: its option, or "copied" for drafts that are copied from the text."""
    return "copied" if copies(row["options"]) else str(row["options"].get("system", "speculative"))

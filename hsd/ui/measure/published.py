"""Published numbers, with where they stand, and what the shown benchmark has to put beside them.

PUBLISHED is of "Hierarchical speculative decoding" (HSD), arXiv 2601.05724 version 2: tokens per target call of the
token-wise rule, of block verification where the paper gives it, and of HSD. CLAIMS are those of the other systems. All
with other models and on other hardware than here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hsd.bench.report import interval
from hsd.bench.summary import Row, copies
from hsd.paths import ASSETS
from hsd.rules import RULES as CHAIN_RULES

PAGE = ASSETS / "docs" / "systems.md"
SOURCE = "arXiv 2601.05724"
PUBLISHED: list[dict[str, str]] = [
    {"setting": "Qwen2.5 0.5B → 72B, GSM8K", "tokenwise": "6.44", "blockwise": "", "hsd": "6.65"},
    {"setting": "Qwen2.5 0.5B → 72B, HumanEval", "tokenwise": "5.23", "blockwise": "", "hsd": "5.40"},
    {"setting": "Qwen2.5 0.5B → 72B, CNN/DM", "tokenwise": "2.35", "blockwise": "", "hsd": "2.45"},
    {"setting": "Qwen2.5 0.5B → 14B, GSM8K", "tokenwise": "5.99", "blockwise": "6.13", "hsd": "6.30"},
    {"setting": "Qwen2.5 0.5B → 14B, HumanEval", "tokenwise": "4.83", "blockwise": "5.11", "hsd": "5.29"},
    {"setting": "Qwen2.5 0.5B → 14B, CNN/DM", "tokenwise": "2.39", "blockwise": "2.50", "hsd": "2.59"},
]
NOTES = [
    "Published for γ = 10, T = 1, one draft, on H20 GPUs; with the 72B target, decoding with HSD was 3.3 to 4.4 % "
    "faster than with the token-wise rule. Other models and other hardware than here: compare directions, not sizes.",
    "What holds up: HSD is lossless, and for γ > 1 it keeps more than the token-wise rule on average, in the paper's "
    "runs and in exact arithmetic. One batch is a sample and may show the opposite: look at the intervals.",
    "What does not: the paper's Theorem 7 says that HSD keeps strictly more than block verification for γ > 1. Exact "
    "enumeration finds that the paper's Algorithm 2 and block verification are the same law for one draft, so on "
    "average they keep equally many tokens. Where a measurement has them differ, that is chance or the implementation: "
    "the code released with the paper leaves out one cap, keeps more, and then no longer follows the target exactly. "
    "“python -m hsd audit” computes the laws anew.",
]
RULES = ("tokenwise", "blockwise", "hsd")
EAGLE = {
    "source": SOURCE,
    "before": "3.40",
    "after": "3.55",
    "faster": "12.4",
    "caveat": "The paper itself puts this down to loops that were taken out of the code: where tokens are chosen as "
    "the likeliest, all rules come to the same. Other models and other hardware than here.",
}
"""EAGLE-3 without and with HSD in its place of verification ("EAGLE-3H"): tokens per target call, speed in percent."""


def all_systems() -> str:
    """What the page on systems with levels has measured, as Markdown: from its tables to its end."""
    text = PAGE.read_text(encoding="utf-8")
    return text[text.index("## What it is worth") :].replace("\n## ", "\n### ").replace("## ", "### ", 1)


def measured_here(rows: Sequence[Row]) -> list[dict[str, str]]:
    """The same rules in the shown benchmark: a line per setting in which both HSD and token-wise were measured."""
    found: dict[tuple[Any, ...], dict[str, str]] = {}
    for row in rows:
        options = row["options"]
        if options.get("rule") in RULES and "acceptance_rate" in row and _system(row) == "speculative":
            setting = (options["gamma"], options["temperature"], options.get("drafts", 1), options.get("tree", "paths"))
            found.setdefault(setting, {})[options["rule"]] = interval(row["block_efficiency"])
    return [
        {"setting": _words(*setting), **{rule: values.get(rule, "") for rule in RULES}}
        for setting, values in found.items()
        if {"tokenwise", "hsd"} <= set(values)
    ]


def _words(gamma: int, temperature: float, drafts: int, tree: str) -> str:
    several = f", {drafts} drafts ({tree})" if drafts > 1 else ""
    return f"γ = {gamma}, T = {temperature:g}{several}"


# ---- the other systems: what is claimed, and the fastest case of each in the shown benchmark

NEAR = 1.02  # speeds that differ by less are called equal


@dataclass(frozen=True)
class Claim:
    """What a paper says of a system. own: whether a case is of it; reading: a sentence on a case beside the claim."""

    name: str
    source: str
    published: str
    missing: str
    own: Callable[[Row], bool]
    reading: Callable[[Row, Row | None], str]


def systems_here(rows: Sequence[Row]) -> list[dict[str, str]]:
    """Each system's name, source and published claim, and as `here` a sentence on the shown benchmark."""
    return [{"name": c.name, "source": c.source, "published": c.published, "here": _here(c, rows)} for c in CLAIMS]


def _here(claim: Claim, rows: Sequence[Row]) -> str:
    own = [row for row in rows if "acceptance_rate" in row and claim.own(row)]
    if not own:
        return claim.missing
    fastest = max(own, key=lambda row: row["speedup"])
    single = best_single(rows, fastest["options"]["temperature"])
    if single is None:
        beside = "no exact rule with one draft was measured beside it"
    else:
        beside = (
            f"{_ratio(fastest, single):.2f}× the speed of “{single['case']}”, the fastest exact case with one draft"
        )
    many = "The fastest such case here" if len(own) > 1 else "Here"
    speed = f"“{fastest['case']}”, {fastest['speedup']:.2f}× plain decoding"
    return f"{many}: {speed}; {beside}. {claim.reading(fastest, single)}"


def best_single(rows: Sequence[Row], temperature: float) -> Row | None:
    """The fastest case of ordinary speculative decoding: one model, one draft, an exact rule; None without any."""
    found = [
        row
        for row in rows
        if "acceptance_rate" in row
        and _is_exact(row)
        and _system(row) == "speculative"
        and row["options"].get("drafts", 1) == 1
        and row["options"]["temperature"] == temperature
    ]
    return max(found, key=lambda row: row["tokens_per_second"], default=None)


def _ratio(row: Row, other: Row) -> float:
    return float(row["tokens_per_second"] / other["tokens_per_second"])


def _system(row: Row) -> str:
    """The system of a case; "copied" for drafts that are copied from the text."""
    return "copied" if copies(row["options"]) else str(row["options"].get("system", "speculative"))


def _is_exact(row: Row) -> bool:
    rule = CHAIN_RULES.get(str(row["options"].get("rule")))
    return rule is not None and rule.lossless


def _is_fuzzy(row: Row) -> bool:
    return _system(row) == "speculative" and row["options"].get("rule") == "fuzzy"


def _about_stack(row: Row, single: Row | None) -> str:
    if single is None:
        return "For a comparison choose token-wise or HSD among the rules."
    gain = _ratio(row, single)
    if gain > 1.2:
        return "That is above the published range, on other models."
    if gain > NEAR:
        return "That is within the published range."
    most = "The published figure is the most that was reached; the planner under Systems says when a stack pays."
    return f"{'So it does not pay here.' if gain < 1 / NEAR else 'So about as fast here.'} {most}"


def _about_hispec(row: Row, single: Row | None) -> str:
    words = "Here the comparison is with a draft model of its own, and not with one of the target's exits."
    slower = single is not None and _ratio(row, single) < 1 / NEAR
    return f"{words} The draft model is the faster of the two here." if slower else words


def _about_fuzzy(row: Row, single: Row | None) -> str:
    quality = "What the text loses is not in this table: see FSD under Systems."
    if single is None:
        return quality
    gap = row["tokens_per_second"] - single["tokens_per_second"]
    return f"That is {abs(gap):,.1f} tokens/s {'more' if gap > 0 else 'less'}. {quality}"


CHOOSE = "Not in the benchmark above: choose it under Further systems and press Measure."
CLAIMS = (
    Claim(
        "Model stack",
        "arXiv 2510.19705",
        "up to 1.2× the speed of the best single draft",
        CHOOSE,
        lambda row: _system(row) == "stack" and _is_exact(row),
        _about_stack,
    ),
    Claim(
        "HiSpec",
        "arXiv 2510.01336",
        "1.28× on average, and 2.01× at most, the speed of single-layer speculation",
        CHOOSE,
        lambda row: _system(row) == "hispec" and _is_exact(row),
        _about_hispec,
    ),
    Claim(
        "FSD",
        "arXiv 2502.20704",
        "more than 5 tokens/s faster than speculative decoding, for about 2 points of accuracy; a published re-test "
        "with JS < 0.3 lost 10 of 23 correct answers and doubled their length",
        "Not in the benchmark above: choose FSD among the rules and press Measure.",
        _is_fuzzy,
        _about_fuzzy,
    ),
)

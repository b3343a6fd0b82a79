"""Trees on the real model, as blocks of the page "Measured".

Reads assets/results/smollm2.json (measure_smollm2.py).
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from measuring import RESULTS, interval
from pages import table

GROWN = "grown 3 × 3, 7 nodes"
SHOWN = ("hsd 2", GROWN, "sampled 2 × 2, traversal")
Row = dict[str, Any]


def results() -> dict[str, Any]:
    """Return what was measured of the real model."""
    return json.loads((RESULTS / "smollm2.json").read_text(encoding="utf-8"))


def made() -> dict[str, str]:
    """Return the blocks of the page."""
    found = results()
    how = setting(found["trees"][0], found["machine"]["trees"])
    wide = found["passes"]["6"] / found["passes"]["1"]
    return {
        "law": law(found["law"], found["machine"]["law"]),
        "head_trees": (
            f"{how}. There a pass over six tokens takes {wide:.1f} times one over one.\n\n"
            f"{speed(found['trees'])}"
        ),
        "head_trees_words": f"{speed_words(found['trees'])} {chance(found['trees'])}",
    }


def law(rows: list[Row], machine: Row) -> str:
    """Return the table of what both rules keep of the same drafts, over all coins."""
    gammas = list(dict.fromkeys(row["gamma"] for row in rows))
    lines = [
        [domain, *(kept_by_both(row) for row in rows if row["domain"] == domain)]
        for domain in dict.fromkeys(row["domain"] for row in rows)
    ]
    head = ["text", *(f"γ = {gamma}" for gamma in gammas)]
    return f"T = {rows[0]['T']:g}, {machine['dtype']}:\n\n{table(head, lines)}"


def kept_by_both(row: Row) -> str:
    more = (1 + row["hsd"]) / (1 + row["tokenwise"]) - 1
    return f"{row['tokenwise']:.2f} → {row['hsd']:.2f} ({100 * more:+.1f} %)"


def setting(row: Row, machine: Row) -> str:
    """Return the setting in which a part was measured, in words."""
    size = (
        f"{row['count']} prompts of {row['new_tokens']} tokens per kind of text"
        if "count" in row
        else ""
    )
    trees = f"T = {row['T']:g}" if "trees" in row else "cases in turn"
    threads = f"{machine['threads']} thread{'s' if machine['threads'] > 1 else ''}"
    place = f"{machine['processor']}, {threads}, {machine['dtype']}, torch {machine['torch']}"
    return ", ".join(filter(None, (size, trees, place, f"load {machine['load']} when it began")))


def by_row(rows: list[Row]) -> dict[tuple[str, float], dict[str, Row]]:
    found: dict[tuple[str, float], dict[str, Row]] = defaultdict(dict)
    for row in rows:
        found[row["domain"], row["T"]][row["case"]] = row
    return found


def speed(rows: list[Row]) -> str:
    grouped = by_row(rows)
    ways = [name for name in next(iter(grouped.values())) if name.startswith(SHOWN)]
    lines = [
        [
            domain,
            f"{heat:g}",
            *(f"{interval(of[way]['tokens_per_call'])} [{of[way]['speedup']:.2f}]" for way in ways),
        ]
        for (domain, heat), of in grouped.items()
    ]
    return table(["text", "T", *ways], lines)


ALIKE = ("tokenwise", "hsd", "sampled")  # beginnings of the ways that do the same work at T = 0


def chance(rows: list[Row]) -> str:
    """By how much the speeds of ways differ that do the same, over the kinds of text."""
    same = [
        [row["speedup"] for name, row in of.items() if name.startswith(ALIKE)]
        for (_, heat), of in by_row(rows).items()
        if heat == 0
    ]
    spreads = [max(speeds) - min(speeds) for speeds in same]
    return (
        "At T = 0 chains and sampled trees do the same work, yet their speeds differ by "
        f"{min(spreads):.2f} to "
        f"{max(spreads):.2f}: smaller differences mean nothing."
    )


def speed_words(rows: list[Row]) -> str:
    """The fastest of chains, grown and sampled trees at each temperature, and what the grown tree
    shown gives.
    """
    grouped = by_row(rows)
    told = []
    for heat in sorted({heat for _, heat in grouped}):
        here = {domain: of for (domain, at), of in grouped.items() if at == heat}
        own = ("plain", "sampled") if heat == 0 else ("plain",)  # a sampled tree is a chain there
        best = {
            domain: max(
                (row["speedup"], name) for name, row in of.items() if not name.startswith(own)
            )
            for domain, of in here.items()
        }
        winners = " and ".join(dict.fromkeys(name for _, name in sorted(best.values())))
        values = [value for value, _ in best.values()]
        more = [_most(of, GROWN) / _most(of, "hsd 2", "tokenwise 2") - 1 for of in here.values()]
        told.append(
            f"At T = {heat:g} {winners} {'are' if ' and ' in winners else 'is'} fastest, "
            f"{min(values):.2f} to "
            f"{max(values):.2f} times plain; the grown tree gives {min(more):+.0%} to "
            f"{max(more):+.0%} tokens per pass "
            "over the better chain of two."
        )
    return " ".join(told)


def _most(of: dict[str, Row], *begins: str) -> float:
    return max(row["tokens_per_call"][0] for name, row in of.items() if name.startswith(begins))

"""Several engines on one model, as blocks of the page "Measured"; which sentences are said follows from the numbers.

Reads assets/results/engines.json (engines/measure.py).
"""

from __future__ import annotations

import json
from typing import Any

from measuring import RESULTS, interval
from pages import table

NO_REASON = "not measured in this run"
SAME = 0.9  # share of likeliest tokens from which on an engine has read the same model
OURS = ("native", "torch", "wasm")
PEER = "llama.cpp"
Case = dict[str, Any]


def results() -> dict[str, Any]:
    """Return what was measured."""
    return json.loads((RESULTS / "engines.json").read_text(encoding="utf-8"))


def made(found: dict[str, Any]) -> dict[str, str]:
    """Return the blocks of the page."""
    cases = found["engines"]
    return {
        "engines": f"{setting(found)}\n\n{speed(cases)}",
        "passes": passes(cases),
        "sizes": sizes(cases),
        "engines_words": " ".join(filter(None, (paying(cases), another(cases), missing(found["missing"])))),
    }


def readme(found: dict[str, Any]) -> str:
    """Return README's table: the portable engine beside llama.cpp, over the fastest plain decoding of this project."""
    ours, peers = ({c["threads"]: c for c in found["engines"] if c["engine"] == name} for name in ("native", PEER))
    best = {count: case["speed"]["plain"][0] for count, case in ours.items()}
    ways = {"plain": "plain", "HSD, γ = 1": "hsd 1", "HSD, γ = 2": "hsd 2", "HSD, γ = auto": "hsd auto"}
    rows = [
        [f"{PEER}, plain", *cells({count: case["speed"]["plain"] for count, case in peers.items()}, best)],
        *(
            [f"this project, {name}", *cells({n: case["speed"][way] for n, case in ours.items()}, best)]
            for name, way in ways.items()
        ),
    ]
    machine, asked = found["machine"], found["asked"]
    low, high = min(machine["load"]), max(machine["load"])
    times = ours[2]["speed"]["hsd 1"][0] / peers[2]["speed"]["plain"][0]
    return (
        f"SmolLM2-135M-Instruct on a CPU: {machine['processor']}, {machine['cores']} cores, load {low:g} to {high:g}; "
        f"T = 0.7, {len(asked['prompts'])} prompts of {asked['new_tokens']} tokens, engines in turn. Tokens a second, "
        f"minimum and maximum of {asked['rounds']} rounds, and × the fastest plain decoding that this project has.\n\n"
        + table(["", *(f"{threads(case)}" for case in ours.values())], rows)
        + f"\n\nOn two threads HSD is {times:.1f} times as fast as llama.cpp."
    )


def cells(speeds: dict[int, list[float]], best: dict[int, float]) -> list[str]:
    return [f"{interval(values, '.0f')}, ×{values[0] / best[count]:.2f}" for count, values in speeds.items()]


def setting(found: dict[str, Any]) -> str:
    machine, asked = found["machine"], found["asked"]
    versions = {name: number for case in found["engines"] for name, number in case["versions"].items()}
    low, high = min(machine["load"]), max(machine["load"])
    return (
        f"{machine['processor']}, {machine['cores']} cores, load {low:g} to {high:g} with the engine; "
        f"{len(asked['prompts'])} prompts of {asked['new_tokens']} new tokens; "
        f"{asked['rounds']} rounds, every engine in turn in each, as a process of its own. Python {machine['python']}, "
        + ", ".join(f"{name} {number}" for name, number in versions.items())
        + "."
    )


def name(case: Case) -> str:
    return f"{case['engine']}, {threads(case)}"


def threads(case: Case) -> str:
    return f"{case['threads']} thread{'s' * (case['threads'] > 1)}"


def speed(cases: list[Case]) -> str:
    ways = [way for way in cases[0]["speed"] if way != "plain"] if cases else []
    lines = [
        [
            name(case),
            interval(case["speed"]["plain"], ".0f"),
            *(f"{case['speed'][way][0]:.0f}, ×{case['times_plain'][way][0]:.2f}" if way in case["speed"] else ""
              for way in ways),
        ]
        for case in cases
    ]  # fmt: skip
    head = ["engine", "plain", *(f"HSD γ = {way.split()[-1]}" for way in ways)]
    return table(head, lines)


def passes(cases: list[Case]) -> str:
    widths = ("2", "3", "4", "8")
    lines = [
        [name(case), interval(case["passes"]["1"], ".1f"), *(f"{case['ratios'][width][0]:.2f}" for width in widths)]
        for case in cases
    ]
    return table(["engine", "T(1), ms", *(f"T({width})/T(1)" for width in widths)], lines)


def sizes(cases: list[Case]) -> str:
    """Return the table of what an engine needs, and how far its probabilities are from torch's."""
    lines = [
        [
            name(case),
            interval(case["ready"], ".1f"),
            f"{case['memory_mb'][0]:.0f}" if case["memory_mb"] else "not told",
            f"{case['model_mb']:.0f}",
            "{} of {}".format(*case["likeliest"]) if "likeliest" in case else "not asked",
            f"{case['kl']:.1e}" if "kl" in case else "not asked",
        ]
        for case in cases
        if case["threads"] == 1
    ]
    head = ["engine", "ready, s", "memory, MB", "model, MB", "likeliest token as torch's", "KL from torch, nats"]
    return table(head, lines)


def share(case: Case) -> float:
    return float(case["likeliest"][0] / case["likeliest"][1])


def paying(cases: list[Case]) -> str:
    """Where HSD is faster in every round than plain decoding by the same engine, slower in every round, or neither."""
    ours = [case for case in cases if case["times_plain"]]
    groups: dict[str, list[str]] = {"pays": [], "does not pay": [], "is level": []}
    for case in ours:
        way = max(case["times_plain"], key=lambda way: case["times_plain"][way][0])
        value, least, most = case["times_plain"][way]
        word = "pays" if least > 1 else "does not pay" if most < 1 else "is level"
        groups[word].append(f"by {name(case)} (×{value:.2f})")
    told = [f"At its best draft length HSD {word} {'; '.join(these)}." for word, these in groups.items() if these]
    return " ".join(told)


def another(cases: list[Case]) -> str:
    """Name the engines whose likeliest tokens are mostly others than torch's."""
    wrong = sorted({case["engine"] for case in cases if case.get("likeliest") and share(case) < SAME})
    if not wrong:
        return ""
    return (
        f"What {' and '.join(wrong)} makes of the file is another model, whose likeliest tokens are mostly others: its "
        "numbers stand here for its passes alone."
    )


def missing(why: dict[str, str]) -> str:
    """Name the engines that were not measured, with the reason where there is one."""
    return " ".join(
        f"Not measured: {'; '.join(engine for engine, one in why.items() if one == line)}"
        f"{'' if line == NO_REASON else f' ({line})'}."
        for line in dict.fromkeys(why.values())
    )

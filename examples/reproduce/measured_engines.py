"""Several engines on one model, as blocks of the page "Measured"; which sentences are said follows
from the numbers.

Reads assets/results/engines.json (engines/measure.py). engines-epyc.json, by the same script on
another machine, is of an engine whose threads slept sooner.
"""

from __future__ import annotations

import json
from typing import Any

from measuring import RESULTS, interval
from pages import prose, table

NO_REASON = "not measured in this run"
SAME = 0.9  # share of likeliest tokens from which on an engine has read the same model
OURS = ("native", "torch", "wasm")
PEER = "llama.cpp"
WAYS = {"plain": "plain", "HSD, γ = 2": "hsd 2", "HSD, γ = 3": "hsd 3"}
PAGE_WAYS = {
    "plain": "plain",
    "gamma 1": "HSD, γ = 1",
    "gamma 2": "HSD, γ = 2",
    "auto": "HSD, γ = auto",
}
THREADS = {"threads 1": "1 thread", "threads 2": "2 threads"}
Case = dict[str, Any]


def results(name: str = "engines.json") -> dict[str, Any]:
    """Return what was measured."""
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def made(found: dict[str, Any]) -> dict[str, str]:
    """Return the blocks of the page."""
    same = [case for case in found["engines"] if "likeliest" not in case or share(case) >= SAME]
    one, two = ([case for case in same if case["threads"] == count] for count in (1, 2))
    return {
        "engines": f"{setting(found)}\n\n{speed(one, two)}",
        "passes": passes(two),
        "sizes": sizes(one),
        "engines_words": " ".join(
            filter(None, (paying(two), another(found["engines"]), missing(found["missing"])))
        ),
        "engines_limit": limit(found),
    }


def readme(found: dict[str, Any]) -> str:
    """Return README's sentence: the portable engine, which has the fastest plain decoding of this
    project, beside llama.cpp.
    """
    machine = found["machine"]
    low = min(machine["load"])
    high = max(machine["load"])
    speed = plain(by_threads(found, "native")[2])
    return (
        f"SmolLM2-135M-Instruct with its head on {named(machine)}, two threads, load {low:g} to "
        f"{high:g}: {speed:.0f} tokens a second plainly, and HSD is at best {gain(found)}."
    )


def of_page(found: dict[str, Any]) -> str:
    """Return the block on the page's own decoding: speeds of shown and raced runs, and where the
    time of a step goes. found: of engines/page_speed.py.
    """
    machine = found["machine"]
    asked = found["asked"]
    pages = found["pages"]
    first = next(iter(pages.values()))
    columns = [(kind, name) for kind in ("shown", "raced") for name in pages]
    rows = [
        [
            f"{PAGE_WAYS[way]}, {THREADS[threads]}",
            *(page_cell(pages[name][threads][kind][way]) for kind, name in columns),
        ]
        for threads in first
        for way in first[threads]["shown"]
    ]
    steps = {
        name: page["threads 2"]["shown"]["gamma 1"]["milliseconds_of_a_step"]
        for name, page in pages.items()
    }
    parts = [[name, *(f"{of[0]:.2f}" for of in step.values())] for name, step in steps.items()]
    frames = pages["now"]["threads 2"]["frames"]["milliseconds"]
    setting = (
        f"On {named(machine)}, load {min(machine['load']):g} to {max(machine['load']):g}, Chromium "
        f"{machine['chromium']}; {len(asked['prompts'])} prompts of {asked['new_tokens']} tokens, "
        f"T = {asked['temperature']}, {asked['rounds']} rounds, pages in turn. Tokens per second, "
        "and how many times those of plain decoding in the same column:"
    )
    words = (
        "Milliseconds of a shown step at γ = 1 on two threads, and between steps. Between the "
        f"frames of 256 shown tokens with every fold open lie {frames['half']:g} ms (median; 95 %: "
        f"{frames['95 %']:g}, most {frames['most']:g}):"
    )
    speeds = table(["", *(f"{kind}, {name}" for kind, name in columns)], rows)
    lines = table(["", *next(iter(steps.values()))], parts)
    return f"{prose(setting)}\n\n{speeds}\n\n{prose(words)}\n\n{lines}"


def page_cell(way: Case) -> str:
    return f"{way['tokens_per_second'][0]:.0f} (×{way['beside_plain'][0]:.2f})"


def by_threads(found: dict[str, Any], engine: str) -> dict[int, Case]:
    return {case["threads"]: case for case in found["engines"] if case["engine"] == engine}


def named(machine: dict[str, Any]) -> str:
    """Return a processor's name as people say it: "an Intel Xeon"."""
    name = machine["processor"].replace("(R)", "").removesuffix(" Processor")
    return f"an {name}"


def gain(found: dict[str, Any]) -> str:
    """Return how fast the fastest HSD of README's table is on two threads, beside llama.cpp and
    plain decoding.
    """
    best = max(times(by_threads(found, "native")[2], way) for way in WAYS.values())
    return f"{over_peer(found):.1f} × {PEER} and {best:.2f} × plain decoding"


def over_peer(found: dict[str, Any]) -> float:
    """Return how many times as fast as llama.cpp the fastest HSD is, on two threads."""
    ours = by_threads(found, "native")[2]["speed"]
    return float(max(ours[way][0] for way in WAYS.values()) / plain(by_threads(found, PEER)[2]))


def plain(case: Case) -> float:
    """Return the tokens per second of plain decoding, the median of the rounds."""
    return float(case["speed"]["plain"][0])


def times(case: Case, way: str) -> float:
    """Return how many times as fast a way is as plain decoding by the same engine in the same
    round, the median of the rounds.
    """
    return 1.0 if way == "plain" else float(case["times_plain"][way][0])


def setting(found: dict[str, Any]) -> str:
    machine = found["machine"]
    asked = found["asked"]
    versions = {
        name: number for case in found["engines"] for name, number in case["versions"].items()
    }
    low = min(machine["load"])
    high = max(machine["load"])
    return (
        f"{machine['processor']}, {machine['cores']} cores, load {low:g} to {high:g} with the "
        "engine; "
        f"{len(asked['prompts'])} prompts of {asked['new_tokens']} new tokens; "
        f"{asked['rounds']} rounds, every engine in turn in each, as a process of its own. Python "
        f"{machine['python']}, "
        + ", ".join(f"{name} {number}" for name, number in versions.items())
        + "."
    )


def threads(case: Case) -> str:
    return f"{case['threads']} thread{'s' * (case['threads'] > 1)}"


def speed(one: list[Case], two: list[Case]) -> str:
    """Return the table of tokens per second on two threads, beside plain decoding on one."""
    ways = [way for way in two[0]["speed"] if way != "plain"] if two else []
    alone = {case["engine"]: f"{case['speed']['plain'][0]:.0f}" for case in one}
    lines = [
        [
            case["engine"],
            alone.get(case["engine"], ""),
            interval(case["speed"]["plain"], ".0f"),
            *(
                f"{case['speed'][way][0]:.0f}, ×{times(case, way):.2f}"
                if way in case["speed"]
                else ""
                for way in ways
            ),
        ]
        for case in two
    ]
    head = ["engine", "plain, 1 thread", "plain", *(f"HSD γ = {way.split()[-1]}" for way in ways)]
    return table(head, lines)


def passes(cases: list[Case]) -> str:
    widths = ("3", "4", "6", "8")
    lines = [
        [
            case["engine"],
            interval(case["passes"]["1"], ".1f"),
            *(f"{case['ratios'][width][0]:.2f}" for width in widths),
        ]
        for case in cases
    ]
    return table(["engine", "T(1), ms", *(f"T({width})/T(1)" for width in widths)], lines)


def limit(found: dict[str, Any]) -> str:
    """Say how far a pass over one token is from the time in which memory gives as many bytes as the
    file has.
    """
    read = {count: found["reading"][str(count)][0] for count in by_threads(found, "native")}
    times = [
        case["passes"]["1"][0] / read[count] for count, case in by_threads(found, "native").items()
    ]
    words = " and ".join(f"{ms:.1f} ms on {count}" for count, ms in read.items())
    cached = "; below 1 the weights stay in the processor's cache" if min(times) < 1 else ""
    return (
        f"Memory gives as many bytes as the file has in {words} threads: "
        f"native's T(1) is {' and '.join(f'{x:.2f}' for x in times)} times that{cached}."
    )


def sizes(cases: list[Case]) -> str:
    """Return the table of what an engine needs, and how far its probabilities are from torch's."""
    lines = [
        [
            case["engine"],
            interval(case["ready"], ".1f"),
            f"{case['memory_mb'][0]:.0f}" if case["memory_mb"] else "not told",
            f"{case['model_mb']:.0f}",
            "{} of {}".format(*case["likeliest"]) if "likeliest" in case else "not asked",
            f"{case['kl']:.1e}" if "kl" in case else "not asked",
        ]
        for case in cases
    ]
    head = [
        "engine",
        "ready, s",
        "memory, MB",
        "model, MB",
        "likeliest token as torch's",
        "KL from torch, nats",
    ]
    return table(head, lines)


def share(case: Case) -> float:
    return float(case["likeliest"][0] / case["likeliest"][1])


def paying(cases: list[Case]) -> str:
    """Where HSD is faster in every round than plain decoding by the same engine, slower in every
    round, or neither.
    """
    ours = [case for case in cases if case["times_plain"]]
    groups: dict[str, list[str]] = {"pays": [], "does not pay": [], "is level": []}
    for case in ours:
        way = max(case["times_plain"], key=lambda way: case["times_plain"][way][0])
        value, least, most = case["times_plain"][way]
        word = "pays" if least > 1 else "does not pay" if most < 1 else "is level"
        groups[word].append(f"by {case['engine']} (×{value:.2f})")
    told = [
        f"At its best draft length HSD {word} {'; '.join(these)}."
        for word, these in groups.items()
        if these
    ]
    return " ".join(told)


def another(cases: list[Case]) -> str:
    """Name the engines whose likeliest tokens are mostly others than torch's, and how many are the
    same.
    """
    wrong = {
        case["engine"]: case["likeliest"]
        for case in cases
        if case.get("likeliest") and share(case) < SAME
    }
    return " ".join(
        f"{engine} makes another model of the file ({equal} of {count} likeliest tokens): left out."
        for engine, (equal, count) in wrong.items()
    )


def missing(why: dict[str, str]) -> str:
    """Name the engines that were not measured, with the reason where there is one."""
    return " ".join(
        f"Not measured: {'; '.join(engine for engine, one in why.items() if one == line)}"
        f"{'' if line == NO_REASON else f' ({line})'}."
        for line in dict.fromkeys(why.values())
    )

"""Write the page "One model, several engines" from what was measured: python examples/reproduce/engines_page.py

Reads assets/results/engines.json (engines/measure.py). The words are in engines_page.template.md and below; which of
them are said follows from the numbers.
"""

from __future__ import annotations

import json
from typing import Any

from measuring import RESULTS, interval
from pages import DOCS, filled, table, write

PAGE = DOCS / "engines.md"
SAME = 0.9  # share of likeliest tokens from which on an engine has read the same model
OURS = ("native", "torch", "wasm")
PLACES = {"native": "by the library", "wasm, Chromium": "in the browser"}
Case = dict[str, Any]


def main() -> None:
    write(PAGE, page(json.loads((RESULTS / "engines.json").read_text(encoding="utf-8"))))


def page(found: dict[str, Any]) -> str:
    """The page as Markdown."""
    cases = found["engines"]
    facts = {
        "setting": setting(found),
        "speed": speed(cases),
        "passes": passes(cases),
        "sizes": sizes(cases),
        "torch_too": "that includes torch, which judges",
        "rows": found["asked"]["rows"],
        "same": same(cases),
        "words": "\n".join(f"{i}. {sentence}" for i, sentence in enumerate(sentences(cases), 1)),
        "missing": missing(found["missing"]),
    }
    return filled("engines", facts).rstrip() + "\n"


def setting(found: dict[str, Any]) -> str:
    machine, asked = found["machine"], found["asked"]
    versions = {name: number for case in found["engines"] for name, number in case["versions"].items()}
    low, high = min(machine["load"]), max(machine["load"])
    return (
        f"{machine['processor']}, {machine['cores']} cores, load {low:g} to {high:g} while it ran, of which one engine "
        f"at a time makes one or two; {len(asked['prompts'])} prompts of {asked['new_tokens']} new tokens; "
        f"{asked['rounds']} rounds, in each every engine in turn as a process of its own. Python {machine['python']}, "
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
            case["engine"],
            str(case["threads"]),
            interval(case["speed"]["plain"], ".0f"),
            *(f"{case['speed'][way][0]:.0f}, ×{case['times_plain'][way][0]:.2f}" if way in case["speed"] else ""
              for way in ways),
            case["precision"],
        ]
        for case in cases
    ]  # fmt: skip
    head = ["engine", "threads", "plain", *(f"HSD γ = {way.split()[-1]}" for way in ways), "precision"]
    return table(head, lines)


def passes(cases: list[Case]) -> str:
    widths = list(cases[0]["ratios"]) if cases else []
    lines = [
        [case["engine"], str(case["threads"]), interval(case["passes"]["1"], ".1f")]
        + [interval(case["ratios"][width]) for width in widths]
        for case in cases
    ]
    return table(["engine", "threads", "T(1), ms", *(f"T({width})/T(1)" for width in widths)], lines)


def sizes(cases: list[Case]) -> str:
    lines = [
        [
            case["engine"],
            str(case["threads"]),
            interval(case["ready"], ".1f"),
            f"{case['memory_mb'][0]:.0f}" if case["memory_mb"] else "not told",
            f"{case['model_mb']:.0f}",
            f"{case['library_mb']:.0f}" if case["library_mb"] else "the browser",
        ]
        for case in cases
    ]
    return table(["engine", "threads", "ready, s", "memory, MB", "model, MB", "library, MB"], lines)


def same(cases: list[Case]) -> str:
    lines = [
        [
            name(case),
            "{} of {}".format(*case["likeliest"]) if "likeliest" in case else "not asked",
            f"{case['kl']:.1e}" if "kl" in case else "not asked",
            ", ".join(case["same_bits"]) or "none",
        ]
        for case in cases
    ]
    return table(["engine", "likeliest token as torch's", "KL", "the same bits as"], lines)


def sentences(cases: list[Case]) -> list[str]:
    """Return the page's sentences: the fastest engine, where drafts pay, start-up, memory, differing models."""
    alike = [case for case in cases if case.get("likeliest") is None or share(case) >= SAME]
    return [sentence for make in (fastest, beside, paying, frugal, another) if (sentence := make(cases, alike))]


def share(case: Case) -> float:
    return float(case["likeliest"][0] / case["likeliest"][1])


def fastest(_: list[Case], alike: list[Case]) -> str:
    """The fastest way to decode, for each number of threads."""
    told = []
    for count in sorted({case["threads"] for case in alike}):
        each = [case for case in alike if case["threads"] == count]
        plain = max(each, key=lambda case: case["speed"]["plain"][0])
        value, way, case = max(((v[0], w, c) for c in each for w, v in c["speed"].items()), key=lambda one: one[0])
        words = (
            f"on {threads(plain)} {plain['engine']} decodes plain fastest, {plain['speed']['plain'][0]:.0f} tokens/s"
        )
        if way != "plain":
            sure = case["speed"][way][1] > plain["speed"]["plain"][2]
            words += f", and {case['engine']} with HSD at γ = {way.split()[-1]} is " + (
                f"faster than any plain one, {value:.0f}" if sure else f"level with it, {value:.0f}: rounds overlap"
            )
        told.append(words)
    return _sentence("; ".join(told))


def beside(_: list[Case], alike: list[Case]) -> str:
    """Our engines beside each peer, thread by thread."""
    plain = {(case["engine"], case["threads"]): case["speed"]["plain"][0] for case in alike}
    peers = dict.fromkeys(name for name, _ in plain if not name.startswith(OURS))
    told: dict[str, list[str]] = {}
    for case in alike:
        if place := PLACES.get(case["engine"]):
            count, ways = case["threads"], {way: times[0] for way, times in case["speed"].items()}
            best = max((way for way in ways if way != "plain"), key=lambda way: ways[way], default="plain")
            told.setdefault(place, []).extend(
                f"{ways['plain'] / plain[peer, count]:.2f} times as fast as {peer} on {threads(case)} "
                f"(HSD at γ = {best.split()[-1]}: {ways[best] / plain[peer, count]:.2f} times)"
                for peer in peers
                if (peer, count) in plain
            )
    return " ".join(
        _sentence(f"plain decoding {place} is {', '.join(these)}") for place, these in told.items() if these
    )


def paying(cases: list[Case], _: list[Case]) -> str:
    """Where HSD is faster than plain decoding by the same engine, beside T(3)/T(1)."""
    ours = [case for case in cases if case["times_plain"]]
    groups: dict[str, list[str]] = {"pays": [], "does not pay": [], "is level": []}
    for case in ours:
        way = max(case["times_plain"], key=lambda way: case["times_plain"][way][0])
        value, least, most = case["times_plain"][way]
        word = "pays" if least > 1 else "does not pay" if most < 1 else "is level"
        at = f"×{value:.2f} at its best, γ = {way.split()[-1]}"
        groups[word].append(f"by {name(case)} ({at}, where three tokens cost {case['ratios']['3'][0]:.2f} passes)")
    told = [f"HSD {word} {'; '.join(these)}" for word, these in groups.items() if these]
    return (
        f"{'. '.join(told)}: a draft is free only as far as a pass over several tokens costs what a pass over one "
        "does, which is so where a pass waits for the weights, and not where it is bound by arithmetic."
        if told
        else ""
    )


def frugal(_: list[Case], alike: list[Case]) -> str:
    """Name the engine that is ready first and the one that needs least memory."""
    known = [case for case in alike if case["memory_mb"]]
    if not known:
        return ""
    soon, small = min(alike, key=lambda case: case["ready"][0]), min(known, key=lambda case: case["memory_mb"][0])
    tail = [
        f"{case['engine']} takes {case['ready'][0]:.1f} s and {case['memory_mb'][0] / 1e3:.1f} GB"
        for case in known
        if case["engine"].startswith(OURS) and case["threads"] == 1
    ]
    return _sentence(
        f"{soon['engine']} is ready first, after {soon['ready'][0]:.1f} s, and {small['engine']} needs the least "
        f"memory, {small['memory_mb'][0]:.0f} MB; {', '.join(tail)}"
    )


def another(cases: list[Case], alike: list[Case]) -> str:
    """Name the engine that agrees least with torch's likeliest tokens, and those that decode another model."""
    least = min((case for case in alike if "likeliest" in case), key=share, default=None)
    wrong = sorted({case["engine"] for case in cases if case not in alike})
    told = (
        [f"of the same model, {name(least)} names torch's likeliest token least often, {share(least):.1%}"]
        if least
        else []
    )
    if wrong:
        told.append(
            f"what {' and '.join(wrong)} makes of the file is another model, whose likeliest tokens are mostly others: "
            "its numbers stand here for its passes alone"
        )
    return _sentence("; ".join(told)) if told else ""


def missing(why: dict[str, str]) -> str:
    told = [f"Not measured: {engine} ({line})." for engine, line in why.items()]
    return "\n".join(told)


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


if __name__ == "__main__":
    main()

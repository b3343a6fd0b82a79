"""Qwen2.5-Coder 1.5B with 0.5B, as blocks of the page "Measured" and a table of README.

Reads assets/results/pair.json (engines/measure_pair.py), and what both rules keep,
pair_estimate.json (estimate_pair.py).
"""

from __future__ import annotations

import json
from typing import Any

from measured_engines import PEER, named
from measuring import RESULTS, interval
from pages import prose, table

OURS = "native"
KINDS = ("code", "sums", "stories")
TEMPERATURES = ("0.7", "1")
TITLES = {"plain": "plain", "with the draft": "with the draft"}
WIDTHS = ("2", "3", "4", "5", "7", "9")
Case = dict[str, Any]


def results() -> dict[str, Any]:
    """Return what was measured."""
    return json.loads((RESULTS / "pair.json").read_text(encoding="utf-8"))


def made(found: dict[str, Any]) -> dict[str, str]:
    """Return the blocks of the page."""
    return {
        "pair": f"{prose(setting(found))}\n\n{speeds(found)}",
        "pair_passes": f"{passes(found)}\n\n{prose(limit(found))}",
        "pair_words": prose(words(found)),
        "pair_law": f"{prose(law_setting(estimates()))}\n\n{law(estimates())}",
    }


LENGTHS = (2, 3, 4, 8)  # of the table of tokens per pass; at 1 both rules are one law


def estimates() -> dict[str, Any]:
    """Return what both rules keep, by temperature and kind of text."""
    return json.loads((RESULTS / "pair_estimate.json").read_text(encoding="utf-8"))


def law(found: dict[str, Any]) -> str:
    """Return the table of tokens per pass, vanilla → HSD, by kind, temperature and γ."""
    rows = []
    for temperature, kinds in found["temperatures"].items():
        for kind, own in kinds.items():
            vanilla, hsd = (own["rules"][name]["tokens_per_pass"] for name in ("tokenwise", "hsd"))
            cells = []
            for gamma in LENGTHS:
                low, high = own["difference"]["tokens_per_pass_interval"][gamma - 1]
                both = f"{vanilla[gamma - 1]:.2f} → {hsd[gamma - 1]:.2f}"
                cells.append(f"{both} ({low:+.3f} to {high:+.3f})")
            rows.append([f"{kind.lower()}, T = {temperature}", *cells])
    return table(["", *(f"γ = {gamma}" for gamma in LENGTHS)], rows)


def law_setting(found: dict[str, Any]) -> str:
    """Return what the table is of."""
    asked = found["asked"]
    tokens = " and ".join(
        f"{kinds['all']['tokens']:,} tokens at T = {t}"
        for t, kinds in found["temperatures"].items()
    )
    return (
        f"From {asked['prompts']} prompts of each of four kinds, up to {asked['new_tokens']} new "
        f"tokens each ({tokens}), written plainly by the target: exact over drafts and coins; in "
        "brackets the 95 % interval of the paired difference over texts."
    )


def in_a_sentence(found: dict[str, Any]) -> str:
    """Return what HSD gains over vanilla at that size, for the page "Science"."""
    parts = []
    for temperature, kinds in found["temperatures"].items():
        gains = []
        for gamma in (2, 5, 8):
            shares = [
                100
                * own["difference"]["tokens_per_pass"][gamma - 1]
                / own["rules"]["tokenwise"]["tokens_per_pass"][gamma - 1]
                for kind, own in kinds.items()
                if kind != "all"
            ]
            gains.append(f"+{min(shares):.1f} to +{max(shares):.1f} % at γ = {gamma}")
        parts.append(f"{', '.join(gains)} at T = {temperature}")
    return (
        "On Qwen2.5-Coder 1.5B with 0.5B, two language models of one family, by kind of text: "
        f"{'; '.join(parts)}."
    )


def more_by_law() -> str:
    """Return by how much HSD's tokens per pass are above vanilla's at T = 0.7, by draft length."""
    own = estimates()["temperatures"]["0.7"]["all"]
    vanilla = own["rules"]["tokenwise"]["tokens_per_pass"]
    more = own["difference"]["tokens_per_pass"]
    shares = {gamma: more[gamma - 1] / vanilla[gamma - 1] for gamma in (3, 8)}
    return " and ".join(f"{share:.1%} (γ = {gamma})" for gamma, share in shares.items())


def of_engine(found: dict[str, Any], engine: str, count: int = 2) -> Case | None:
    """Return the case of an engine on so many threads, None where it was not measured."""
    cases = {(case["engine"], case["threads"]): case for case in found["engines"]}
    return cases.get((engine, count))


def setting(found: dict[str, Any]) -> str:
    """Return where and how it was measured."""
    machine = found["machine"]
    asked = found["asked"]
    number = sum(map(len, asked["prompts"].values()))
    versions = {
        name: number for case in found["engines"] for name, number in case["versions"].items()
    }
    return (
        f"{machine['processor']}, {machine['cores']} cores, load {min(machine['load']):g} to "
        f"{max(machine['load']):g} with the engine, two threads; {number} prompts of three kinds, "
        f"{asked['new_tokens']} new tokens each; {rounds(found)}, engines in turn. Tokens per "
        "second after the first step, and × plain decoding by the same engine in the same round. "
        "Every way writes texts of its own, so that rules, or lengths, that are close differ by "
        "luck: what a rule keeps by law stands below. The draft's output has its first "
        f"{asked['cut']:,} rows, but in the row *whole draft*. Python {machine['python']}, "
        + ", ".join(f"{name} {number}" for name, number in versions.items())
        + "."
    )


def rounds(found: dict[str, Any]) -> str:
    """Return how often each engine was timed."""
    return ", ".join(
        f"{case['engine']} in {case['rounds']} round{'s' * (case['rounds'] > 1)}"
        for case in found["engines"]
        if case["threads"] == max(case["threads"] for case in found["engines"])
    )


def ways(case: Case) -> list[str]:
    """Return the ways of a case in their order: plain first."""
    names = dict.fromkeys(name.split(", ", 2)[2] for name in case["speed"])
    return [name for name in names if name != "plain, again"]


def cell(case: Case, name: str) -> str:
    """Return a speed, and its ratio to plain decoding."""
    if name not in case["speed"]:
        return ""
    speed = f"{case['speed'][name][0]:.1f}"
    ratio = case["times_plain"].get(name)
    return f"{speed}, ×{ratio[0]:.2f}" if ratio else speed


def speeds(found: dict[str, Any]) -> str:
    """Return the table of tokens per second: a row a way, a column a kind of text."""
    rows = []
    for engine in (OURS, PEER):
        case = of_engine(found, engine)
        if not case:
            continue
        for way in ways(case):
            cells = [
                cell(case, f"{kind}, T = {temperature}, {way}")
                for temperature in TEMPERATURES
                for kind in KINDS
            ]
            rows.append([f"{engine}, {title(way)}", *cells])
    heads = [f"{kind}, T = {t}" for t in TEMPERATURES for kind in KINDS]
    return table(["", *heads], rows)


def title(way: str) -> str:
    """Return the name of a way as the page has it."""
    rule, _, gamma = way.rpartition(" ")
    names = {"hsd": "HSD, whole draft", "cut hsd": "HSD", "vanilla": "vanilla"}
    return f"{names[rule]}, γ = {gamma}" if rule in names else way


def passes(found: dict[str, Any]) -> str:
    """Return the table of passes by their width, two threads."""
    rows = []
    for engine in (OURS, PEER):
        case = of_engine(found, engine)
        for model, times in case["passes"].items() if case else ():
            one = times["1"]
            ratios = [f"{times[width][0] / one[0]:.2f}" for width in WIDTHS]
            rows.append([f"{engine}, {model}", interval(one, ".1f"), *ratios])
    return table(["", "T(1), ms", *(f"T({width})/T(1)" for width in WIDTHS)], rows)


def limit(found: dict[str, Any]) -> str:
    """Say how long a bare loop over a file's bytes takes."""
    both = [
        f"{found['reading'][f'{model}, 2'][0]:.0f} ms ({model})" for model in ("target", "draft")
    ]
    return (
        f"On one thread T(1) is {alone(found, 'target')} ms for the target and "
        f"{alone(found, 'draft')} for the draft. A bare loop over as many bytes as a file has, by "
        f"numpy on two threads, takes {' and '.join(both)}: longer than these passes, so what "
        "memory could give at best was not found here."
    )


def alone(found: dict[str, Any], model: str) -> str:
    """Return the time of a pass over one token on one thread."""
    case = of_engine(found, OURS, 1)
    return f"{case['passes'][model]['1'][0]:.0f}" if case else "…"


def words(found: dict[str, Any]) -> str:
    """Say what pays, and what an engine needs."""
    case = of_engine(found, OURS)
    assert case
    gains = [f"{best(case, kind, t)} on {kind} at T = {t}" for t in TEMPERATURES for kind in KINDS]
    said = [f"HSD at its best γ: {', '.join(gains)}."]
    size = sum(found["sizes"].values()) / 1e6
    said.append(
        f"Ready after {case['ready'][0]:.1f} s with files in the system's cache; "
        f"{case['memory_mb'][0]:,.0f} MB at most, for {size:,.0f} MB of files."
    )
    peer = of_engine(found, PEER)
    if peer:
        ours = case["speed"]["code, T = 0.7, plain"][0] / peer["speed"]["code, T = 0.7, plain"][0]
        said.append(f"Plain decoding is {ours:.2f} × {PEER} on code.")
        if "kl" in peer:
            same, all_ = peer["likeliest"]
            said.append(
                f"Against {PEER}'s rows after {all_} tokens of README: the likeliest token is the "
                f"same {same} times, KL {peer['kl']:.4f} nats."
            )
    return " ".join(said)


def best(case: Case, kind: str, temperature: str) -> str:
    """Return HSD's largest ratio to plain decoding, and its γ."""
    begin = f"{kind}, T = {temperature}, cut hsd "
    ratios = {
        name.removeprefix(begin): ratio[0]
        for name, ratio in case["times_plain"].items()
        if name.startswith(begin)
    }
    gamma = max(ratios, key=lambda name: ratios[name])
    return f"×{ratios[gamma]:.2f} (γ = {gamma})"


def readme(found: dict[str, Any]) -> str:
    """Return README's table of this pair."""
    case = of_engine(found, OURS)
    assert case
    rows = []
    peer = of_engine(found, PEER)
    if peer:
        rows.append([f"{PEER}, plain", *(cell(peer, f"{kind}, T = 0.7, plain") for kind in KINDS)])
    for way in ("plain", "vanilla 3", "cut hsd 3"):
        cells = [cell(case, f"{kind}, T = 0.7, {way}") for kind in KINDS]
        rows.append([f"this project, {title(way)}", *cells])
    machine = found["machine"]
    load = f"load {min(machine['load']):g} to {max(machine['load']):g}"
    about = (
        f"Qwen2.5-Coder 1.5B with 0.5B (4 bits) on {named(machine)}, two threads, {load}; T = 0.7. "
        "Tokens a second, and × plain decoding by the same engine. By law HSD gives "
        f"{more_by_law()} more tokens a pass than vanilla."
    )
    return f"{prose(about)}\n\n{table(['', *KINDS], rows)}"

"""Write the blocks of the page "Measured" and the speeds in README, from assets/results.

    python examples/reproduce/measured_page.py

Nothing is measured here. Writes assets/docs/measured.md, README.md, and what science.md has from
results.
"""

from __future__ import annotations

import json
import statistics
from typing import Any

import estimate_vllm
import measure_systems
import measured_engines
import measured_pair
import measured_trees
import science_page
from measuring import RESULTS, interval
from pages import DOCS, ROOT, prose, table, write

from hsd.bench.report import Benchmark, read
from hsd.bench.report import interval as speeds

PAGE = DOCS / "measured.md"
README = ROOT / "README.md"
KINDS = {"stories": "stories", "gsm8k": "sums", "humaneval": "code", "spec_bench:qa": "questions"}
WAYS = {
    "n-grams, γ=2": "n-grams, γ = 2",
    "tokenwise, γ=2": "vanilla, γ = 2",
    "hsd, γ=2": "HSD, γ = 2",
    "hsd, γ=5": "HSD, γ = 5",
    "hsd, γ=auto": "HSD, γ = auto",
}
Row = dict[str, Any]


def main() -> None:
    write(PAGE, made())
    write(README, readme())
    write(science_page.PAGE, science_page.of_a_head())
    write(DOCS / "deploy.md", {"gpu": gpu(), "estimate_vllm": estimate_vllm.made()})


def gpu() -> str:
    """What a GPU takes for the parts of a step, by `gpu_bench.py`, in passes over one token and in
    milliseconds.
    """
    result = json.loads((RESULTS / "gpu-nvidia-h100-80gb-hbm3.json").read_text(encoding="utf-8"))
    calls = result["calls_ms"]
    checks = result["verification_ms"]["captured"]
    waits = result["waits_per_step"]
    one = calls["target, width 1, captured"]
    drafted = calls["draft, width 1, captured"]
    two, six, eleven = (calls[f"target, width {width}, captured"] for width in (2, 6, 11))
    hsd = checks["hsd"]
    return prose(
        "Measured on an NVIDIA H100 with random weights of a 7B target's shape and of one layer of "
        "it as draft, "
        "`bfloat16`, captured (`python examples/reproduce/gpu_bench.py --size 7b-head --gamma 5`, "
        "torch "
        f"{result['machine']['torch']}): a pass over one token takes {one:.1f} ms "
        f"({one / result['memory']['target_floor_ms']:.1f} times the reading of its weights), one "
        "over 2, 6 and 11 "
        f"tokens {two / one:.2f}, {six / one:.2f} and {eleven / one:.2f} times as long, nearly the "
        "same. A drafted "
        f"token costs {drafted / one:.2f} passes. Judging five of them takes HSD {hsd:.2f} ms, "
        f"{hsd / (six + 5 * drafted + hsd):.1%} of a step, token-wise {checks['tokenwise']:.2f}. "
        "The host waits for "
        f"the device {waits['captured']:.0f} time a step, {waits['eager']:.1f} times where nothing "
        "is captured."
    )


def made() -> dict[str, str]:
    """Return the blocks of the page."""
    parts = {
        "summary": summary(),
        "bench": benchmark("bench-smollm2"),
        "bench_greedy": greedy(),
        **measured_engines.made(measured_engines.results()),
        "page": measured_engines.of_page(measured_engines.results("page_speed.json")),
        **measured_pair.made(measured_pair.results()),
        **measured_trees.made(),
        "tiny": tiny(),
        "peer": peer(),
        "several": several(),
        **measure_systems.made(json.loads((RESULTS / "systems.json").read_text(encoding="utf-8"))),
    }
    return {name: prose(text) for name, text in parts.items()}


def readme() -> dict[str, str]:
    """Return the blocks of README."""
    small = measured_engines.readme(measured_engines.results())
    return {"speed": prose(f"{measured_pair.readme(measured_pair.results())}\n\n{small}")}


def summary() -> str:
    """Say in one line how fast HSD is, by the recorded benchmark and beside llama.cpp."""
    kinds = by_case(read(RESULTS / "bench-smollm2.jsonl"))
    speedups = [of["hsd, γ=2"]["speedup"] for of in kinds]
    peer = measured_engines.over_peer(measured_engines.results())
    return (
        f"1. On two cores HSD with drafts of two tokens is {min(speedups):.2f} to "
        f"{max(speedups):.2f} times as fast as plain decoding, by the text; its\n   fastest drafts "
        f"are {peer:.1f} times as fast as llama.cpp's plain decoding."
    )


def by_case(found: Benchmark) -> list[dict[str, Row]]:
    """Return the rows of each kind of text, by their cases."""
    return [{row["case"]: row for row in rows} for rows in found.by_kind().values()]


def prompts_of_a_kind(found: Benchmark) -> int:
    return len(found.header["prompts"]["kinds"]) // len(found.by_kind())


def benchmark(name: str) -> str:
    """Return the table of a recorded benchmark of the real model, and how it was measured."""
    found = read(RESULTS / f"{name}.jsonl")
    lines = []
    for kind, rows in found.by_kind().items():
        of = {row["case"]: row for row in rows}
        times = (speeds(of[way]["speedup_interval"]) for way in WAYS)
        lines.append(
            [
                KINDS[kind],
                f"{of['plain']['tokens_per_second']:.0f}",
                *times,
                f"{of['hsd, γ=2']['limit']:.2f}",
            ]
        )
    machine = found.header["machine"]
    heat = found.header["cases"][0]["options"]["temperature"]
    size = (
        f"{found.header['max_new_tokens']} tokens a prompt"
        if "max_new_tokens" in found.header
        else ""
    )
    where = ", ".join(
        filter(
            None,
            (
                f"{prompts_of_a_kind(found)} prompts of each kind",
                f"{found.header['repetitions']} repetitions",
                f"T = {heat:g}",
                size,
                machine["processor"],
                f"{machine['threads']} threads",
                f"load {machine['load']}",
            ),
        )
    )
    return f"{where}:\n\n" + table(["text", "plain, tokens/s", *WAYS.values(), "limit"], lines)


def span(rows: list[Row]) -> str:
    """Return the smallest and the largest speed-up of these rows with their intervals."""
    ends = (pick(rows, key=lambda row: row["speedup"]) for pick in (min, max))
    return " to ".join(speeds(row["speedup_interval"]) for row in ends)


def greedy() -> str:
    """Say how fast HSD is at temperature 0, by the benchmark of its own."""
    found = read(RESULTS / "bench-greedy.jsonl")
    rows = [{row["case"]: row for row in kind}["hsd, γ=2"] for kind in found.by_kind().values()]
    return (
        f"At T = 0, where the text is the same whatever drafts, HSD at γ = 2 is {span(rows)} times "
        "as fast as plain "
        f"decoding, by kind of text (bench-greedy, load {found.header['machine']['load']}, "
        "intervals by Student's t)."
    )


def tiny() -> str:
    """Return what HSD gains in tokens on the toy pair."""
    rows = json.loads((RESULTS / "tiny.json").read_text(encoding="utf-8"))["efficiency"]
    kinds: dict[str, list[Row]] = {}
    for row in rows:
        if row["temperature"] == 1:
            kinds.setdefault(row["domain"], []).append(row)
    lines = [
        [
            kind,
            *(
                f"{interval(row['tokenwise'])} → {interval(row['hsd'])}, {row['gain']:+.1%}"
                for row in these
            ),
        ]
        for kind, these in kinds.items()
    ]
    return table(["text", *(f"γ = {row['gamma']}" for row in next(iter(kinds.values())))], lines)


def peer() -> str:
    """Compare with assisted generation of `transformers` on the toy pair."""
    rows = {row["case"]: row for row in read(RESULTS / "peer.jsonl").rows()}
    told = (
        f"{words} {row['tokens_per_second']:.0f} ({row['block_efficiency'][0]:.2f} tokens per "
        "target call)"
        for words, row in (
            ("HSD", rows["hsd, γ=5"]),
            ("token-wise", rows["tokenwise, γ=5"]),
            ("the library's assisted generation", rows["transformers, assisted, γ=5"]),
        )
    )
    beside = "beside `transformers` on the same pair, both by torch, γ = 5 (peer.jsonl)"
    return f"Tokens per second {beside}: {', '.join(told)}."


def several() -> str:
    """Return what several drafts bring on the toy pair, and what they cost."""
    cases = json.loads((RESULTS / "trees.json").read_text(encoding="utf-8"))["cases"]
    return verdict(cases, list(cases["HSD, one draft"]))


def step_ms(found: Row) -> float:
    return statistics.mean(row["ms_per_step"] for row in found.values())


def verdict(cases: Row, domains: list[str]) -> str:
    """What several drafts bring, and what they cost, in one sentence."""
    one = cases["HSD, one draft"]
    four = cases["HSD, 4 drafts"]
    gains = [
        four[d]["tokens_per_target_call"][0] / one[d]["tokens_per_target_call"][0] - 1
        for d in domains
    ]
    cost = step_ms(four) / step_ms(one)
    return (
        f"On the toy pair (γ = 5, T = 1, one thread) four drafts bring HSD {100 * min(gains):.0f} "
        "to "
        f"{100 * max(gains):.0f} % more tokens per target call, and a step takes {cost:.2f} times "
        "as long: "
        f"{'more' if min(gains) + 1 > cost else 'less'} than they cost."
    )


if __name__ == "__main__":
    main()

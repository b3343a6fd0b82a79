"""Measure Qwen2.5-Coder 1.5B with 0.5B by this project's engine and by llama.cpp, in turn.

    python -m hsd fetch qwen-coder
    python -m pip install llama-cpp-python
    python examples/reproduce/engines/measure_pair.py

Every round starts each engine in a process of its own, on two threads and ours also on one
(pair_turn.py):

passes  the time of a pass over 1 to 9 tokens after 100 others, of the target, of the draft, and of
        the draft whose output is cut to its first rows
speed   tokens per second after the first step, on code, sums and stories at two temperatures:
        plain, vanilla and HSD by draft length; llama.cpp plainly, and with the same draft model
ready   seconds from the process's start to the target's first row, files in the system's cache
rows    in the first round: the likeliest token after each token of the README, and how far
        llama.cpp's probabilities are from ours
reading the time in which so many threads read as many bytes as a file has from memory: less no
        pass can take whose weights do not stay in the processor's cache

Writes assets/results/pair.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT), str(HERE.parent)]

from measure import kl, one, over, streaming  # noqa: E402
from measuring import RESULTS, save  # noqa: E402

import hsd  # noqa: E402
from hsd.models.loading.fetch_pair import fetched_pair  # noqa: E402
from hsd.models.loading.tokenizer import FileTokenizer  # noqa: E402
from hsd.models.machine import processor  # noqa: E402
from hsd.models.small.gguf import read_gguf  # noqa: E402

PAIR = "qwen-coder"
ENGINES = ("native", "llama.cpp")
CASES = (("native", 1), ("native", 2), ("llama.cpp", 2))
PROMPTS = {
    "code": (
        "Write a Python function that merges two sorted lists into one sorted list.",
        "Write a Python class for a stack with push, pop and a method that returns the largest.",
    ),
    "sums": (
        "A shop sells pens for 3 dollars each. Ana buys 4 pens and pays with a 20 dollar note. "
        "How much change does she get?",
        "A train leaves at 9:40 and drives 150 km at 60 km/h. When does it arrive?",
    ),
    "stories": (
        "Tell me a short story about a lighthouse keeper.",
        "Write the beginning of a story about a dog that finds a map.",
    ),
}
TEMPERATURES = (0.7, 1.0)
LENGTHS = (1, 2, 3, 4, 6, 8)
CUT = 32_768  # rows of the draft's output
WAYS: dict[str, dict[str, Any]] = {
    "plain": {"system": "plain"},
    "hsd 3": {"gamma": 3},
}
CUT_WAYS: dict[str, dict[str, Any]] = {
    "plain, again": {"system": "plain"},
    **{f"vanilla {gamma}": {"gamma": gamma, "rule": "tokenwise"} for gamma in LENGTHS[1:]},
    **{f"cut hsd {gamma}": {"gamma": gamma} for gamma in (*LENGTHS, "auto")},
}
WIDTHS = (1, 2, 3, 4, 5, 6, 7, 9)
BEFORE = 100
ROWS = 512
LONGEST = 1200  # seconds of a turn


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--repetitions", type=int, default=9, help="passes of each width")
    parser.add_argument("--threads", nargs="+", type=int, default=(1, 2))
    parser.add_argument("--out", type=Path, default=RESULTS / "pair.json")
    given = parser.parse_args()
    files = fetched_pair(PAIR)
    if files is None:
        raise SystemExit(f"the files are not here: run python -m hsd fetch {PAIR}")
    sizes = {
        model: file.stat().st_size for model, file in zip(("target", "draft"), files, strict=True)
    }
    begin = time.time()
    turns: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    reading: dict[str, list[float]] = defaultdict(list)
    missing = {}
    loads = []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(given.rounds):
            loads.append(os.getloadavg()[0])
            for threads in given.threads:
                for model, size in sizes.items():
                    times = reading[f"{model}, {threads}"]
                    times.append(streaming(threads, size, given.repetitions))
            for case in CASES:
                if case[0] not in given.engines or case[1] not in given.threads or case in missing:
                    continue
                asked = job(given, files, case, Path(folder) if turn == 0 else None)
                measured = one(case, asked, "pair_turn.py", LONGEST)
                if "missing" in measured:
                    missing[case] = measured["missing"]
                    print(f"{case[0]} {case[1]} is left out: {measured['missing']}", flush=True)
                    continue
                turns[case].append(measured)
                print(turn, case, json.dumps({**measured, "likeliest": None}), flush=True)
        result = {
            "what": f"{PAIR} by several engines, in turn, {given.rounds} rounds: "
            "[median, least, most]",
            "machine": {
                "processor": processor(),
                "cores": os.cpu_count(),
                "load": [round(load, 2) for load in [*loads, os.getloadavg()[0]]],
                "seconds": round(time.time() - begin),
                "python": platform.python_version(),
                "hsd": hsd.__version__,
            },
            "asked": {
                "prompts": PROMPTS,
                "new_tokens": given.new_tokens,
                "rounds": given.rounds,
                "before": BEFORE,
                "rows": ROWS,
                "cut": CUT,
            },
            "sizes": sizes,
            "missing": {f"{name} {count}": why for (name, count), why in missing.items()},
            "reading": {name: over(times) for name, times in reading.items()},
            "engines": [
                summary(case, case_turns) | apart(case, Path(folder))
                for case, case_turns in turns.items()
            ],
        }
    save(result, given.out)
    print(f"written: {given.out}")


def job(
    given: argparse.Namespace,
    files: tuple[Path, Path],
    case: tuple[str, int],
    rows: Path | None,
) -> dict[str, Any]:
    """Return the job of a turn as plain data. rows: folder for the target's rows, or None."""
    tokenizer = FileTokenizer(read_gguf(files[0]).fields)
    readme = tokenizer((ROOT / "README.md").read_text(encoding="utf-8"))["input_ids"][:ROWS]
    both = case[1] == max(given.threads)
    return {
        "engine": case[0],
        "threads": case[1],
        "python": sys.executable,
        "target": str(files[0]),
        "draft": str(files[1]),
        "draft_rows": CUT,
        "prompts": PROMPTS,
        "new": given.new_tokens,
        "temperatures": TEMPERATURES if both else TEMPERATURES[:1],
        "ways": WAYS,
        "cut_ways": CUT_WAYS if both else {"cut hsd 3": {"gamma": 3}},
        "widths": WIDTHS,
        "before": BEFORE,
        "repetitions": given.repetitions,
        "rows": readme if rows and both else None,
        "out": str(rows_file(case, rows)) if rows else None,
    }


def rows_file(case: tuple[str, int], folder: Path) -> Path:
    return folder / f"{ENGINES.index(case[0])}.npy"


def summary(case: tuple[str, int], turns: list[dict[str, Any]]) -> dict[str, Any]:
    """Summarise a case over rounds: [median, least, most] of each time."""
    first = turns[0]
    passes = {
        model: {
            width: over([turn["passes"][model][width] for turn in turns])
            for width in first["passes"][model]
        }
        for model in first["passes"]
    }
    speeds: dict[str, Any] = {}
    times_plain: dict[str, Any] = {}
    for name in first["speed"]:
        kind, temperature, way = name.split(", ", 2)
        names = [name]
        if way == "plain":
            names.append(f"{name}, again")
        rates = [speed_of(turn, *names) for turn in turns]
        plain = f"{kind}, {temperature}, plain"
        plain_rates = [speed_of(turn, plain, f"{plain}, again") for turn in turns]
        speeds[name] = over(rates, 1)
        if way != "plain":
            ratios = [a / b for a, b in zip(rates, plain_rates, strict=True)]
            times_plain[name] = over(ratios)
    return {
        "engine": case[0],
        "threads": case[1],
        "rounds": len(turns),
        "precision": first["precision"],
        "versions": first["versions"],
        "passes": passes,
        "speed": speeds,
        "times_plain": times_plain,
        "ready": over([turn["ready"] for turn in turns]),
        "memory_mb": over([turn["memory_mb"] for turn in turns], 0),
    }


def speed_of(turn: dict[str, Any], *names: str) -> float:
    """Return tokens per second of these cases together, as far as they were timed."""
    known = [turn["speed"][name] for name in names if name in turn["speed"]]
    tokens, seconds = (sum(column) for column in zip(*known, strict=True))
    return float(tokens / seconds)


def apart(case: tuple[str, int], folder: Path) -> dict[str, Any]:
    """Compare the peer's rows with ours: equal likeliest tokens, mean KL in nats."""
    ours = rows_file(("native", 0), folder)
    theirs = rows_file(case, folder)
    if case[0] == "native" or not (ours.exists() and theirs.exists()):
        return {}
    p = np.load(theirs)
    q = np.load(ours)
    tokens = np.isfinite(q[0]).nonzero()[0]  # ours gives no chance to rows that no token has
    p = p[:, tokens]
    q = q[:, tokens]
    same = int((p.argmax(-1) == q.argmax(-1)).sum())
    return {"likeliest": [same, len(p)], "kl": kl(p, q)}


if __name__ == "__main__":
    main()

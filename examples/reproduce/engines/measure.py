"""Measure this project's engines and others on the same model, in turn: some six minutes.

    python -m hsd fetch smollm2
    python -m venv peers
    peers/bin/pip install numpy onnx onnxruntime openvino openvino-genai llama-cpp-python
    python examples/reproduce/engines/measure.py --peers-python peers/bin/python
    python examples/reproduce/measured_page.py

Every round starts every engine in a process of its own, on one thread and on two, and asks all of
them alike (turn.py):

ready   seconds from the process's start to the first row, files in the system's cache; in the
        browser, from the press of the button on a page that has kept nothing and has its files from
        this machine
passes  the time of a pass over 1 to 8 tokens after 100 others
speed   tokens per second after the first: ours plain and HSD at temperature 0.7, seeded; peers
        plain, the likeliest
memory  the most that the process had, before rows are asked; model and library: megabytes on the
        disk
rows    in the first round: the likeliest token after each token of the README, and how far from
        torch's rows
reading the time in which so many threads read as many bytes as the file has from memory: less no
        pass can take whose weights do not stay in the processor's cache

What is not there (a peer, Chromium, the converted weights) is told in a line and left out. Every
turn is also written as it ends, to turns.jsonl beside the files that peers need; these are made in
runs/engines, and kept. Writes assets/results/engines.json, and what it is writing is told as it
goes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT), str(HERE.parent)]

from converted import converted  # noqa: E402
from measuring import RESULTS, save  # noqa: E402

from hsd.app.browser import CHAT  # noqa: E402
from hsd.models.loading import fetch  # noqa: E402
from hsd.models.loading.tokenizer import FileTokenizer  # noqa: E402
from hsd.models.machine import processor  # noqa: E402
from hsd.models.small.gguf import read_gguf  # noqa: E402

NAME = "smollm2"
OURS = ("native", "wasm, wasmtime", "wasm, Chromium", "torch")
CONVERTED = ("torch", "OpenVINO, ONNX", "ONNX Runtime")  # need the float32 weights
ENGINES = (*OURS, "llama.cpp", *CONVERTED[1:], "OpenVINO, GGUF")
CASES = [(name, threads) for name in ENGINES for threads in (1, 2)]
SCRIPTS = {**dict.fromkeys(OURS, "ours.py"), "wasm, Chromium": "browser.py"}
WAYS: dict[str, dict[str, Any]] = {
    "plain": {"system": "plain"},
    **{f"hsd {gamma}": {"gamma": gamma} for gamma in (1, 2, 3, 4, "auto")},
}
PROMPTS = (
    "Tell me a story about the sea.",
    "Write a Python function that adds two numbers.",
    "Why is the sky blue?",
    "A train goes 60 miles in 90 minutes. How fast is it?",
)
WIDTHS = (1, 2, 3, 4, 6, 8)
BEFORE = 100
ROWS = 512
LONGEST = 300  # seconds of a turn
Found = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--peers-python", default=sys.executable, help="a Python that has the peers"
    )
    parser.add_argument(
        "--engines",
        nargs="+",
        choices=ENGINES,
        default=ENGINES,
        help="those to measure",
        metavar="NAME",
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument(
        "--repetitions", type=int, default=15, help="passes of each width in a round"
    )
    parser.add_argument("--port", type=int, default=0, help="for the page; 0: any that is free")
    parser.add_argument("--chromium", default="/usr/bin/chromium", help="empty: Playwright's own")
    parser.add_argument(
        "--work", type=Path, default=ROOT / "runs" / "engines", help="where peers' files are kept"
    )
    parser.add_argument("--out", type=Path, default=RESULTS / "engines.json")
    given = parser.parse_args()
    gguf = fetch.fetched_file(NAME)
    folder = converted()
    if gguf is None:
        raise SystemExit(f"the weights are not here: run python -m hsd fetch {NAME}")
    given.work.mkdir(parents=True, exist_ok=True)
    begin = time.time()
    missing = prepare(given, gguf, folder)
    rounds: dict[tuple[str, int], list[Found]] = defaultdict(list)
    loads = []
    reading = {threads: list[float]() for threads in (1, 2)}
    with tempfile.TemporaryDirectory() as rows:
        for turn in range(given.rounds):
            loads.append(os.getloadavg()[0])
            print(f"round {turn + 1} of {given.rounds}, load {loads[-1]:.2f}", flush=True)
            for threads, times in reading.items():
                times.append(streaming(threads, gguf.stat().st_size, given.repetitions))
            for case in [
                case for case in CASES if case[0] in given.engines and case[0] not in missing
            ]:
                found = one(case, job(given, gguf, folder, case, Path(rows) if turn == 0 else None))
                if "missing" in found:
                    missing[case[0]] = found["missing"]
                    print(f"{case[0]} is left out: {found['missing']}", flush=True)
                else:
                    rounds[case].append(found)
                    print(f"  {case[0]} {case[1]}: {told(found)}", flush=True)
                    with (given.work / "turns.jsonl").open("a", encoding="utf-8") as turns:
                        turns.write(
                            json.dumps({"round": turn, "case": case, "load": loads[-1], **found})
                            + "\n"
                        )
        whole = {case: turns for case, turns in rounds.items() if case[0] not in missing}
        result = {
            "what": f"SmolLM2-135M-Instruct by several engines, in turn, {given.rounds} rounds: "
            "[median, least, most]",
            "machine": {
                "processor": processor(),
                "cores": os.cpu_count(),
                "load": [round(load, 2) for load in [*loads, os.getloadavg()[0]]],
                "seconds": round(time.time() - begin),
                "python": platform.python_version(),
                "wasmtime": version("wasmtime"),
            },
            "asked": {
                "prompts": PROMPTS,
                "new_tokens": given.new_tokens,
                "rounds": given.rounds,
                "before": BEFORE,
                "rows": ROWS,
            },
            "missing": missing,
            "reading": {threads: over(times) for threads, times in reading.items()},
            "engines": [
                summary(case, turns) | rows_of(case, whole, Path(rows))
                for case, turns in whole.items()
            ],
        }
    save(result, given.out)
    print(f"written: {given.out}")


def job(
    given: argparse.Namespace,
    gguf: Path,
    folder: Path | None,
    case: tuple[str, int],
    rows: Path | None,
) -> Found:
    """Return the job of a turn as plain data. rows: the file for its rows, None if they are not
    needed.
    """
    tokenizer = FileTokenizer(read_gguf(gguf).fields)
    readme = tokenizer((ROOT / "README.md").read_text(encoding="utf-8"))["input_ids"][:ROWS]
    config = json.loads((folder / "config.json").read_text(encoding="utf-8")) if folder else None
    return {
        "engine": case[0],
        "threads": case[1],
        "gguf": str(gguf),
        "folder": str(folder) if folder else None,
        "shape": config,
        "work": str(given.work),
        "prompts": PROMPTS,
        "ids": [tokenizer(prompt.join(CHAT))["input_ids"] for prompt in PROMPTS],
        "new": given.new_tokens,
        "options": {"temperature": 0.7, "max_new_tokens": given.new_tokens, "seed": 1},
        "ways": WAYS,
        "widths": WIDTHS,
        "before": BEFORE,
        "repetitions": given.repetitions,
        "rows": readme if rows else None,
        "out": str(file_of(case, rows)) if rows else None,
        "python": given.peers_python if case[0] not in OURS else sys.executable,
        "port": given.port,
        "chromium": given.chromium,
    }


def file_of(case: tuple[str, int], rows: Path) -> Path:
    return rows / f"{ENGINES.index(case[0])}-{case[1]}.npy"


def prepare(given: argparse.Namespace, gguf: Path, folder: Path | None) -> dict[str, str]:
    """Write the files that engines read; return why some engines cannot be measured."""
    missing = {name: "not measured in this run" for name in ENGINES if name not in given.engines}

    def make(names: tuple[str, ...], there: Path | None, *command: str | Path) -> None:
        if (there and there.exists()) or not {*names} & {*given.engines}:
            return
        try:
            ended = subprocess.run(
                [*map(str, command)], capture_output=True, encoding="utf-8", cwd=ROOT
            )
            why = (
                (ended.stderr.strip().splitlines() or ["it ended early"])[-1]
                if ended.returncode
                else ""
            )
        except OSError as error:
            why = f"{command[0]}: {error.strerror}"
        if why:
            missing.update(dict.fromkeys(names, why[:200]))

    if folder is None:
        missing.update(
            dict.fromkeys(
                CONVERTED, "its weights are not here: run examples/reproduce/converted.py"
            )
        )
    else:
        graph = given.work / "float32.onnx"
        part = given.work / "part.onnx"
        make(CONVERTED[1:], graph, given.peers_python, HERE / "graph.py", folder, part)
        if part.exists():
            part.replace(graph)
    openvino = given.work / "openvino"
    done = openvino / "openvino_model.bin"
    make(
        ("OpenVINO, GGUF",), done, given.peers_python, HERE / "peers.py", "convert", gguf, openvino
    )
    site = given.work / "site"
    make(
        ("wasm, Chromium",),
        None,
        sys.executable,
        "-m",
        "hsd",
        "space",
        "export",
        "--static",
        site,
        "--weights",
    )
    for name, why in missing.items():
        print(f"{name} is left out: {why}", flush=True)
    return missing


def one(case: tuple[str, int], asked: Found, script: str = "", longest: float = LONGEST) -> Found:
    """Run one turn; return the result of turn.py and the seconds until it was ready.

    script: that runs instead of the engine's own. longest: seconds that the turn may take.
    """
    threads = {f"{name}_NUM_THREADS": str(case[1]) for name in ("OMP", "MKL", "OPENBLAS")}
    environment = (
        os.environ
        | threads
        | {"PYTHONPATH": str(ROOT) if script or case[0] in OURS else "", "no_proxy": "127.0.0.1"}
    )
    name = script or SCRIPTS.get(case[0], "peers.py")
    command = [asked["python"], str(HERE / name)]
    begin = time.perf_counter()
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
    except OSError as error:
        return {"missing": f"{command[0]}: {error.strerror}"}
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(asked) + "\n")
    process.stdin.flush()
    ready = process.stdout.readline().split()
    seconds = time.perf_counter() - begin
    try:
        rest, errors = process.communicate(timeout=longest)
    except subprocess.TimeoutExpired:
        process.kill()
        return {"missing": f"its turn took more than {longest} seconds"}
    lines = rest.splitlines() if ready[:1] == ["ready"] else [" ".join(ready)]
    try:
        found = dict(json.loads(lines[-1]))
    except (IndexError, ValueError):
        return {"missing": (errors.strip().splitlines() or ["it ended early"])[-1][:200]}
    if "missing" in found:
        return found
    return found | {"ready": float(ready[1]) if len(ready) > 1 else seconds}


def told(found: Found) -> str:
    speeds = ", ".join(
        f"{way} {count / seconds:.1f}" for way, (count, seconds) in found["speed"].items()
    )
    times = ", ".join(f"{value:.1f}" for value in found["passes"].values())
    ready = f"ready {found['ready']:.1f} s; {found['memory_mb']} MB"
    return f"{speeds} tokens/s; passes {times} ms; {ready}"


def streaming(threads: int, size: int, repetitions: int) -> float:
    """Return the median milliseconds in which so many threads together read `size` bytes of memory
    once.
    """
    parts = np.array_split(np.ones(size // 8, np.uint64), threads)
    seconds = list[float]()
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(repetitions):
            begin = time.perf_counter()
            list(pool.map(np.bitwise_or.reduce, parts))
            seconds.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(seconds)


def over(values: list[float], digits: int = 2) -> list[float]:
    """Return the median, the least and the most of some values."""
    return [round(x, digits) for x in (statistics.median(values), min(values), max(values))]


def summary(case: tuple[str, int], turns: list[Found]) -> Found:
    """Summarise a case over rounds: [median, least, most] of each time, and the facts of the first
    round.
    """
    first = turns[0]

    def of_turns(value: Callable[[Found], float], digits: int = 2) -> list[float]:
        return over([value(turn) for turn in turns], digits)

    def speed(turn: Found, way: str) -> float:
        count, seconds = turn["speed"][way]
        return float(count / seconds)

    widths = [str(width) for width in WIDTHS]
    return {
        "engine": case[0],
        "threads": case[1],
        "precision": first["precision"],
        "versions": first["versions"],
        "speed": {way: of_turns(lambda turn: speed(turn, way), 1) for way in first["speed"]},  # noqa: B023
        "times_plain": {
            way: of_turns(lambda turn: speed(turn, way) / speed(turn, "plain"))  # noqa: B023
            for way in first["speed"]
            if way != "plain"
        },
        "passes": {n: of_turns(lambda turn: turn["passes"][n]) for n in widths},  # noqa: B023
        "ratios": {
            n: of_turns(lambda turn: turn["passes"][n] / turn["passes"]["1"])  # noqa: B023
            for n in widths[1:]
        },
        "ready": of_turns(lambda turn: turn["ready"]),
        "memory_mb": of_turns(lambda turn: turn["memory_mb"], 0) if first["memory_mb"] else None,
        "model_mb": first["model_mb"],
        "library_mb": round(first["library_mb"], 1),
    }


def rows_of(case: tuple[str, int], whole: dict[tuple[str, int], list[Found]], rows: Path) -> Found:
    """Compare a case with torch: number of equal likeliest tokens, mean KL in nats, cases with the
    same bits.
    """
    reference = file_of(("torch", 1), rows)
    found = whole[case][0]
    twins = [name for name in whole if name != case and whole[name][0]["bits"] == found["bits"]]
    same_bits = {"same_bits": [f"{name} {threads}" for name, threads in twins]}
    if not reference.exists():
        return same_bits
    held = file_of(case if file_of(case, rows).exists() or not twins else twins[0], rows)
    ours = np.load(reference).argmax(-1)
    same = int((ours == np.array(found["likeliest"])).sum())
    apart = {"kl": kl(np.load(reference), np.load(held))} if held.exists() else {}
    return {"likeliest": [same, len(ours)], **apart, **same_bits}


def kl(p: np.ndarray, q: np.ndarray) -> float:
    """Nats of KL(p ‖ q) on average, of rows of logits."""

    def logs(x: np.ndarray) -> np.ndarray:
        x = x.astype(np.float64) - x.max(-1, keepdims=True)
        return x - np.log(np.exp(x).sum(-1, keepdims=True))

    return float(
        np.mean([(np.exp(a) * (a - b)).sum() for a, b in zip(logs(p), logs(q), strict=True)])
    )


if __name__ == "__main__":
    main()

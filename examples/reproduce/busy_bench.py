"""How fast the embedded pairs decode on a quiet machine and beside other work, by every way to run.

    python examples/reproduce/busy_bench.py    # beside two busy processes; under six minutes
    python examples/reproduce/busy_bench.py --busy 4 --seconds 600 --out FILE

Each way decodes quiet and busy in turn: hsd.run, the command line, the app by HTTP, and `hsd
bench`. The pair smollm2 takes part where it has been fetched. Prints tokens/s, medians, and what
share of the quiet speed is left; writes all of it, with machine, versions and load, to
assets/results/busy.json (or --out).

A speed is that of decoding, without the start of a process; of the app it is what a program waits
for an answer.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from measuring import RESULTS, save

import hsd
from hsd.models.loading import fetch
from hsd.models.machine import machine

ROOT = Path(__file__).resolve().parents[2]
PROMPT = "Once upon a time there was a"
GOAL = 1 / 3
PAIRS = ("tiny", "smollm2")
LOOP = "while True: pass"
WAIT = 240  # seconds for one command

Way = Callable[[], float]  # decodes once; tokens per second


def main() -> None:
    given = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started ends as well
    found = [name for name in PAIRS if _is_here(name)]
    for name in PAIRS:
        if name not in found:
            print(f"{name}: not here, left out (python -m hsd fetch smollm2)", file=sys.stderr)
    load = os.getloadavg()
    with ExitStack() as stack:
        loops = stack.enter_context(_busy(given.busy))
        ways = _ways(found, given, stack)
        speeds = _in_turn(ways, loops, given)
    rows = [_row(name, *speed) for name, speed in speeds.items() if speed[0]]
    for name in speeds.keys() - {row["way"] for row in rows}:
        print(f"{name}: not measured, no time was left (--seconds)", file=sys.stderr)
    result = {
        "what": "tokens/s, quiet and beside busy processes",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(hsd.load_pair("tiny")) | {"load": [round(one, 2) for one in load]},
        "version": hsd.__version__,
        "busy_processes": given.busy,
        "new_tokens": given.new_tokens,
        "rows": rows,
    }
    save(result, given.out)
    print(_markdown(result))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--busy", type=int, default=2, help="processes that do nothing but compute (default: 2)"
    )
    parser.add_argument("--new-tokens", type=int, default=32)
    parser.add_argument(
        "--rounds", type=int, default=5, help="quiet and busy measurements of each way, at most"
    )
    parser.add_argument(
        "--seconds", type=float, default=300, help="no round begins a measurement after this long"
    )
    parser.add_argument("--out", type=Path, default=RESULTS / "busy.json")
    return parser.parse_args()


def _is_here(pair: str) -> bool:
    return pair == "tiny" or fetch.fetched_file(pair) is not None


@contextmanager
def _busy(count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start processes that keep a core busy, stopped at first; SIGCONT and SIGSTOP switch them."""
    loops = [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in range(count)]
    try:
        _let(loops, signal.SIGSTOP)
        yield loops
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def _let(loops: list[subprocess.Popen[bytes]], how: signal.Signals) -> None:
    for loop in loops:
        loop.send_signal(how)


def _ways(names: list[str], given: argparse.Namespace, stack: ExitStack) -> dict[str, Way]:
    """All ways to run each pair, by name. The app is started here, and ends with the stack."""
    from holding_up.visitor import App, Visitor

    app = App(HSD_DOWNLOAD="0")
    stack.callback(app.stop)
    visitor = Visitor(app.url)
    ways = dict[str, Way]()
    for name in names:
        command = [
            "--pair",
            name,
            "--max-new-tokens",
            str(given.new_tokens),
            "--temperature",
            "0.7",
            "--json",
        ]
        loaded = hsd.load_pair(name)
        ways[f"{name}: hsd.run"] = partial(_by_python, loaded, given.new_tokens)
        ways[f"{name}: hsd run"] = partial(_by_command, command)
        ways[f"{name}: hsd bench"] = partial(_by_bench, command)
        ways[f"{name}: the app"] = partial(_by_app, visitor, name, given.new_tokens)
    return ways


def _by_python(pair: hsd.Pair, tokens: int) -> float:
    trace = hsd.run(pair, PROMPT, temperature=0.7, max_new_tokens=tokens, trace=False)
    return float(trace.stats()["tokens_per_second"])


def _by_command(command: list[str]) -> float:
    return float(_told(["run", PROMPT, *command])["tokens_per_second"])


def _by_bench(command: list[str]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        few = [
            "--limit",
            "1",
            "--repetitions",
            "1",
            "--rule",
            "hsd",
            "--out",
            str(Path(folder) / "bench.jsonl"),
        ]
        rows = _told(["bench", *few, *command])["rows"]
    return float(next(row["tokens_per_second"] for row in rows if row["case"] != "plain"))


def _told(command: list[str]) -> dict[str, Any]:
    """Run a command and parse the JSON it prints. Raises RuntimeError with its error message if it
    fails.
    """
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    called = [sys.executable, "-m", "hsd", *command]
    done = subprocess.run(
        called, capture_output=True, encoding="utf-8", env=environment, timeout=WAIT, check=False
    )
    if done.returncode:
        raise RuntimeError(
            f"hsd {command[0]} failed: "
            f"{(done.stderr.strip().splitlines() or ['no reason given'])[-1]}"
        )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[0])
    return found


def _by_app(visitor: Any, pair: str, tokens: int) -> float:
    asked = {
        "prompt": PROMPT,
        "pair": pair,
        "temperature": 0.7,
        "max_new_tokens": tokens,
        "with_trace": False,
    }
    begin = time.perf_counter()
    kind, answer = visitor.call("run", **asked)
    if kind != "complete":
        raise RuntimeError(f"the app failed: {answer}")
    told = answer[0] if isinstance(answer, list) else answer
    return float(told["summary"]["new_tokens"] / (time.perf_counter() - begin))


def _in_turn(
    ways: dict[str, Way], loops: list[subprocess.Popen[bytes]], given: argparse.Namespace
) -> dict[str, tuple[list[float], list[float]]]:
    """Tokens per second of each way, quiet and busy, in rounds while there is time. A way that
    fails is left out.
    """
    begin = time.monotonic()
    found = {name: (list[float](), list[float]()) for name in ways}
    in_process = [way for name, way in ways.items() if name.endswith((": hsd.run", ": the app"))]
    for way in in_process:
        way()  # what loads and warms up does not count
    for number in range(given.rounds):
        for name, way in list(ways.items()):
            if time.monotonic() - begin > given.seconds:
                return found
            try:
                quiet = way()
                _let(loops, signal.SIGCONT)
                busy = way()
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                print(f"{name}: left out ({error})", file=sys.stderr)
                del ways[name]
                continue
            finally:
                _let(loops, signal.SIGSTOP)
            found[name][0].append(quiet)
            found[name][1].append(busy)
            print(f"{number + 1}. {name}: {quiet:.1f} and {busy:.1f} tokens/s", file=sys.stderr)
    return found


def _row(name: str, quiet: list[float], busy: list[float]) -> dict[str, Any]:
    medians = statistics.median(quiet), statistics.median(busy)
    row = {"way": name, "quiet": [round(x, 2) for x in quiet], "busy": [round(x, 2) for x in busy]}
    return row | {
        "medians": [round(x, 2) for x in medians],
        "ratio": round(medians[1] / medians[0], 3),
    }


def _markdown(result: dict[str, Any]) -> str:
    where = result["machine"]
    lines = ["| way | quiet, tokens/s | busy, tokens/s | left |", "| --- | --- | --- | --- |"]
    for row in result["rows"]:
        quiet, busy = row["medians"]
        lines.append(f"| {row['way']} | {quiet:.1f} | {busy:.1f} | {row['ratio']:.2f} |")
    short = [row["way"] for row in result["rows"] if row["ratio"] < GOAL]
    lines += [
        "",
        f"Less than a third is left of: {', '.join(short)}."
        if short
        else "At least a third is left everywhere.",
    ]
    about = (
        f"{where['processor']}, {where['cores']} cores, load before {where['load'][0]}; "
        f"torch {where['torch']}; "
        f"beside {result['busy_processes']} busy processes, {result['date']}."
    )
    return "\n".join([*lines, about])


if __name__ == "__main__":
    main()

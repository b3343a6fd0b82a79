"""One engine's turn, in a process of its own: ready, passes, decoding, memory, rows. Every engine
gets the same job.

The process reads its job from standard input, says "ready" when the first row is there, and then
its result as a line of JSON, or {"missing": why} where the engine cannot be had.
"""

from __future__ import annotations

import hashlib
import json
import re
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Protocol

import numpy as np

CHUNK = 8  # tokens of a pass where a text is read for its rows
Job = dict[str, Any]


class Reader(Protocol):
    """A text that an engine reads. precision: of weights, activations, in words. reads: its files
    on the disk.
    """

    length: int
    precision: str
    reads: list[Path]
    packages: list[str]

    def read(self, tokens: list[int], keep: int) -> np.ndarray:
        """Append tokens; logits (keep, V) after the last `keep` of them."""

    def cut(self, length: int) -> None:
        """Drop tokens from `length` on from the cache."""


def main(make: Callable[[Job], Reader], speed: Callable[[Reader, Job], dict[str, Any]]) -> None:
    job = json.loads(sys.stdin.readline())
    try:
        reader = make(job)
        reader.read(job["ids"][0][:1], 1)
        print("ready", flush=True)
        found = {
            "precision": reader.precision,
            "passes": passes(reader, job),
            "speed": speed(reader, job),
        }
        found |= {
            "memory_mb": memory(),
            "model_mb": size(reader.reads),
            "versions": versions(reader),
        }
        found["library_mb"] = sum(installed(name) for name in reader.packages)
        found |= rows(reader, job)
    except ImportError as error:
        found = {"missing": str(error)}
    except Exception as error:  # whatever an engine of others says: one line, and the rest goes on
        found = {"missing": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
    print(json.dumps(found), flush=True)


def passes(reader: Reader, job: Job) -> dict[str, float]:
    """Median milliseconds of a pass over so many tokens, after `before` others; widths in turn."""
    reader.cut(0)
    ids = list(range(1_000, 1_000 + job["before"] + max(job["widths"])))
    reader.read(ids[: job["before"]], 1)
    times: dict[int, list[float]] = {width: [] for width in job["widths"]}
    for _ in range(job["repetitions"] + 1):
        for width, taken in times.items():
            begin = time.perf_counter()
            reader.read(ids[job["before"] : job["before"] + width], width)
            taken.append(time.perf_counter() - begin)
            reader.cut(job["before"])
    return {str(width): 1e3 * statistics.median(taken[1:]) for width, taken in times.items()}


def greedy(reader: Reader, job: Job) -> dict[str, Any]:
    """Plain decoding, the likeliest token each time: {"plain": [tokens, seconds]} after the first
    token.
    """
    count = 0
    seconds = 0.0
    texts = []
    for ids in job["ids"]:
        reader.cut(0)
        text = [int(reader.read(ids, 1)[-1].argmax())]
        begin = time.perf_counter()
        for _ in range(job["new"] - 1):
            text.append(int(reader.read(text[-1:], 1)[-1].argmax()))
        seconds += time.perf_counter() - begin
        count += job["new"] - 1
        texts.append(text)
    return {"plain": [count, seconds]}


def rows(reader: Reader, job: Job) -> dict[str, Any]:
    """The likeliest token after each token of a text, and its rows in a file; all where they are
    asked for.
    """
    if not job["rows"]:
        return {}
    reader.cut(0)
    ids = job["rows"]
    hashed = hashlib.sha256()
    found = []
    for begin in range(0, len(ids), CHUNK):
        part = ids[begin : begin + CHUNK]
        found.append(np.ascontiguousarray(reader.read(part, len(part)), np.float32))
        for row in found[-1]:
            hashed.update(hashlib.sha256(row.tobytes()).digest())
    whole = np.concatenate(found)
    np.save(job["out"], whole)
    return {"likeliest": whole.argmax(-1).tolist(), "bits": hashed.hexdigest()}


def memory() -> int | None:
    """Return the most memory that this process ever had, in MB; None where the system is silent."""
    try:
        told = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="utf-8"))
    except OSError:
        return None
    return int(told[1]) // 1000 if told else None


def size(paths: list[Path]) -> float:
    return round(sum(path.stat().st_size for path in paths) / 1e6, 1)


def installed(package: str) -> float:
    """Megabytes that a package takes on the disk."""
    files = [Path(str(file.locate())) for file in distribution(package).files or []]
    return size([file for file in files if file.is_file()])


def versions(reader: Reader) -> dict[str, str]:
    return {name: distribution(name).version for name in reader.packages}

"""What the measuring scripts beside this file share: their options, prompts, cases in turn, files
and tables.

What one case's numbers are, such as tokens per target call, speed-up and limit, is in `hsd.bench`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

# so that this runs without installing the package
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import hsd
from hsd.bench import Case, Measurement, measure, measurements, prompt_set, shipped
from hsd.paths import RESULTS
from hsd.writing import write_file


def options(description: str | None, out: str, **defaults: int) -> argparse.ArgumentParser:
    """The options that all scripts have; `out` is a file in assets/results. defaults: other numbers
    than these.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, help="folder with public text: tiny/corpus.py, hsd/bench/prompts.py"
    )
    parser.add_argument("--prompts", type=int, default=12, help="prompts per domain")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--out", type=Path, default=RESULTS / out)
    parser.set_defaults(**defaults)
    return parser


def domains(pair: hsd.Pair, given: argparse.Namespace) -> dict[str, list[str]]:
    """Prompts by domain, as many as were asked for, that leave room for the new tokens."""
    found = unseen(given.data) if given.data else shipped()
    room = pair.context - given.new_tokens
    return {
        d: [p for p in texts if len(pair.codec.encode(p)) <= room][: given.prompts]
        for d, texts in found.items()
    }


def unseen(data: Path) -> dict[str, list[str]]:
    """Text that the embedded models never saw: openings of stories that training held out, and
    benchmark prompts.
    """
    from tiny.corpus import read

    openings = [" ".join(story.split()[:25]) for story in read(data)["stories"].held_out]
    sums, functions = (prompt_set(name, data, 1_000).prompts for name in ("gsm8k", "humaneval"))
    return {"stories": openings, "sums": sums, "functions": functions}


def source(given: argparse.Namespace) -> str:
    """Where the prompts come from, in words."""
    return (
        "unseen text: held-out stories, GSM8K test, HumanEval"
        if given.data
        else "written for this project"
    )


def in_turn(
    pair: hsd.Pair, cases: Sequence[Case], prompts: Sequence[str], repetitions: int
) -> list[Measurement]:
    """All cases in turn on all prompts."""
    return measurements(cases, list(measure(pair, cases, list(enumerate(prompts)), repetitions)))


def milliseconds(work: Callable[[], Any], times: int) -> float:
    """Median milliseconds of one call, each waited for, after three that warm up."""
    taken = []
    for _ in range(times + 3):
        begin = time.perf_counter()
        work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        taken.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(taken[3:])


def save(result: dict[str, Any], out: Path) -> None:
    """Write the result, in a folder that is made if need be."""
    out.parent.mkdir(parents=True, exist_ok=True)
    write_file(out, json.dumps(result, indent=1) + "\n")


def interval(values: Sequence[float], form: str = ".2f") -> str:
    """A number and its interval."""
    value, low, high = values
    return f"{value:{form}} ({low:{form}}–{high:{form}})"

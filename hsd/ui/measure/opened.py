"""A benchmark from a file that a visitor brings: checked field by field before anything is computed from it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hsd.bench.report import Benchmark, parse
from hsd.errors import HsdError

MAX_BYTES = 24_000_000
MAX_RECORDS = 20_000
MAX_CASES = 64
MAX_NAME = 200
LONGEST = 64  # positions in a draft, entries of a histogram, widths of calls
LAPS = ("draft", "target", "verify")
COUNTS = ("new_tokens", "target_calls", "seconds")
STEP_COUNTS = ("steps", "drafted", "kept")
OPTIONS = {"gamma": (1, 64), "drafts": (1, 64), "temperature": (0, 100)}


def opened(path: Path) -> Benchmark:
    """The benchmark in that file. Raises HsdError, one line, for anything that is none."""
    name = path.name[:60]
    try:
        if path.stat().st_size > MAX_BYTES:
            raise HsdError(f"{name!r} has over {MAX_BYTES / 1e6:.0f} MB: choose a smaller file of `hsd bench`")
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise HsdError(f"{name!r} is not a text file: choose a file written by `hsd bench`") from None
    try:
        benchmark = parse(lines, name)
    except RecursionError:
        raise HsdError(f"{name!r} is nested too deeply: choose a file written by `hsd bench`") from None
    check(benchmark, name)
    return benchmark


def check(benchmark: Benchmark, name: str) -> None:
    """Raise HsdError for the first field that no benchmark can have."""
    cases = _cases(benchmark.header, name)
    if len(benchmark.records) > MAX_RECORDS:
        raise HsdError(f"{name!r} has over {MAX_RECORDS:,} runs: open it with `python -m hsd bench --report` instead")
    for number, record in enumerate(benchmark.records, start=2):
        if not _is_record(record, cases):
            raise HsdError(f"line {number} of {name!r} is not a run of this benchmark: choose another file")


def _cases(header: dict[str, Any], name: str) -> dict[str, bool]:
    """Case → whether it is of another library."""
    found = header.get("cases")
    if not isinstance(found, list) or not 1 <= len(found) <= MAX_CASES or not all(_is_case(case) for case in found):
        raise HsdError(f"the first line of {name!r} does not name its cases: choose a file written by `hsd bench`")
    if found[0]["options"].get("system") != "plain":
        raise HsdError(f"{name!r} does not begin with plain decoding: choose a file written by `hsd bench`")
    names = [case["name"] for case in found]
    if len(set(names)) < len(names):
        raise HsdError(f"{name!r} names a case twice: choose a file written by `hsd bench`")
    return {case["name"]: case["peer"] for case in found}


def _is_case(case: Any) -> bool:
    if (
        not isinstance(case, dict)
        or not isinstance(case.get("options"), dict)
        or not isinstance(case.get("peer"), bool)
    ):
        return False
    options, plain = case["options"], case["options"].get("system") == "plain"
    needed = ("temperature",) if plain or case["peer"] else ("temperature", "gamma")
    drafting = plain or case["peer"] or _is_text(options.get("rule"))
    tree = _is_text(options.get("tree", "paths"))
    numbers = all(name in options for name in needed) and all(
        _is_number(options[name], high) and options[name] >= low and (name == "temperature" or _is_whole(options[name]))
        for name, (low, high) in OPTIONS.items()
        if name in options
    )
    return _is_text(case.get("name")) and drafting and tree and numbers


def _is_record(record: dict[str, Any], cases: dict[str, bool]) -> bool:
    case = record["case"]
    if (
        not isinstance(case, str)
        or case not in cases
        or not (_is_whole(record["prompt"]) and _is_whole(record["repetition"]))
    ):
        return False
    if not all(_is_number(record.get(name)) and record[name] > 0 for name in COUNTS) or not _are_calls(record["calls"]):
        return False
    if cases[case]:
        return True
    time, positions, histogram = (record.get(name) for name in ("time", "positions", "kept_histogram"))
    return (
        all(_is_whole(record.get(name)) for name in STEP_COUNTS)
        and record["steps"] > 0
        and isinstance(time, dict)
        and all(_is_number(time.get(lap)) for lap in LAPS)
        and isinstance(positions, list)
        and len(positions) <= LONGEST
        and all(isinstance(p, list) and len(p) == 2 and _is_whole(p[0]) and _is_whole(p[1]) for p in positions)
        and isinstance(histogram, dict)
        and len(histogram) <= LONGEST
        and all(_is_digits(kept) and _is_whole(count) for kept, count in histogram.items())
    )


def _are_calls(calls: Any) -> bool:
    """Whether this is, for both models, the first call's seconds, and by width: calls, seconds, median."""
    if not isinstance(calls, dict):
        return False
    for times in (calls.get("target"), calls.get("draft")):
        if (
            not isinstance(times, dict)
            or not _is_number(times.get("first"))
            or not isinstance(times.get("widths"), dict)
        ):
            return False
        if len(times["widths"]) > LONGEST or not all(_is_digits(w) and _is_call(c) for w, c in times["widths"].items()):
            return False
    return True


def _is_call(found: Any) -> bool:
    return isinstance(found, list) and len(found) == 3 and _are_numbers(found) and found[0] > 0 and found[2] > 0


def _are_numbers(values: Iterable[Any]) -> bool:
    return all(_is_number(value) for value in values)


def _is_number(value: Any, most: float = 1e12) -> bool:
    return (
        isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= most
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and _is_number(value)


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 7


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME

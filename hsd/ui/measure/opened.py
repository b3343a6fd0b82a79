"""A benchmark from a file that a visitor brings: checked field by field before anything is computed from it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hsd.bench.report import Benchmark, parse
from hsd.errors import HsdError

MAX_BYTES = 24_000_000
MAX_RECORDS = 20_000
MAX_CASES = 64
MAX_NAME = 200
LONGEST = 320  # positions in a draft, entries of a histogram, widths of calls: the longest block of a stack, and more
MAX_LEVELS = 8
LAPS = ("draft", "target", "verify")
COUNTS = ("new_tokens", "target_calls", "seconds")
STEP_COUNTS = ("steps", "drafted", "kept")
SYSTEMS = ("speculative", "plain", "stack", "hispec")
LISTS = {"thresholds": 64, "exits": 10_000}  # of how large numbers
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
    options, system = case["options"], case["options"].get("system", "speculative")
    if system not in SYSTEMS:
        return False
    drafting = system != "plain" and not case["peer"]
    needed = ("temperature", "gamma") if drafting and system == "speculative" else ("temperature",)
    numbers = all(name in options for name in needed) and all(
        _is_number(options[name], high) and options[name] >= low and (name == "temperature" or _is_whole(options[name]))
        for name, (low, high) in OPTIONS.items()
        if name in options
    )
    texts = [case.get("name"), options.get("tree", "paths"), options.get("divergence", "kl")]
    texts += [options.get("rule")] if drafting else []
    return all(map(_is_text, texts)) and numbers and _are_levels(options)


def _are_levels(options: dict[str, Any]) -> bool:
    """Whether the options of levels and of the fuzzy rule, where they are named, can be such."""
    lists = all(
        isinstance(found, list) and len(found) <= MAX_LEVELS and all(_is_whole(n) and 1 <= n <= most for n in found)
        for found, most in ((options.get(name, []), most) for name, most in LISTS.items())
    )
    return lists and _is_real(options.get("tolerance", 0))


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
    """Whether this is, for each model, the first call's seconds, and by width: calls, seconds, median."""
    if not isinstance(calls, dict) or not {"target", "draft"} <= set(calls) or len(calls) > MAX_LEVELS + 1:
        return False
    for times in calls.values():
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


def _is_real(value: Any, most: float = 1e12) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= most  # not so for NaN


def _is_number(value: Any, most: float = 1e12) -> bool:
    return _is_real(value, most) and value >= 0


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and _is_number(value)


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 7


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME

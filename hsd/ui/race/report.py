"""What a race's records say: the table, where the time went, and a sentence on every lane.

All numbers are those of `hsd.bench`; nothing is measured or modelled here.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from hsd.bench import Case, Measurement, Record, measurements, rows
from hsd.decoding.options import LEVELLED
from hsd.ui.race.plan import lossless
from hsd.ui.race.words import LITTLE, basis, calls, paying, seconds, served, verdict

Row = dict[str, Any]


def report(cases: Sequence[Case], records: Sequence[Record]) -> dict[str, Any] | None:
    """The numbers of a race: one row per lane that was timed, of the rounds that all those lanes have ended.

    rows: of our own lanes; served: of servers, which tell counts only and are compared with nothing. None before plain
    decoding, the first case, was timed. NaN, where something was not measured, becomes None.
    """
    counted = [record for record in records if record["repetition"]]
    timed = [case for case in cases if any(record["case"] == case.name for record in counted)]
    if not timed or timed[0] is not cases[0]:
        return None
    every = measurements(timed, counted)
    found = [m for m in every if "target_calls" in m.records[0]]
    numbers = [{**row, **_more(m, found[0])} for m, row in zip(found, rows(found), strict=True)]
    for row in numbers:
        row["sentence"] = verdict(row, numbers[0])
        row["step"] = step = _step(row, numbers[0])
        row["pays"] = paying(row, step) if step else ""
    plain = {name: numbers[0][name] for name in ("case", "tokens_per_second")}
    said = {"calls": calls(numbers), "seconds": seconds(numbers)}
    others = [_served(m) for m in every if "target_calls" not in m.records[0]]
    return _plain({"rows": numbers, "served": others, "lead": said, "basis": basis(numbers), "plain": plain})


def _served(m: Measurement) -> Row:
    """What is shown of a server: its tokens and seconds, and what it tells of its drafts."""
    row: Row = {
        "case": m.case.name,
        "tokens": statistics.median_low([record["new_tokens"] for record in m.records]),
        "seconds": statistics.median(record["seconds"] for record in m.records),
        "tokens_per_second": statistics.median(m.tokens_per_second()),
    }
    told = {name: sum(record.get(name, 0) for record in m.records) for name in ("drafts", "drafted", "kept")}
    return {**row, **told, "sentence": served(row, told, m.acceptance_length()[0])}


def _more(m: Measurement, plain: Measurement) -> Row:
    """What the page shows beyond the benchmark's own row. replay: the repetition of median length.

    runs: timed runs of each prompt. call_error: the standard error of tokens per call.
    """
    seconds = [record["seconds"] for record in m.records]
    tokens = sum(record["new_tokens"] for record in m.records)
    per_token = 1e3 * sum(seconds) / tokens
    middle = statistics.median_low(seconds)
    ratios = [a / b for a, b in zip(m.tokens_per_second(), plain.tokens_per_second(), strict=True)]
    return {
        "lossless": lossless(m.case),
        "tokens": statistics.median_low([record["new_tokens"] for record in m.records]),
        "target_calls": statistics.median_low([record["target_calls"] for record in m.records]),
        "calls_per_step": sum(r["target_calls"] for r in m.records) / sum(r["steps"] for r in m.records),
        "tokens_per_call": m.block_efficiency()[0],
        "call_error": _call_error(m),
        "runs": len(ratios),
        "seconds": statistics.median(seconds),
        "speedups": [min(ratios), max(ratios)],
        "ms_per_token": per_token,
        "parts_ms": {part: share * per_token for part, share in m.shares().items()},
        "levels_ms": _levels(m),
        "prefill_ms": 1e3 * statistics.median(_first(record) for record in m.records),
        "replay": next(r["repetition"] for r in m.records if r["seconds"] == middle),
    }


def _step(row: Row, plain: Row) -> Row | None:
    """What a step of a lane costs, in tokens that plain decoding writes meanwhile, and how many tokens it brings.

    By its drafting, its check, each by the median time of the calls, and all else: together tokens over speed-up. None
    where no full draft was timed, or where a rule makes further target calls, which the limit does not know.
    """
    limit = row.get("limit", math.nan)
    if row is plain or math.isnan(limit) or (row["calls_per_step"] > LITTLE and not row["levels_ms"]):
        return None
    tokens = row["tokens_per_call"] * row["calls_per_step"]
    one, cost = plain["target_call_ms"] / plain["ms_per_token"], tokens / row["speedup"]
    calls = min(one * tokens / limit, cost)  # medians of calls can come to more than all took
    check = min(row["target_call_ms"] / plain["ms_per_token"], calls)
    return {"tokens": tokens, "draft": calls - check, "target": check, "rest": cost - calls}


def _call_error(m: Measurement) -> float:
    """The standard error of tokens per target call, as if steps were drawn independently. Rounds repeat each other."""
    steps = sum(record["steps"] for record in m.records)
    spread = statistics.pstdev(kept for kept, count in m.kept_histogram().items() for _ in range(count))
    each = steps / sum(record["target_calls"] for record in m.records)
    return spread * each / math.sqrt(steps / len(m.tokens_per_second()))


def _levels(m: Measurement) -> dict[str, float] | None:
    """Where models are stacked, the calls of a step in ms, of the target and of all below it; else None."""
    if m.case.options.get("system") not in LEVELLED:
        return None
    below = sum(m.typical_seconds(name) for name in m.below)
    return {"below": 1e3 * below, "target": 1e3 * m.typical_seconds("target")}


def _first(record: Record) -> float:
    """Seconds of all models' first calls, which read the prompt."""
    return sum(float(calls["first"]) for calls in record["calls"].values())


def _plain(value: Any) -> Any:
    """The same as JSON can hold it: names are text, and a number that is none becomes None."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

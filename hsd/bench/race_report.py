"""The report of a race: a row per lane and a few sentences. All numbers are those of `hsd.bench`.

One statistic per number, over the same rounds: seconds and tokens/s are medians over the rounds
that all lanes have ended, and a speed-up is a lane's tokens/s over plain decoding's. A lane is said
to be faster than another only where an interval allows it: of one prompt where it was so in every
round, of several where the 95 % interval over prompts does.
"""

import json
import math
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from hsd.bench.measure import Case, Record
from hsd.bench.summary import (
    Interval,
    Measurement,
    jackknife,
    measurements,
    ratio,
    rows,
    student,
    total,
)
from hsd.decoding.options import LEVELLED, RunOptions
from hsd.rules import USUAL, VANILLA
from hsd.trace.fill import listed, say

Row = dict[str, Any]
NOISE = 1.1  # the factor by which single runs differ by chance


def lossless(case: Case) -> bool:
    """Return whether a lane's text follows the target's distribution exactly."""
    options = RunOptions(**case.options)
    knob = (rule := options.find(options.rule)).knob
    exact = knob and knob.exact is not None and getattr(options, knob.option) <= knob.exact
    return bool(options.system == "plain" or rule.lossless or exact)


def report(
    cases: Sequence[Case], records: Sequence[Record], coins: Sequence[Record] = ()
) -> dict[str, Any] | None:
    """Return the numbers of a race.

    One row per lane that was timed, of the rounds that all those lanes have ended.

    coins: records of case, prompt, drafts, and kept, the tokens kept of these on average over all
    coins. rows: of our own lanes; served: of servers, which report counts only and are compared
    with nothing. Returns None until plain decoding, the first case, has been timed. Numbers that
    were not measured are None.
    """
    counted = [record for record in records if record["repetition"]]
    timed = [case for case in cases if any(record["case"] == case.name for record in counted)]
    if not timed or timed[0] is not cases[0]:
        return None
    every = measurements(timed, counted)
    own = [m for m in every if "target_calls" in m.records[0]]
    table = [{**row, **_lane_row(m, own[0], row)} for m, row in zip(own, rows(own), strict=True)]
    for row in table:
        row["sentence"] = _lane_sentence(row, table[0])
    whole = {
        "rows": table,
        "served": [_served(m) for m in every if "target_calls" not in m.records[0]],
        "verdict": verdict(own, table),
        "calls": calls(table),
        "basis": basis(table),
        "rules": rules(own, coins),
    }
    # NaN and the infinities
    return dict(json.loads(json.dumps(whole), parse_constant=lambda _: None))


def _speed(m: Measurement) -> Row:
    """Return the timings of a lane: medians over rounds of sums over prompts.

    replay: the round of median seconds.
    """
    seconds = _sums(m, "seconds")
    return {
        "case": m.case.name,
        "runs": len(seconds),
        "tokens": statistics.median_low(_sums(m, "new_tokens")),
        "seconds": statistics.median(seconds),
        "tokens_per_second": statistics.median(m.tokens_per_second()),
        "replay": list(m.by_repetition)[seconds.index(statistics.median_low(seconds))],
    }


def _sums(m: Measurement, name: str) -> list[float]:
    """Return a value for each round, summed over all prompts."""
    return [total(records, name) for records in m.by_repetition.values()]


def _lane_row(m: Measurement, plain: Measurement, row: Row) -> Row:
    """Return what a race adds to a benchmark's row.

    call_error: the standard error of tokens per call.
    """
    speed = _speed(m)
    speedup = speed["tokens_per_second"] / statistics.median(plain.tokens_per_second())
    levelled = m.case.options.get("system") in LEVELLED
    return {
        **speed,
        "lossless": lossless(m.case),
        "target_calls": statistics.median_low(_sums(m, "target_calls")),
        "calls_per_step": ratio(m.records, "target_calls", "steps"),
        "tokens_per_call": ratio(m.records, "new_tokens", "target_calls"),
        "call_error": _call_error(m),
        "steps": int(total(m.records, "steps")) // len(m.by_repetition),
        "speedup": speedup,
        "speedups": _range(m, plain),
        "ms_per_token": 1e3 / speed["tokens_per_second"],
        **({"efficiency": speedup / row["limit"]} if "limit" in row else {}),
        "below_ms": 1e3 * sum(m.typical_seconds(name) for name in m.below) if levelled else None,
    }


def _range(m: Measurement, other: Measurement) -> list[float]:
    """Return the least and largest speed-up over another lane among rounds.

    Of several prompts, the 95 % interval.
    """
    every = m.speedups(other)
    prompts = {record["prompt"] for record in m.records}
    return [min(every), max(every)] if len(prompts) == 1 else list(m.speedup(other)[1:])


def faster(m: Measurement, other: Measurement) -> bool:
    """Return whether all of `_range` is above 1, so that it is not chance.

    Above `NOISE` if there is a single run.
    """
    return _range(m, other)[0] > (1 if len(m.records) > 1 else NOISE)


def _call_error(m: Measurement) -> float:
    """The standard error of tokens per target call, as if steps were independent.

    All rounds count as one.
    """
    spread = statistics.pstdev(
        kept for kept, count in m.kept_histogram().items() for _ in range(count)
    )
    freedom = total(m.records, "steps") / len(m.by_repetition) - 1
    return (
        spread * ratio(m.records, "steps", "target_calls") / math.sqrt(freedom)
        if freedom > 0
        else math.inf
    )


# ---- sentences: hsd/trace/sentences.yaml has their words


def verdict(own: Sequence[Measurement], table: Sequence[Row]) -> str:
    """Say which lane is fastest, if that can be said. The first lane is plain decoding."""
    lanes = sorted(zip(own, table, strict=True), key=lambda lane: lane[1]["speedup"], reverse=True)
    winners = [lane for lane in lanes if faster(lane[0], own[0])]
    close = [lane for lane in winners if lane is winners[0] or not faster(winners[0][0], lane[0])]
    shown = close or [lane for lane in lanes if lane[0] is not own[0]][:1]
    if not shown:
        return say("race verdict", {"alone": True})
    rows = [row for _, row in shown]
    slowest, quickest = map(_fixed, rows[0]["speedups"])
    known = {name: rows[0][name] for name in ("prompts", "runs")} | {
        "slowest": slowest,
        "quickest": quickest,
    }
    known |= {"winners": len(winners), "lanes": len(close), "slower": faster(own[0], shown[0][0])}
    return say(
        "race verdict",
        {**known, "names": _names(rows), "speeds": _span([row["speedup"] for row in rows], 2)},
    )


def rules(own: Sequence[Measurement], coins: Sequence[Record]) -> str:
    """Say how HSD and vanilla differ.

    In tokens per call over all coins, and in time; "" without both of them.

    coins: see `report`. If at temperature 0 both kept the same numbers of tokens in every run, that
    is said instead.
    """
    # by a model, one draft
    drafting = {m.case.options.get("rule"): m for m in reversed(own) if m.one_draft}
    vanilla = drafting.get(VANILLA["single"])
    usual = drafting.get(USUAL)
    if vanilla is None or usual is None:
        return ""
    alike = [
        [(r["prompt"], r["repetition"], r["kept_histogram"]) for r in m.records]
        for m in (vanilla, usual)
    ]
    if vanilla.case.options["temperature"] == 0 and alike[0] == alike[1]:
        return say("race rules", {"alike": True})
    slow, fast = _range(usual, vanilla)
    known: Row = {"level": slow <= 1 <= fast, "slow": _fixed(slow), "fast": _fixed(fast)}
    known["ratio"] = _fixed(usual.speedup(vanilla)[0])
    costs = [
        1e3 * statistics.median(1 / speed for speed in m.tokens_per_second())
        for m in (usual, vanilla)
    ]
    known["seconds"] = f"{costs[0] - costs[1]:+.2f}".replace("-", "−")
    sums = [
        [(r["kept"], r["drafts"]) for r in coins if r["case"] == m.case.name]
        for m in (vanilla, usual)
    ]
    if all(len(one) > 1 for one in sums):
        more, low, high = (f"{x:+.3f}".replace("-", "−") for x in _apart(*sums))
        known |= {"more": more, "low": low, "high": high}
    return say("race rules", known)


def _apart(one: Sequence[tuple[float, int]], other: Sequence[tuple[float, int]]) -> Interval:
    """Return Σ a / Σ b of `other` minus that of `one`, with its 95 % interval.

    Both have an (a, b) per prompt.
    """
    sums = np.array([one, other])  # (2, prompts, 2)
    whole = sums.sum(1)
    rest = sums.sum(1, keepdims=True) - sums
    ratios = whole[:, 0] / whole[:, 1]
    return jackknife(float(ratios[1] - ratios[0]), np.diff(rest[..., 0] / rest[..., 1], axis=0)[0])


def calls(table: Sequence[Row]) -> str:
    """Say how many target calls are saved, which does not depend on the machine.

    The first row is plain decoding.

    Lanes whose tokens per call differ by chance are named together, so that no rule gets credit for
    luck.
    """
    others = sorted(table[1:], key=lambda row: row["tokens_per_call"], reverse=True)
    if not others:
        return say("race calls", {"alone": True})
    best = others[0]
    reach = [student(row["steps"] - 1) * row["call_error"] for row in others]  # of chance
    less = (best["tokens_per_call"] - row["tokens_per_call"] for row in others)
    lanes = [
        row
        for row, x, own in zip(others, less, reach, strict=True)
        if x <= math.hypot(reach[0], own)
    ]
    known = {
        "prompts": lanes[0]["prompts"],
        "saved": lanes[0]["tokens_per_call"] > 1,
        "lanes": len(lanes),
    }
    fewer = _span([100 - 100 / row["tokens_per_call"] for row in lanes], 0)
    return say("race calls", {**known, "names": _names(lanes), "fewer": fewer})


def basis(table: Sequence[Row]) -> str:
    """Say what the numbers are based on, and how reliable that is."""
    tokens = _span(sorted((row["tokens"] for row in table), reverse=True), 0)
    return say(
        "race basis", {"tokens": tokens, "runs": table[0]["runs"], "prompts": table[0]["prompts"]}
    )


def _lane_sentence(row: Row, plain: Row) -> str:
    """Say what a lane's calls cost, what a step cost and yielded, and the speed-up if only the
    calls took time.
    """
    one = plain["target_call_ms"]
    ms = "" if math.isnan(one) else _ms(one)
    if row is plain:
        return say("race lane", {"plain": True, "ms": ms})
    gain = row["tokens_per_call"] * row["calls_per_step"]
    cost = gain / row["speedup"]
    rate = row["acceptance_rate"][0]
    known = {
        "ms": ms,
        "cost": _fixed(cost, 2, gain),
        "gain": _fixed(gain, 2, cost),
        "rate": _percent(rate),
    }
    if math.isnan(row["limit"]) or math.isnan(one):
        return say("race lane", known)
    times = {
        "check": row["target_call_ms"],
        "below": row["below_ms"],
        "draft": row["draft_call_ms"],
    }
    costs = {
        name: _fixed(time / one) for name, time in times.items() if time is not None and time > 0
    }
    several = row["calls_per_step"] > 1 and row["below_ms"] is None  # of which the limit knows one
    share = row["speedup"] / row["limit"]
    calls = _fixed(row["calls_per_step"]) if several else ""
    limit = {
        "limit": _fixed(row["limit"]),
        "share": _percent(share),
        "more": share > 1,
        "calls": calls,
    }
    return say("race lane", {**known, **costs, **limit})


def _served(m: Measurement) -> Row:
    """Return the row of a server: its tokens and seconds, and the draft counts it reports."""
    counts = {name: int(total(m.records, name)) for name in ("drafts", "drafted", "kept")}
    rate = _percent(ratio(m.records, "kept", "drafted"))
    length = f"{m.acceptance_length()[0]:.2f}"
    known = {**counts, "kept": f"{counts['kept']:,}", "rate": rate, "length": length}
    return {**_speed(m), **counts, "sentence": say("race server", known)}


def _names(rows: Sequence[Row]) -> str:
    """Return the lanes' names; those that are not lossless say so."""
    return listed([row["case"] + ("" if row["lossless"] else " (not lossless)") for row in rows])


def _span(values: Sequence[float], digits: int) -> str:
    """Return "smallest to largest" of descending values as text, or one number if both look the
    same.
    """
    return " to ".join(dict.fromkeys(_fixed(value, digits) for value in (values[-1], values[0])))


def _fixed(x: float, digits: int = 2, *others: float) -> str:
    """Return a number with `digits` decimals, or up to six where it would wrongly look like 0, 1,
    100 or `others`.
    """
    for places in (*range(digits, 7), digits):
        text = f"{x * (1 + 1e-12):.{places}f}"  # halves go up, as in JavaScript
        if all(x == y or text != f"{y:.{places}f}" for y in (0.0, 1.0, 100.0, *others)):
            break
    return text


def _percent(share: float) -> str:
    """Return a share from 0 to 1 as text in per cent, such as "12 %"; "" for NaN."""
    return "" if math.isnan(share) else f"{_fixed(100 * share, 0)} %"


def _ms(value: float) -> str:
    """Return milliseconds as text: no decimals from 100 on, one from 1 on, else two."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"

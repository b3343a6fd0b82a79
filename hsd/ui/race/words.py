"""Sentences on a race, from its numbers: who is fastest, and why a lane is faster or slower than plain decoding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]
MARGIN = 1.02  # what a share of the time explains, it explains about to this factor


def lead(table: Sequence[Row]) -> str:
    """Who is fastest. The first row is plain decoding."""
    plain, others = table[0], table[1:]
    if not others:
        return f"Only plain decoding was timed: {_rate(plain)} tokens a second."
    best = max(others, key=lambda row: row["speedup"])
    if best["speedup"] > 1:
        slower = sum(row["speedup"] < 1 for row in others)
        rest = f" {slower} of the lanes that draft {'is' if slower == 1 else 'are'} slower than it." if slower else ""
        rates = f"{_rate(best)} against {_rate(plain)} tokens a second"
        inexact = "" if best["lossless"] else " It is not lossless."
        said = f"{best['case']} is the fastest: {_times(best)} plain decoding ({rates}).{inexact}{rest}"
        return said + _unsettled(best, others)
    if len(others) == 1:
        return f"Drafting does not pay here: {best['case']} runs at {_times(best)} the speed of plain decoding."
    fastest = f"plain decoding is the fastest with {_rate(plain)} tokens a second"
    return f"Drafting does not pay here: {fastest}, and {best['case']} comes nearest with {_times(best)} its speed."


def _unsettled(best: Row, others: Sequence[Row]) -> str:
    """What the ranges over several runs leave open."""
    if best["runs"] == 1:
        return ""
    close = [row["case"] for row in others if row is not best and row["speedups"][1] >= best["speedups"][0]]
    if _straddles(best):
        return " But some of its runs were slower than plain decoding's, so this is not settled."
    named = " and ".join(close)
    return f" Its range overlaps with that of {named}, so which is faster is not settled." if close else ""


def _straddles(row: Row) -> bool:
    """Whether a lane was slower than plain decoding in some rounds and faster in others."""
    return bool(row["speedups"][0] < 1 < row["speedups"][1])


def basis(table: Sequence[Row]) -> str:
    """What the numbers rest on, and what that is worth."""
    runs, tokens = table[0]["runs"], max(row["tokens"] for row in table)
    many = "one timed run per lane" if runs == 1 else f"{runs} timed runs per lane, in turn"
    worth = "with a single run, differences of 10 % may be noise: more runs say more"
    if runs > 1:
        worth = "medians, and in brackets the range of the speed-up"
    warm = "after a warm-up that does not count"
    return f"One prompt, one seed, up to {tokens} new tokens; {many}, {warm}; {worth}."


def verdict(row: Row, plain: Row) -> str:
    """One sentence: faster or slower than plain decoding, and what the measured calls say about it."""
    if row is plain:
        return _plain_words(row)
    speed = row["speedup"]
    equal = f"{speed:.2f}" == "1.00"
    side = "as fast" if equal else "faster" if speed > 1 else "slower"
    start = f"{_times(row)} plain decoding, {side}{' in the median, not in every round' if _straddles(row) else ''}"
    if math.isnan(row["limit"]):
        return f"{start}; the run is too short for a limit: it has no full draft with its check."
    return f"{start}: {_costs(row, plain)}; {_against_limit(row, plain)}."


def _plain_words(row: Row) -> str:
    if math.isnan(row["target_call_ms"]):
        return "What the other lanes are measured by: one target call for every token."
    return f"What the other lanes are measured by: one target call, {_ms(row['target_call_ms'])} ms, for every token."


def _costs(row: Row, plain: Row) -> str:
    """The calls of a step beside the target calls that plain decoding needs for as many tokens.

    The step's cost is the denominator of the limit, so that the sentence and the limit agree.
    """
    draft, one, tokens = row["draft_call_ms"], plain["target_call_ms"], row["tokens_per_call"]
    if row["levels_ms"]:
        return _costs_of_levels(row, one)
    needed = tokens * one
    step = needed / row["limit"]
    ratio = f"a draft call takes {_ms(draft)} ms, {draft / one:.2f} of a target call's {_ms(one)} ms"
    if math.isnan(draft):
        ratio = f"a target call of one token takes {_ms(one)} ms"
    both = f"the calls of a step take {_ms(step)} ms for {tokens:.2f} tokens, plain decoding's {_ms(needed)} ms"
    return f"{ratio}, and {both}"


def _costs_of_levels(row: Row, one: float) -> str:
    """The same where several models work on a step. one: of plain decoding's target calls, in ms."""
    below, target = row["levels_ms"]["below"], row["levels_ms"]["target"]
    tokens = row["tokens_per_call"] * row["calls_per_step"]
    step = f"the calls of a step take {_ms(below + target)} ms, {_ms(below)} ms of them below the target"
    return f"{step}, for {tokens:.2f} tokens, plain decoding's {_ms(tokens * one)} ms"


def _against_limit(row: Row, plain: Row) -> str:
    """The limit, and why what was measured is below or above it."""
    limit, speed = row["limit"], row["speedup"]
    extra = row["calls_per_step"] > 1.005 and not row["levels_ms"]  # the calls of levels are all counted
    said = f"so the models' calls alone allow {limit:.2f} ×"
    if extra:
        said += f" if each step made one target call, but this rule makes {row['calls_per_step']:.2f}"
    if speed > limit:
        return f"{said}, and {_above(speed / limit, _outside(row), _outside(plain))}"
    reached = f"{said}, of which {_percent(speed / limit)} is reached"
    if speed < 1 < limit and not extra:
        lost = f"{_ms(row['outside_ms_per_step'])} ms a step go by outside the calls"
        reading = f"reading the prompt takes {_ms(row['prefill_ms'])} ms, plain decoding {_ms(plain['prefill_ms'])} ms"
        return f"{reached}: {lost}, and {reading}"
    return reached


def _above(excess: float, own: float, theirs: float) -> str:
    """Why a lane can be above its limit. own, theirs: shares of the time outside the calls, here and in plain."""
    if excess <= MARGIN * (1 - own) / (1 - theirs):
        shares = f"{_percent(theirs)} against {_percent(own)}"
        return f"more is reached because plain decoding spends more of its time outside its calls ({shares})"
    return "more was measured because calls do not all take their median time, which is noise"


def _outside(row: Row) -> float:
    """The share of the time that is not spent in the models' calls."""
    return 1.0 - float(row["shares"]["draft"]) - float(row["shares"]["target"])


def _times(row: Row) -> str:
    return f"{row['speedup']:.2f} ×"


def _rate(row: Row) -> str:
    rate = row["tokens_per_second"]
    return f"{rate:,.0f}" if rate >= 20 else f"{rate:.1f}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _ms(value: float) -> str:
    """Milliseconds with two or three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"

"""Sentences on a race, from its numbers: calls saved, who is fastest, and why a lane is faster or slower than plain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]
MARGIN = 1.02  # what a share of the time explains, it explains about to this factor
LITTLE = 1.005  # tokens per call that are shown as one
NOISE = 1.1  # times by which single runs differ by chance
ERRORS = 2.0  # standard errors by which lanes differ by chance


def calls(table: Sequence[Row]) -> str:
    """The target calls that are saved, which no machine changes. The first row is plain decoding.

    Lanes whose tokens per call differ by chance are named together, so that no rule gets credit for luck.
    """
    others = sorted(table[1:], key=lambda row: row["tokens_per_call"], reverse=True)
    if not others:
        return "Plain decoding makes one call for every token."
    best, where = others[0], _where(others[0])
    if best["tokens_per_call"] < LITTLE:
        return f"No lane saves any {where}: {best['case']} makes one call for {best['tokens_per_call']:.2f} tokens."
    lanes = [row for row in others if _alike(row, best)]
    tokens = _span([row["tokens_per_call"] for row in lanes], 2)
    fewer = _span([100 - 100 / row["tokens_per_call"] for row in lanes], 0)
    said = f"{fewer} % fewer than plain decoding, {tokens} tokens per call, {where}"
    if len(lanes) == 1:
        return f"{best['case']} needs {said}. This holds on any hardware."
    luck = "how these lanes differ may be chance"
    return f"{_listed([row['case'] for row in lanes])} need {said}; {luck}. This holds on any hardware."


def _alike(row: Row, best: Row) -> bool:
    """Whether two lanes' tokens per call differ by no more than they would by chance."""
    errors = math.hypot(row["call_error"], best["call_error"])
    return bool(best["tokens_per_call"] - row["tokens_per_call"] <= ERRORS * errors)


def _span(values: Sequence[float], digits: int) -> str:
    """The smallest and the largest of values that fall, or one if they look the same."""
    low, high = f"{values[-1]:.{digits}f}", f"{values[0]:.{digits}f}"
    return low if low == high else f"{low} to {high}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _where(row: Row) -> str:
    return "on this prompt and seed" if row["prompts"] == 1 else f"on these {row['prompts']} prompts with one seed"


def seconds(table: Sequence[Row]) -> str:
    """Who is fastest on this machine, and why. The first row is plain decoding."""
    plain, others = table[0], table[1:]
    if not others:
        return f"Only plain decoding was timed: {_rate(plain)} tokens a second."
    best = max(others, key=lambda row: row["speedup"])
    why = _why(best, plain)
    close = [row for row in others if row is not best and _near(row, best)]
    if best["speedup"] > 1 and close:
        together = sorted([best, *close], key=lambda row: row["speedup"], reverse=True)
        names = _listed([row["case"] for row in together])
        speeds = _span([row["speedup"] for row in together], 2)
        changed = [row["case"] for row in together if not row["lossless"]]
        lossy = f" Not lossless: {_listed(changed)}." if changed else ""
        chance = "which of them is faster may be chance: their times lie too close"
        return f"{names} are the fastest: {speeds} × plain decoding; {chance}.{lossy}{_doubt(best)}{why}"
    if best["speedup"] > 1:
        slower = sum(row["speedup"] < 1 for row in others)
        are = "is" if slower == 1 else "are"
        rest = f" {slower} of the lanes that draft {are} slower than plain decoding." if slower else ""
        rates = _bracketed(_range(best), f"{_rate(best)} against {_rate(plain)} tokens a second")
        inexact = "" if best["lossless"] else " It is not lossless."
        said = f"{best['case']} is the fastest: {_times(best)} plain decoding{rates}.{inexact}{rest}"
        return said + _doubt(best) + why
    spread = _bracketed(_range(best))
    if len(others) == 1:
        return f"Drafting does not pay here: {best['case']} has {_times(best)} plain decoding's speed{spread}.{why}"
    fastest = f"plain decoding is the fastest with {_rate(plain)} tokens a second"
    near = f"{best['case']} comes nearest with {_times(best)} its speed{spread}"
    return f"Drafting does not pay here: {fastest}, and {near}.{why}"


def _why(row: Row, plain: Row) -> str:
    """What a lane's drafts and checks cost, in target calls of plain decoding, and what that allows at most."""
    one = plain["target_call_ms"]
    if math.isnan(row["limit"]) or math.isnan(one):
        return ""
    costs = f"{_drafting(row, one)} and a check {row['target_call_ms'] / one:.2f} of a target call"
    tokens = row["tokens_per_call"] * row["calls_per_step"]
    excess = row["speedup"] / row["limit"]
    above = f", and {_above(excess, _outside(row), _outside(plain))}" if excess > 1 else ""
    return f" Why: {costs}; a step brings {tokens:.2f} tokens, so the calls alone allow {row['limit']:.2f} ×{above}."


def _drafting(row: Row, one: float) -> str:
    """What drafting costs. one: ms of a target call of plain decoding."""
    if row["levels_ms"]:
        return f"a step's calls below the target cost {row['levels_ms']['below'] / one:.2f}"
    if not row["draft_call_ms"] > 0:
        return "a copy costs no call"
    return f"a draft call costs {row['draft_call_ms'] / one:.2f}"


def _range(row: Row) -> str:
    """From the slowest round to the fastest; nothing where there is only one."""
    low, high = row["speedups"]
    return f"{low:.2f}–{high:.2f} in {row['runs']} rounds" if row["runs"] > 1 else ""


def _bracketed(*parts: str) -> str:
    inside = "; ".join(part for part in parts if part)
    return f" ({inside})" if inside else ""


def _near(row: Row, best: Row) -> bool:
    """Whether two lanes' speeds may differ by chance: their ranges overlap, or there is but one run of each."""
    if best["runs"] == 1:
        return bool(row["speedup"] * NOISE >= best["speedup"])
    return bool(row["speedups"][1] >= best["speedups"][0])


def _doubt(best: Row) -> str:
    slower = f"But some runs of {best['case']} were slower than plain decoding's, so this is not settled."
    return f" {slower}" if best["runs"] > 1 and _straddles(best) else ""


def _straddles(row: Row) -> bool:
    """Whether a lane was slower than plain decoding in some rounds and faster in others."""
    return bool(row["speedups"][0] < 1 < row["speedups"][1])


def paying(row: Row, step: Row) -> str:
    """Whether a step of this run paid, by how much, and what would turn it round. step: as `report` has it."""
    tokens, cost = step["tokens"], step["draft"] + step["target"] + step["rest"]
    kept = _bracketed("" if math.isnan(rate := row["acceptance_rate"][0]) else f"{_percent(rate)} of its drafts kept")
    start = f"A step took as long as {cost:.2f} tokens of plain decoding and brought {tokens:.2f}{kept}"
    if f"{tokens:.2f}" == f"{cost:.2f}":
        return f"{start}: it just breaks even."
    if tokens > cost:
        median = " in the median" if _straddles(row) else ""
        return f"{start}: it paid{median}, and would down to {cost:.2f} tokens a step{_room(step, tokens - cost)}."
    lacking = cost - tokens
    if step["draft"] > lacking:
        cheaper = f"drafting that took {step['draft'] - lacking:.2f} instead of {step['draft']:.2f}"
    else:
        cheaper = "a cheaper check, as not even free drafts would do"
    return f"{start}: {lacking:.2f} too few. Break-even: {cost:.2f} tokens a step, or {cheaper}."


def _room(step: Row, left: float) -> str:
    """How much longer the drafts could take."""
    return f", or with drafting that takes {step['draft'] + left:.2f} instead of {step['draft']:.2f}"


def basis(table: Sequence[Row]) -> str:
    """What the numbers rest on, and what that is worth."""
    runs, tokens = table[0]["runs"], max(row["tokens"] for row in table)
    prompts = "One prompt" if table[0]["prompts"] == 1 else f"{table[0]['prompts']} prompts"
    many = "one timed run per lane" if runs == 1 else f"{runs} timed runs per lane, in turn"
    worth = "with a single run, differences of 10 % may be noise: more runs say more"
    if runs > 1:
        worth = "medians, and in brackets the range of the speed-up"
    warm = "after a warm-up that does not count"
    return f"{prompts}, one seed, up to {tokens} new tokens; {many}, {warm}; {worth}."


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


def served(row: Row, told: dict[str, int], length: float) -> str:
    """What a server did and told, and that it is not compared. told: sums over its timed runs; length: AL."""
    made = f"{_rate(row)} tokens a second, the way there and back included"
    drafts, drafted, kept = told["drafts"], told["drafted"], told["kept"]
    if not drafted:
        return f"{made}; it tells nothing of its drafts."
    share = f"{kept:,} of {drafted:,} drafted tokens were kept, it says ({_percent(kept / drafted)})"
    more = (
        f", in {drafts:,} drafts: acceptance length AL {length:.2f}"
        if drafts
        else "; of how many drafts, it does not say"
    )
    return f"{made}; {share}{more}."


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
    if not draft > 0:
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
    if _percent(own) != _percent(theirs) and excess <= MARGIN * (1 - own) / (1 - theirs):
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

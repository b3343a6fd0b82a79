"""What a benchmark comes to in words: which way to decode pays here, and how sure that is."""

import math
from collections.abc import Sequence

from hsd.bench.summary import FEW, Interval, Measurement, is_plain, student
from hsd.sampling import Sampling

MOST = 100_000  # prompts, from which on no number is given
USUAL = 1.96  # standard errors to each side of a 95 % interval of many prompts
ESTIMATE = "python -m hsd estimate says it for every draft length, without drafting"


def conclusions(cases: Sequence[Measurement]) -> list[str]:
    """Return a paragraph for each temperature: the fastest way, beside plain and the next one.

    cases: as `measurements` returns them. Only ways of this project are compared.
    """
    plain = {Sampling.of(m.case.options): m for m in cases if is_plain(m)}
    found = []
    for sampling, alone in plain.items():
        ways = [m for m in cases if m is not alone and Sampling.of(m.case.options) == sampling]
        ways = [m for m in ways if "steps" in m.records[0]]  # else it is another library's
        if ways:
            head = f"Temperature {sampling.temperature:g}: " if len(plain) > 1 else ""
            found.append(head + _conclusion(ways, alone))
    return found


def _conclusion(ways: Sequence[Measurement], plain: Measurement) -> str:
    """Return what one temperature comes to."""
    ranked = sorted(ways, key=lambda way: way.speedup(plain)[0], reverse=True)
    best = ranked[0]
    prompts = len({record["prompt"] for record in best.records})
    speed = best.speedup(plain)
    times = f"{best.case.name} is {_times(speed, prompts)} as fast as plain decoding"
    if prompts == 1:
        return f"{times} on one prompt, which tells nothing of others: measure {FEW} or more."
    if speed[1] > 1:
        words = f"It pays to draft here: {times}"
    elif speed[2] < 1:
        words = f"No draft pays here: at best {times}"
    else:
        words = f"Whether a draft pays here cannot be told: {times}, and {_needed(speed, prompts)}"
    parts = [f"{words}."]
    if len(ranked) > 1 and speed[2] >= 1:
        second = ranked[1]
        lead = best.speedup(second)
        beside = f"{best.case.name} is {_times(lead, prompts)} as fast as {second.case.name}"
        if lead[1] > 1:
            parts.append(f"It is the best way for sure: {beside}, the next.")
        else:
            which = "Which way is the best cannot be told"
            parts.append(f"{which}: {beside}, and {_needed(lead, prompts)}.")
    return " ".join([*parts, f"{ESTIMATE}."])


def _times(speed: Interval, prompts: int) -> str:
    """Return a ratio of speeds, with its 95 % interval if there are several prompts."""
    value, low, high = speed
    around = f" ({low:.2f}–{high:.2f} in 95 of 100 cases)" if prompts > 1 else ""
    return f"{value:.2f} times{around}"


def _needed(speed: Interval, prompts: int) -> str:
    """Return about how many prompts would tell a ratio of speeds from 1.

    An interval becomes narrower as the square root of the number of prompts grows.
    """
    value, low, high = speed
    errors = student(prompts - 1) if prompts < FEW else USUAL
    half = (high - low) / 2 * USUAL / errors
    apart = abs(value - 1)
    needed = prompts * (half / apart) ** 2 if apart else math.inf
    if needed > MOST:
        return "no number of prompts is likely to tell"
    digits = 10 ** max(int(math.log10(needed)) - 1, 0)
    rounded = max(math.ceil(needed / digits) * digits, prompts + 1)
    return f"about {rounded:,} such prompts would tell"

"""What a benchmark comes to in words: which way to decode pays here, and how sure that is."""

import math
from collections.abc import Sequence

from hsd.bench.report import Benchmark, case_title, interval
from hsd.bench.summary import FEW, Interval, Measurement, is_plain, measurements, student
from hsd.sampling import Sampling

MOST = 100_000  # prompts, from which on no number is given
USUAL = 1.96  # standard errors to each side of a 95 % interval of many prompts
ESTIMATE = "`python -m hsd estimate` answers for every draft length, without drafting."


def conclusions(benchmark: Benchmark) -> list[str]:
    """Return a paragraph for each temperature: the fastest way, beside plain and the next one.

    Only ways of this project are compared. Raises HsdError where no prompt was measured in all.
    """
    cases = measurements(benchmark.cases(), benchmark.records)
    plain = {Sampling.of(m.case.options): m for m in cases if is_plain(m)}
    paragraphs = []
    for sampling, alone in plain.items():
        ways = [m for m in cases if m is not alone and Sampling.of(m.case.options) == sampling]
        ways = [m for m in ways if "steps" in m.records[0]]  # else it is another library's
        if ways:
            head = f"Temperature {sampling.temperature:g}: " if len(plain) > 1 else ""
            paragraphs.append(head + _conclusion(ways, alone))
    return paragraphs


def _conclusion(ways: Sequence[Measurement], plain: Measurement) -> str:
    """Return what one temperature comes to."""
    best, *others = sorted(ways, key=lambda way: way.speedup(plain)[0], reverse=True)
    name = case_title(best.case.name, best.case.options)
    prompts = len({record["prompt"] for record in best.records})
    speed = best.speedup(plain)
    if prompts == 1:
        times = f"{speed[0]:.2f} × plain decoding on one prompt"
        return f"{name} is the fastest, {times}, which tells nothing of others: time {FEW} or more."
    times = f"{interval(speed)} × plain decoding, with its 95 % interval over {prompts} prompts"
    if speed[2] < 1:
        return f"No draft that was timed pays here: the best, {name}, is {times}. {ESTIMATE}"
    if speed[1] <= 1:
        doubt = "Whether a draft pays here cannot be told"
        return f"{doubt}: the best, {name}, is {times}; {would_tell(speed, prompts)}. {ESTIMATE}"
    words = [f"{name} pays here: {times}."]
    if others:
        lead = best.speedup(others[0])
        following = others[0].case
        beside = f"the next, {case_title(following.name, following.options)}: {interval(lead, 3)} ×"
        if lead[1] > 1:
            words.append(f"It is faster than {beside}.")
        else:
            words.append(f"It cannot be told from {beside}; {would_tell(lead, prompts)}.")
    return " ".join([*words, ESTIMATE])


def would_tell(speed: Interval, prompts: int) -> str:
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
    digits = 10 ** max(int(math.log10(max(needed, 1))) - 1, 0)
    rounded = max(math.ceil(needed / digits) * digits, prompts + 1)
    return f"about {rounded:,} such prompts would tell"

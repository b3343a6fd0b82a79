"""Statistics of a case: ratios of sums, medians over repetitions, intervals, and the limit.

Definitions: block efficiency is committed tokens per target call. Acceptance length AL is 1 + kept
/ drafts, and the acceptance rate at position i is the share of all drafts that kept at least i
tokens, as vLLM defines both; so AL is 1 plus the sum of the rates. SPEED-Bench's AL is the same for
one answer; of several its script takes the mean, where here, as in vLLM, sums are divided. AL is
above block efficiency where steps had no draft, which AL leaves out, and where the text ended
inside a draft, for which it still counts a token more. Speed-up is against plain decoding in the
same run, repetition by repetition, and its median. The limit is what the speed-up would be if only
the two models' forward passes took time; efficiency is the share of it that is reached. What both
sides spend beside their passes is left out, so efficiency is over 1 where that is most of plain
decoding's time.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np

from hsd.bench.measure import NO_CALLS, Case, Record, one_draft
from hsd.draft import COPIERS
from hsd.estimate import HSD, VANILLA
from hsd.sampling import Sampling

Interval = tuple[float, float, float]
# what is added up over runs: a field, 0 where it is not there, or a function
Sum = str | Callable[[Record], float]
ENDS = (2.5, 97.5)  # of an interval, in per cent
# of fewer prompts an interval is Student's, by a jackknife: a bootstrap would make it too narrow
FEW = 10
PARTS = ("draft", "target", "verify", "sampling", "rest")


@dataclass(frozen=True)
class Measurement:
    """All records of one case."""

    case: Case
    records: tuple[Record, ...]

    @cached_property
    def by_repetition(self) -> dict[int, list[Record]]:
        numbers = sorted({record["repetition"] for record in self.records})
        return {
            number: [record for record in self.records if record["repetition"] == number]
            for number in numbers
        }

    def tokens_per_second(self) -> list[float]:
        """Return one value per repetition: new tokens over seconds, prefill included."""
        return [ratio(rows, "new_tokens", "seconds") for rows in self.by_repetition.values()]

    def speedups(self, other: "Measurement") -> list[float]:
        """Return this case's tokens per second over another's, repetition by repetition."""
        speeds = zip(self.tokens_per_second(), other.tokens_per_second(), strict=True)
        return [own / theirs for own, theirs in speeds]

    def speedup(self, plain: "Measurement") -> Interval:
        """Return the median of `speedups`, with its 95 % interval over prompts."""
        rounds = zip(self.by_repetition.values(), plain.by_repetition.values(), strict=True)
        values = [
            np.divide(*(_resampled(rows, "new_tokens", "seconds") for rows in both))
            for both in rounds
        ]
        most = max(map(len, values))  # a benchmark that was stopped has rounds of fewer prompts
        typical = np.median([one for one in values if len(one) == most], 0)
        return _interval(statistics.median(self.speedups(plain)), typical)

    def block_efficiency(self) -> Interval:
        """Return committed tokens per target call, and its 95 % interval over prompts."""
        return ratio_interval(self.records, "new_tokens", "target_calls")

    def more_than_vanilla(self, gamma: int) -> Interval | None:
        """Return how many more tokens per target call HSD gives than vanilla at this draft length.

        It is exact over drafts and coins on these runs' texts, which plain decoding wrote, and so
        paired; with its 95 % interval over prompts. None where that is not known.
        """
        if any(len(record.get("passes", {}).get(HSD, ())) < gamma for record in self.records):
            return None

        def passes(rule: str) -> Callable[[Record], float]:
            return lambda record: float(record["passes"][rule][gamma - 1])

        hsd, vanilla = (
            (ratio(self.records, *tokens), _resampled(self.records, *tokens))
            for tokens in (("new_tokens", passes(rule)) for rule in (HSD, VANILLA))
        )
        return _interval(hsd[0] - vanilla[0], hsd[1] - vanilla[1], -math.inf)

    def acceptance_rate(self) -> Interval:
        """Return kept drafted tokens per drafted token, with its 95 % interval over prompts."""
        value, low, high = ratio_interval(self.records, "kept", "drafted")
        return value, low, min(high, 1.0)

    def acceptance_length(self) -> Interval:
        """Return AL, the acceptance length 1 + kept tokens per draft, with its 95 % interval."""
        value, low, high = ratio_interval(self.records, "kept", drafts)
        return 1 + value, 1 + low, 1 + high

    def acceptance_rate_per_position(self) -> list[float]:
        """For i = 1, 2, …: the share of all drafts that kept at least i tokens."""
        every = sum(map(drafts, self.records))
        by_record = (record.get("positions", ()) for record in self.records)
        positions = zip_longest(*by_record, fillvalue=(0, 0))
        return [sum(kept for kept, _ in runs) / every for runs in positions] if every else []

    def kept_histogram(self) -> dict[int, int]:
        """Return how many steps kept 0, 1, 2 … tokens."""
        histograms = [Counter[str](record.get("kept_histogram", {})) for record in self.records]
        counts = sum(histograms, Counter[str]())
        return {int(kept): counts[kept] for kept in sorted(counts, key=int)}

    def call_seconds(self, model: str, width: int) -> float:
        """Return the median seconds of a forward pass that read `width` tokens.

        model: "target" or "draft". Returns NaN if there was no such pass.
        """
        calls = [r["calls"].get(model, NO_CALLS)["widths"] for r in self.records]
        medians = [widths[str(width)][2] for widths in calls if str(width) in widths]
        return statistics.median(medians) if medians else float("nan")

    @cached_property
    def below(self) -> list[str]:
        """The names of all models that draft: "draft", and in a stack the levels under it."""
        return sorted({name for record in self.records for name in record["calls"]} - {"target"})

    def model_seconds(self, *models: str) -> float:
        """Return the seconds of all forward passes of the named models, over all records."""
        calls = [r["calls"][name] for r in self.records for name in models if name in r["calls"]]
        return float(sum(map(_seconds_of, calls)))

    def step_times(self) -> dict[str, float]:
        """Return milliseconds per step, and those that pass outside forward passes.

        The former are the median over repetitions.
        """
        outside = total(self.records, "seconds") - self.model_seconds("target", *self.below)
        per_step = [1e3 * ratio(r, "seconds", "steps") for r in self.by_repetition.values()]
        return {
            "ms_per_step": statistics.median(per_step),
            "outside_ms_per_step": 1e3 * outside / total(self.records, "steps"),
        }

    def shares(self) -> dict[str, float]:
        """Return where the time of a run goes, as shares of its seconds.

        draft, target: the models' forward passes. verify: judging the drafts. sampling: logits to
        probabilities, drawing tokens, arranging drafts. rest: all else.
        """
        seconds = total(self.records, "seconds")
        timed = ("draft", "target", "verify")
        laps = {part: sum(r["time"][part] for r in self.records) for part in timed}
        draft = self.model_seconds(*self.below)
        target = self.model_seconds("target")
        # before the first step, outside all laps
        prefill = sum(r["calls"]["target"]["first"] for r in self.records)
        sampling = max(laps["draft"] - draft, 0.0) + max(laps["target"] - (target - prefill), 0.0)
        rest = max(seconds - draft - target - laps["verify"] - sampling, 0.0)
        parts = (draft, target, laps["verify"], sampling, rest)
        return {part: value / seconds for part, value in zip(PARTS, parts, strict=True)}

    def limit(self, plain: "Measurement") -> float:
        """Return the speed-up if nothing but the models' forward passes took time.

        It is S* = A T(1) / (γ d + T(γ+1)).

        With several drafts, levels, copied drafts or drafts that choose their length the
        denominator is the mean over steps of the median times of the calls made; a copy costs none,
        d = 0.
        """
        gamma: int = self.case.options.get("gamma", 0)
        if one_draft(self.case.options):
            tokens = self.block_efficiency()[0]
            drafting = gamma * self.call_seconds("draft", 1)
            round_time = drafting + self.call_seconds("target", gamma + 1)
        else:
            # all target calls of a step are in its time
            tokens = ratio(self.records, "new_tokens", "steps")
            round_time = sum(self.typical_seconds(name) for name in ("target", *self.below))
        return tokens * plain.call_seconds("target", 1) / round_time

    def typical_seconds(self, model: str) -> float:
        """Return seconds per step of one model's calls.

        Every call counts with the median time for its width.
        """
        calls = [r["calls"].get(model, NO_CALLS)["widths"].items() for r in self.records]
        counts = Counter[str]()
        for widths in calls:
            counts += Counter({width: int(count) for width, (count, _, _) in widths})
        times = (count * self.call_seconds(model, int(width)) for width, count in counts.items())
        seconds = sum(times)
        return seconds / total(self.records, "steps")


def _seconds_of(calls: dict[str, Any]) -> float:
    """Return the seconds of all forward passes of one model in one run."""
    later = sum(total for _, total, _ in calls["widths"].values())
    return float(calls["first"] + later)


def ratio_interval(
    records: Sequence[Record], above: Sum, below: Sum, least: float = 0.0
) -> Interval:
    """Return the ratio of two sums, with its 95 % interval over prompts, not below `least`.

    The ratio is 0 if the lower sum is 0.
    """
    if not records:
        return (float("nan"),) * 3
    return _interval(ratio(records, above, below), _resampled(records, above, below), least)


def _interval(value: float, values: Any, least: float = 0.0) -> Interval:
    """Return a value and its 95 % interval, not below `least`. values: from `_resampled`."""
    if len(values) < FEW:
        return jackknife(value, values, least)
    low, high = np.percentile(values, ENDS)
    return value, float(low), float(high)


def jackknife(value: float, without: Any, least: float = -math.inf) -> Interval:
    """Return a value and its 95 % interval by Student's t.

    Of a single prompt both ends of the interval are the value.

    without: (n,) the value of all prompts but one, for each of them.
    """
    freedom = len(without) - 1
    half = student(freedom) * math.sqrt(freedom * np.var(without)) if freedom else 0.0
    return value, max(value - half, least), value + half


def student(freedom: int) -> float:
    """Return how many standard errors a 95 % interval reaches to each side, by Student's t.

    freedom: the degrees of freedom.
    """
    from scipy.special import stdtrit

    return float(stdtrit(freedom, ENDS[1] / 100)) if freedom > 0 else math.inf


def _resampled(records: Sequence[Record], above: Sum, below: Sum) -> Any:
    """Resample the ratio of two sums over prompts, (1000,).

    For n < FEW prompts the result is (n,): one prompt is left out each time.
    """
    sums: dict[int, np.ndarray] = defaultdict(lambda: np.zeros(2))
    for record in records:
        sums[record["prompt"]] += total([record], above), total([record], below)
    every = np.array([sums[prompt] for prompt in sorted(sums)])
    draws = np.random.default_rng(0).integers(len(sums), size=(1_000, len(sums)))
    drawn = every[draws].sum(1) if len(sums) >= FEW else every.sum(0) - every * (len(sums) > 1)
    return np.divide(drawn[:, 0], drawn[:, 1], out=np.zeros(len(drawn)), where=drawn[:, 1] > 0)


def total(records: Sequence[Record], what: Sum) -> float:
    """Return the sum of a field, or of a function of a record, over runs.

    A missing field counts as 0.
    """
    return sum(record.get(what, 0) if isinstance(what, str) else what(record) for record in records)


def ratio(records: Sequence[Record], above: Sum, below: Sum) -> float:
    """Return the sum of `above` over runs divided by the sum of `below`; 0 if that is 0."""
    divisor = total(records, below)
    return total(records, above) / divisor if divisor else 0.0


def drafts(record: Record) -> int:
    """Return how many steps of a run drafted at least one token."""
    positions = record.get("positions")
    return int(record.get("drafts") or (positions[0][1] if positions else 0))


def complete(records: Sequence[Record], cases: Sequence[str]) -> list[Record]:
    """Return the records of those prompts and repetitions that all cases finished.

    A stopped benchmark has more.
    """
    made = {(r["case"], r["prompt"], r["repetition"]) for r in records}
    return [
        r for r in records if all((case, r["prompt"], r["repetition"]) in made for case in cases)
    ]


def measurements(cases: Sequence[Case], records: Sequence[Record]) -> list[Measurement]:
    """Return one measurement per case, of the runs that all cases have made."""
    kept = complete(records, [case.name for case in cases])
    return [Measurement(case, tuple(r for r in kept if r["case"] == case.name)) for case in cases]


Row = dict[str, Any]


def rows(cases: Sequence[Measurement]) -> list[Row]:
    """Return a row per case: all that a report shows.

    Each is compared with plain decoding by the same sampling.
    """
    plain = {Sampling.of(m.case.options): m for m in cases if is_plain(m)}
    return [_row(m, plain[Sampling.of(m.case.options)]) for m in cases if m.records]


def is_plain(m: Measurement) -> bool:
    """Return whether this is our own plain decoding, with which others are compared."""
    return m.case.options.get("system") == "plain"


def copies(options: dict[str, Any]) -> bool:
    """Return whether a case's drafts are copied from the text, by no model."""
    return options.get("proposer") in COPIERS


def _row(m: Measurement, plain: Measurement) -> Row:
    row: Row = {
        "case": m.case.name,
        "options": m.case.options,
        "tokens_per_second": statistics.median(m.tokens_per_second()),
        "acceptance_rate_per_position": m.acceptance_rate_per_position(),
        "runs": len(m.records),
        "prompts": len({r["prompt"] for r in m.records}),
    }
    if "steps" in m.records[0]:  # else it was another library's, or a server's
        row |= {
            "shares": m.shares(),
            **m.step_times(),
            "kept_histogram": m.kept_histogram(),
            **_costs(m, plain),
        }
    if "target_calls" in m.records[0]:  # all but a server, which may run another target
        row |= {"speedup_interval": m.speedup(plain), "block_efficiency": m.block_efficiency()}
        row["speedup"] = row["speedup_interval"][0]
    if any(r.get("drafted") for r in m.records):
        row["acceptance_rate"] = m.acceptance_rate()
    if any(map(drafts, m.records)):
        row["acceptance_length"] = m.acceptance_length()
    return row


def _costs(m: Measurement, plain: Measurement) -> Row:
    """Return the ms of a target call (of a step's if widths vary).

    With drafts the acceptance and the speed limit are there, too.
    """
    if is_plain(m):
        return {"target_call_ms": 1e3 * m.call_seconds("target", 1)}
    width = m.case.options["gamma"] + 1 if one_draft(m.case.options) else 0
    limit = m.limit(plain)
    by_hsd = one_draft(m.case.options) and m.case.options.get("rule") == HSD
    seconds = m.call_seconds("target", width) if width else m.typical_seconds("target")
    return {
        "target_call_ms": 1e3 * seconds,
        "acceptance_rate": m.acceptance_rate(),
        "draft_call_ms": 0.0 if copies(m.case.options) else 1e3 * m.call_seconds("draft", 1),
        "limit": limit,
        "efficiency": m.speedup(plain)[0] / limit,
        "mean_gamma": ratio(m.records, "drafted", "steps"),
        "more_than_vanilla": plain.more_than_vanilla(width - 1) if by_hsd else None,
    }

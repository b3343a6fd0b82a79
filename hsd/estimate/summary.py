"""What every rule would have kept of many texts' drafts, with intervals, and what that is worth."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hsd.errors import HsdError
from hsd.estimate.chances import HSD, RULES, VANILLA, kept_chances, pass_begins
from hsd.estimate.texts import ScoredText

Numbers = NDArray[np.float64]
SAMPLES = 1000  # of the bootstrap
SHARE = (2.5, 97.5)  # percentiles of a 95 % interval
TOGETHER = 250_000  # tokens, padding included, that are computed at once


@dataclass(frozen=True)
class Interval:
    """Values by k or γ, with the ends of their 95 % intervals, (n,) each; NaN without interval."""

    value: Numbers
    low: Numbers
    high: Numbers


@dataclass(frozen=True)
class Rated:
    """One rule over all texts.

    kept_at_least: chance that a pass keeps at least k = 1, 2, … of its drafted tokens, averaged
    over all places that k tokens follow. tokens_per_pass: at γ = 1, 2, …, the texts' tokens over
    their expected passes, the block efficiency that decoding them would show. It is less than 1 +
    the sum of kept_at_least where easy and hard places alternate, as more passes begin at hard
    ones. passes: (texts, γ) expected passes of each text.
    """

    kept_at_least: Interval
    tokens_per_pass: Interval
    passes: Numbers


@dataclass(frozen=True)
class Estimate:
    """The result: `Rated` by rule, and the paired difference HSD − vanilla in tokens per pass."""

    texts: Sequence[ScoredText]
    longest: int
    rules: Mapping[str, Rated]
    difference: Interval

    @property
    def tokens(self) -> int:
        return sum(map(len, self.texts))


def estimate(texts: Sequence[ScoredText], longest: int = 8, seed: int = 0) -> Estimate:
    """Estimate what every rule of `RULES` keeps of drafts of γ = 1 to `longest` tokens.

    texts: as `checked` returned them. seed: of the bootstrap over texts. Raises HsdError where no
    text is long enough for one whole draft.
    """
    most = max(map(len, texts))
    if longest < 1 or most <= longest:
        raise HsdError(
            f"the longest text has {most:,} tokens: choose draft lengths from 1 to "
            f"{max(most - 1, 1)}"
        )
    counts = {name: _counts(name, texts, longest) for name in RULES}
    weights = _weights(len(texts), seed)
    rules = {}
    lengths = np.array([[len(text)] * longest for text in texts], np.float64)
    for name, (kept, places, passes) in counts.items():
        rules[name] = Rated(_ratio(kept, places, weights), _ratio(lengths, passes, weights), passes)
    resampled = [_over(lengths, counts[name][-1], weights) for name in (HSD, VANILLA)]
    value = rules[HSD].tokens_per_pass.value - rules[VANILLA].tokens_per_pass.value
    return Estimate(texts, longest, rules, _interval(value, resampled[0] - resampled[1]))


def _counts(rule: str, texts: Sequence[ScoredText], longest: int) -> tuple[Numbers, ...]:
    """Return sums over each text, (texts, longest) each.

    They are: chances of keeping at least k, the number of places that they are of, and expected
    passes.
    """
    rows: list[list[Numbers]] = []
    for part in _parts(texts):
        logp, logq = _padded(part)
        chances = kept_chances(rule, logp, logq, longest)
        passes = pass_begins(chances, [len(text) for text in part]).sum(-2)
        for text, text_chances, text_passes in zip(part, chances, passes, strict=True):
            places = (len(text) - np.arange(longest)).clip(0)
            rows.append([text_chances.sum(0), places.astype(np.float64), text_passes])
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def _parts(texts: Sequence[ScoredText]) -> Iterator[Sequence[ScoredText]]:
    """Yield texts in their order, so many together that memory stays small."""
    begin = 0
    widest = 0
    for end, text in enumerate(texts):
        widest = max(widest, len(text))
        if end > begin and widest * (end + 1 - begin) > TOGETHER:
            yield texts[begin:end]
            begin = end
            widest = len(text)
    yield texts[begin:]


def _padded(texts: Sequence[ScoredText]) -> tuple[Numbers, Numbers]:
    """Return log-probabilities (texts, n) of target and draft, with -inf after each text's end."""
    n = max(map(len, texts))
    both = np.full((2, len(texts), n), -np.inf)
    for row, text in enumerate(texts):
        both[0, row, : len(text)] = text.logp
        both[1, row, : len(text)] = text.logq
    return both[0], both[1]


# ---- intervals, by drawing texts again


def _weights(texts: int, seed: int) -> Numbers:
    """Return how often each text is drawn in each sample of the bootstrap, (SAMPLES, texts).

    NaN for a text alone, which says nothing of others.
    """
    if texts == 1:
        return np.full((SAMPLES, 1), np.nan)
    even = np.full(texts, 1 / texts)
    return np.random.default_rng(seed).multinomial(texts, even, SAMPLES).astype(np.float64)


def _over(above: Numbers, below: Numbers, weights: Numbers) -> Numbers:
    """Return the ratio of sums in each sample, (SAMPLES, longest); NaN where nothing was drawn."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios: Numbers = (weights @ above) / (weights @ below)
    return ratios


def _ratio(above: Numbers, below: Numbers, weights: Numbers) -> Interval:
    return _interval(above.sum(0) / below.sum(0), _over(above, below, weights))


def _interval(value: Numbers, resampled: Numbers) -> Interval:
    if np.isnan(resampled).all():
        return Interval(value, np.full_like(value, np.nan), np.full_like(value, np.nan))
    low, high = np.nanpercentile(resampled, SHARE, axis=0)
    return Interval(value, low, high)


# ---- what that is worth


@dataclass(frozen=True)
class Costs:
    """What calls cost, in passes of the target over one token.

    passes: of the target by how many tokens it reads; between two widths on a straight line.
    drafted: of the draft for one token.
    """

    passes: Mapping[int, float]
    drafted: float

    def pass_over(self, width: int) -> float:
        """Return the cost of a pass over `width` tokens."""
        known = sorted(self.passes)
        low, high = next(
            (pair for pair in pairwise(known) if pair[1] >= width), (known[-2], known[-1])
        )
        slope = (self.passes[high] - self.passes[low]) / (high - low)
        return self.passes[low] + slope * (width - low)

    def of_step(self, gamma: int) -> float:
        """Return the cost of a step that drafts γ tokens."""
        return self.pass_over(gamma + 1) + gamma * self.drafted


def read_costs(text: str) -> Costs:
    """Read costs: "0.07,0.3", or "1:24.3,4:29.1,draft:8.6".

    The first are a further token of the target's pass and a drafted token, in passes over one
    token; the others measured times of passes by their width, and of a drafted token, in one unit.
    Raises HsdError.
    """
    parts = [part.partition(":") for part in text.split(",")]
    try:
        if all(not colon for _, colon, _ in parts):
            further, drafted = (float(part) for part, _, _ in parts)
            costs = Costs({1: 1.0, 2: 1.0 + further}, drafted)
        else:
            times = {name.strip(): float(value) for name, _, value in parts}
            draft = times.pop("draft")
            widths = {int(name): value for name, value in times.items()}
            costs = Costs({n: ms / widths[1] for n, ms in widths.items()}, draft / widths[1])
        values = [*costs.passes.values(), costs.drafted]
        sound = all(0 <= value < 1e6 for value in values) and len(costs.passes) > 1
        if sound and min(costs.passes) >= 1:
            return costs
    except (ValueError, KeyError, ZeroDivisionError):
        pass
    raise HsdError(
        f"costs {text[:60]!r}: give a further token of the target's pass and a drafted token, in "
        "passes over one token (0.07,0.3), or measured times by width (1:24.3,4:29.1,draft:8.6)"
    )


def speedups(result: Estimate, rule: str, costs: Costs) -> Interval:
    """Return a rule's speed over plain decoding at γ = 1, 2, …, with the interval of its tokens.

    The loop's own time is left out.
    """
    per_pass = result.rules[rule].tokens_per_pass
    step = np.array([costs.of_step(gamma) for gamma in range(1, result.longest + 1)])
    return Interval(per_pass.value / step, per_pass.low / step, per_pass.high / step)


def as_json(result: Estimate, per_text: bool = False) -> dict[str, Any]:
    """Return the estimate as plain data. per_text: also the expected passes of every text."""
    plain: dict[str, Any] = {
        "texts": len(result.texts),
        "tokens": result.tokens,
        "gamma": list(range(1, result.longest + 1)),
        "rules": {},
        "difference": _plain("tokens_per_pass", result.difference),
    }
    for name, rated in result.rules.items():
        plain["rules"][name] = {
            **_plain("kept_at_least", rated.kept_at_least),
            **_plain("tokens_per_pass", rated.tokens_per_pass),
        }
    if per_text:
        plain["per_text"] = [
            {
                "id": text.name,
                "kind": text.kind,
                "tokens": len(text),
                "expected_passes": {
                    name: rated.passes[number].tolist() for name, rated in result.rules.items()
                },
            }
            for number, text in enumerate(result.texts)
        ]
    return plain


def _plain(name: str, interval: Interval) -> dict[str, Any]:
    ends = zip(interval.low.tolist(), interval.high.tolist(), strict=True)
    known = [None if np.isnan(low) else [low, high] for low, high in ends]
    return {name: interval.value.tolist(), f"{name}_interval": known}

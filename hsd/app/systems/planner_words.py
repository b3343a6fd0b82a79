"""What the planner's numbers mean, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from hsd.planner import Stack

SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉"


def verdict(ways: Sequence[Stack], best: int) -> str:
    """Return which way is best. ways: no draft first, then the single drafts, then stacks of several."""
    plain, found = ways[0], ways[best]
    singles = [way for way in ways if len(way.models) == 2]
    several = [way for way in ways if len(way.models) > 2]
    single = min(singles, key=lambda way: way.latency)
    fast = f"{_short(plain.latency / found.latency)} times as fast as no draft"
    cost = f"{_number(found.latency)} per token"
    if len(found.models) > 2:
        over = _short(single.latency / found.latency)
        return (
            f"Best: {in_words(found)}: {cost}, {fast} and {over} times as fast as the best single draft, "
            f"{in_words(single)}: {_number(single.latency)}."
        )
    if found is plain:
        rival = f"the best draft, {in_words(single)}, costs {_number(single.latency)}"
        return f"Stacking does not pay here: plain decoding, without any draft, is the fastest, {cost}; {rival}."
    if not several:
        return f"With one draft there is nothing to stack; the best T: {in_words(found)}: {cost}, {fast}."
    larger = min(several, key=lambda way: way.latency)
    return (
        f"Stacking does not pay here: a single draft is the fastest, {in_words(found)}: {cost}, {fast}. "
        f"The best larger stack, {in_words(larger)}, costs {_number(larger.latency)}."
    )


def bound_sentence(bound: float, latency: float) -> str:
    """Return a sentence on how far above the fluid optimum the plan is."""
    above = 100 * (latency / bound - 1)
    reach = "the plan reaches that" if above < 1e-9 else f"the plan is {_short(above, 2)} % above"
    return (
        "Fluid bound: if every block had exactly its threshold's length, no stack could cost less than "
        f"{_number(bound)} per token; {reach}."
    )


def trial_sentence(now: Stack, best: Stack) -> str:
    """Return what a choice of thresholds costs beside the best one of the same models."""
    given = f"With T = {_list(now.thresholds)}: {_number(now.latency)} per token"
    more = 100 * (now.latency / best.latency - 1)
    if more < 1e-9:
        return f"{given}, the best thresholds for these models."
    rival = f"{_list(best.thresholds)}: {_number(best.latency)}"
    return f"{given}, {_short(more, 2)} % more than with the best thresholds, {rival}."


def in_words(way: Stack) -> str:
    """Return a way as text, such as `M₀ (T = 4) → M₂ (T = 6) → target`."""
    parts = [f"M{SUBSCRIPTS[m]} (T = {t})" for m, t in zip(way.models, way.thresholds, strict=False)]
    return " → ".join([*parts, "target"])


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _short(value: float, digits: int = 3) -> str:
    """Return a ratio or a percentage with few digits."""
    return f"{value:,.0f}" if value >= 10**digits else f"{value:.{digits}g}"


def _number(value: float) -> str:
    """Return four significant digits, never in scientific notation from 0.0001 on."""
    return f"{value:,.0f}" if value >= 1e4 else f"{value:.4g}"

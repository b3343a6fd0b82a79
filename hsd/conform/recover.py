"""The exact law of every draft, recovered from a black box by asking it at chosen numbers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from hsd.audit import TableModels
from hsd.conform.adapter import Adapter, BlackBox
from hsd.conform.boxes import Box, Outcome, Point, Search, boxes, threshold
from hsd.errors import HsdError
from hsd.rules import RULES

CHECKS = 8  # random points per draft at which the recovered law must foretell the outcome
FAR = 1e30  # what a token is given in an exponential race that it must not win
T = TypeVar("T")


@dataclass(frozen=True)
class Recovered:
    """What a verifier does with one draft. Has what the audit asks of a `Law`.

    stop: (γ+1,) float64, the probability that exactly t tokens are kept. rows: (γ+1, V), the law of the token after t
    kept ones, all 0 where t never happens. coins: whether any coin changes anything; constant: nothing at all does.
    """

    stop: Tensor
    rows: Tensor
    coins: bool
    constant: bool

    @property
    def expected_kept(self) -> Tensor:
        return (self.stop * torch.arange(len(self.stop))).sum()

    def next(self, t: int) -> Tensor:
        return self.rows[t]


@dataclass(frozen=True)
class Region:
    """A box of numbers in which equally many tokens are kept, and the law of the next one there, (V,).

    By inverse CDF the noise is one of the box's numbers, and the law is one token; else it is that of the race.
    """

    box: Box
    law: Tensor

    def outcome(self, noise: Tensor) -> Outcome:
        return (*self.box.outcome[:-1], int((self.law / noise).argmax()))


def recover(adapter: Adapter, models: TableModels) -> tuple[dict[Outcome, Recovered], int]:
    """The law of each draft that the draft model can make, and how many calls it took.

    Raises HsdError where the outcome does not follow from the numbers, or not by thresholds: the laws are checked
    against fresh random numbers, `CHECKS` for each draft.
    """
    gamma, vocab = models.gamma, models.vocab
    drafts = [x for x in itertools.product(range(vocab), repeat=gamma) if models.joint(models.draft, x) > 0]
    box = BlackBox(adapter, models, drafts)
    _check_repeats(box, len(drafts), gamma + (vocab if adapter.race else 1))
    regions = _together(box, [_regions(adapter, gamma, vocab, _hints(models, x)) for x in drafts])
    _check_foretold(box, regions, gamma, vocab)
    return {x: _added_up(of, gamma) for x, of in zip(drafts, regions, strict=True)}, box.calls


def _regions(adapter: Adapter, gamma: int, vocab: int, hints: list[list[float]]) -> Search[list[Region]]:
    most, one_hot = 8 * (gamma + 1) * vocab, torch.eye(vocab, dtype=torch.float64)
    if not adapter.race:
        found = yield from boxes(gamma + 1, gamma, (), adapter.width, hints, most)
        return [Region(box, one_hot[box.outcome[-1]]) for box in found]
    found = yield from boxes(gamma, gamma, (1.0,) * vocab, adapter.width, hints, most)
    regions = []
    for box in found:
        regions.append(Region(box, (yield from _race(box, vocab, adapter.width))))
    return regions


def rows_along(models: TableModels, draft: Outcome) -> tuple[Tensor, Tensor, Tensor]:
    """What a rule is given for a draft: p (γ+1, V), q (γ, V) and the tokens (γ,)."""
    p, q = models.rows(models.target, draft, models.gamma + 1), models.rows(models.draft, draft, models.gamma)
    return p, q, torch.tensor(draft)


def _hints(models: TableModels, draft: Outcome) -> list[list[float]]:
    """Where known rules have their thresholds: for each coin, and for the noise."""
    laws = [rule.law(*rows_along(models, draft)) for rule in RULES.values()]
    coins = torch.stack([law.threshold for law in laws]).T.tolist()  # (γ, rules)
    noise = {x for law in laws for t in range(law.gamma + 1) for x in law.next(t).cumsum(0)[:-1].tolist()}
    return [*coins, list(noise)]


def _together(box: BlackBox, searches: list[Search[T]]) -> list[T]:
    """The results of searches that go on side by side, one draft each: a question of every one of them in one call."""
    asked: dict[int, Point] = {}
    results: dict[int, T] = {}
    answers: dict[int, Outcome | None] = dict.fromkeys(range(len(searches)))
    while answers:
        for i, answer in answers.items():
            try:
                asked[i] = searches[i].send(answer)  # type: ignore[arg-type]
            except StopIteration as end:
                asked.pop(i, None)
                results[i] = end.value
            except HsdError as error:
                raise HsdError(f"{box.adapter.name}: {error}; sent last {box.sent(i, asked[i])}") from None
        answers = dict(zip(asked, box.ask(list(asked), list(asked.values())), strict=True)) if asked else {}
    return [results[i] for i in range(len(searches))]


def _race(box: Box, vocab: int, width: float) -> Search[Tensor]:
    """The law of the exponential race in a box of coins, (V,): each token against the winner, share by share."""
    winner, ratios = box.outcome[-1], torch.zeros(vocab, dtype=torch.float64)
    ratios[winner] = 1.0
    for token in (t for t in range(vocab) if t != winner):

        def at(share: float, token: int = token) -> Point:
            numbers = [FAR] * vocab
            numbers[token], numbers[winner] = share, 1 - share
            return (*box.centre, *numbers)

        if (yield at(width))[-1] == token:
            share = yield from threshold(at, width, 1 - width, width, ())
            ratios[token] = share / (1 - share)
    return ratios / ratios.sum()


def _added_up(regions: list[Region], gamma: int) -> Recovered:
    mass = torch.zeros(gamma + 1, len(regions[0].law), dtype=torch.float64)
    for region in regions:
        mass[len(region.box.outcome) - 1] += region.box.volume * region.law
    stop, boxes = mass.sum(-1), [region.box for region in regions]
    coins = any(low > 0 or high < 1 for box in boxes for low, high in list(zip(box.low, box.high, strict=True))[:gamma])
    constant = len(regions) == 1 and float(regions[0].law.max()) == 1
    return Recovered(stop, mass / stop.clamp_min(1e-300).unsqueeze(-1), coins, constant)


def _check_repeats(box: BlackBox, drafts: int, numbers: int) -> None:
    """Equal numbers must give equal tokens: the middle of everything, a few times."""
    point = (0.5,) * numbers
    first, *others = [box.ask(range(drafts), [point] * drafts) for _ in range(4)]
    for draft, (one, again) in enumerate(pair for other in others for pair in zip(first, other, strict=True)):
        if one != again:
            raise HsdError(
                f"{box.adapter.name}: verify returns {list(one)} and then {list(again)} for the same numbers: take "
                f"every random number from uniforms and noise, or use --sampled; sent {box.sent(draft % drafts, point)}"
            )


def _check_foretold(box: BlackBox, regions: list[list[Region]], gamma: int, vocab: int) -> None:
    """The regions must foretell what comes out at random numbers, but for those too near to a threshold."""
    drafts, race, near = range(len(regions)), box.adapter.race, 2 * box.adapter.width
    generator = torch.Generator().manual_seed(1)
    for _ in range(CHECKS):
        numbers = torch.rand(len(drafts), gamma + (vocab if race else 1), generator=generator, dtype=torch.float64)
        if race:
            numbers[:, gamma:] = -torch.log1p(-numbers[:, gamma:])
        points = [tuple(point) for point in numbers.tolist()]
        for draft, outcome in zip(drafts, box.ask(drafts, points), strict=True):
            region = next((one for one in regions[draft] if one.box.holds(points[draft], near)), None)
            noise = numbers[draft, gamma:] if race else torch.ones(())
            if region is None or region.outcome(noise) == outcome or (race and _close(region.law / noise)):
                continue
            foretold = list(region.outcome(noise))
            raise HsdError(
                f"{box.adapter.name}: verify is not monotone: its own thresholds foretell {foretold} and it returns "
                f"{list(outcome)}; use --sampled; sent {box.sent(draft, points[draft])}"
            )


def _close(speeds: Tensor) -> bool:
    """Whether the two fastest of a race are too close to call in single precision."""
    first, second = speeds.topk(2).values.tolist()
    return bool(second > first * (1 - 1e-5))

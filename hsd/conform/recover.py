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
from hsd.rules import RULES, Law

CHECKS = 8  # random points per draft at which the recovered law must foretell the outcome
FAR = 1e30  # what a token is given in an exponential race that it must not win
T = TypeVar("T")


@dataclass(frozen=True)
class Recovered:
    """What a verifier does with one draft. Has what the audit asks of a `Law`.

    stop: (γ+1,) float64, the probability that exactly t tokens are kept. rows: (γ+1, V), the law of the token after t
    kept ones, all 0 where t never happens. coins: whether any coin changes anything; noise: whether the noise does.
    """

    stop: Tensor
    rows: Tensor
    coins: bool
    noise: bool

    @property
    def expected_kept(self) -> Tensor:
        return (self.stop * torch.arange(len(self.stop))).sum()

    def next(self, t: int) -> Tensor:
        return self.rows[t]


@dataclass(frozen=True)
class Race:
    """A box of coins, and the law of the token that wins the exponential race there, (V,)."""

    box: Box
    law: Tensor


def recover(adapter: Adapter, models: TableModels) -> tuple[dict[Outcome, Recovered], int]:
    """The law of each draft that the draft model can make, and how many calls it took.

    Raises HsdError where the outcome does not follow from the numbers, or not by thresholds: the laws are checked
    against fresh random numbers, `CHECKS` for each draft.
    """
    gamma, vocab = models.gamma, models.vocab
    drafts = [x for x in itertools.product(range(vocab), repeat=gamma) if models.joint(models.draft, x) > 0]
    p = torch.stack([models.rows(models.target, x, gamma + 1) for x in drafts])
    q = torch.stack([models.rows(models.draft, x, gamma) for x in drafts])
    box, race = BlackBox(adapter, p, q, torch.tensor(drafts)), adapter.noise == "exponential-race"
    _check_repeats(box, len(drafts), gamma, vocab if race else 1)
    axes, fixed = (gamma, (1.0,) * vocab) if race else (gamma + 1, ())
    laws = [[rule.law(p[i], q[i], torch.tensor(x)) for rule in RULES.values()] for i, x in enumerate(drafts)]
    hints = [_hints(of) for of in laws]
    most = 8 * (gamma + 1) * vocab
    found = _together(box, [boxes(axes, gamma, fixed, adapter.width, hint, most) for hint in hints])
    if race:
        races = _together(box, [_races(one, vocab, adapter.width) for one in found])
        _check_races(box, races, gamma)
        return {x: _by_race(one, gamma) for x, one in zip(drafts, races, strict=True)}, box.calls
    _check_boxes(box, found, adapter.width)
    return {x: _by_boxes(one, gamma, vocab) for x, one in zip(drafts, found, strict=True)}, box.calls


def _hints(laws: list[Law]) -> list[list[float]]:
    """Where known rules have their thresholds: for each coin, and for the noise."""
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


def _races(found: list[Box], vocab: int, width: float) -> Search[list[Race]]:
    """The law of the exponential race in every box: a token against the winner, share by share."""
    races = []
    for box in found:
        winner, ratios = box.outcome[-1], [0.0] * vocab
        ratios[winner] = 1.0
        for token in (t for t in range(vocab) if t != winner):

            def at(share: float, box: Box = box, token: int = token, winner: int = winner) -> Point:
                numbers = [FAR] * vocab
                numbers[token], numbers[winner] = share, 1 - share
                return (*box.centre, *numbers)

            if (yield at(width))[-1] == token:
                share = yield from threshold(at, width, 1 - width, width, ())
                ratios[token] = share / (1 - share)
        law = torch.tensor(ratios, dtype=torch.float64)
        races.append(Race(box, law / law.sum()))
    return races


def _by_boxes(found: list[Box], gamma: int, vocab: int) -> Recovered:
    mass = torch.zeros(gamma + 1, vocab, dtype=torch.float64)
    for box in found:
        mass[len(box.outcome) - 1, box.outcome[-1]] += box.volume
    coins = any((low, high) != (0, 1) for box in found for low, high in zip(box.low[:gamma], box.high, strict=False))
    return _normalised(mass, coins, any((box.low[-1], box.high[-1]) != (0, 1) for box in found))


def _by_race(races: list[Race], gamma: int) -> Recovered:
    mass = torch.zeros(gamma + 1, len(races[0].law), dtype=torch.float64)
    for race in races:
        mass[len(race.box.outcome) - 1] += race.box.volume * race.law
    return _normalised(mass, len(races) > 1, any(float(race.law.max()) < 1 for race in races))


def _normalised(mass: Tensor, coins: bool, noise: bool) -> Recovered:
    stop = mass.sum(-1)
    return Recovered(stop, mass / stop.clamp_min(1e-300).unsqueeze(-1), coins, noise)


def _check_repeats(box: BlackBox, drafts: int, gamma: int, numbers: int) -> None:
    """Equal numbers must give equal tokens: the middle of everything, a few times."""
    point = (0.5,) * (gamma + numbers)
    first, *others = [box.ask(range(drafts), [point] * drafts) for _ in range(4)]
    for other in others:
        for draft, (one, again) in enumerate(zip(first, other, strict=True)):
            if one != again:
                raise HsdError(
                    f"{box.adapter.name}: verify returns {list(one)} and then {list(again)} for the same numbers: take "
                    f"every random number from uniforms and noise, or use --sampled; sent {box.sent(draft, point)}"
                )


def _random(drafts: int, gamma: int, noises: int) -> Tensor:
    """(CHECKS, drafts, γ + noises): fresh coins, and noise by inverse CDF or for a race."""
    made = torch.rand(CHECKS, drafts, gamma + noises, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    if noises > 1:
        made[..., gamma:] = -torch.log1p(-made[..., gamma:])
    return made


def _check_boxes(box: BlackBox, found: list[list[Box]], width: float) -> None:
    drafts, axes = range(len(found)), len(found[0][0].low)
    for numbers in _random(len(found), axes - 1, 1).tolist():
        points = [tuple(point) for point in numbers]
        for draft, outcome in zip(drafts, box.ask(drafts, points), strict=True):
            inside = next((one for one in found[draft] if one.holds(points[draft], 2 * width)), None)
            if inside and inside.outcome != outcome:
                raise _unforeseen(box, draft, points[draft], outcome, inside.outcome)


def _check_races(box: BlackBox, found: list[list[Race]], gamma: int) -> None:
    drafts, vocab = range(len(found)), len(found[0][0].law)
    for numbers in _random(len(found), gamma, vocab).tolist():
        points = [tuple(point) for point in numbers]
        for draft, outcome in zip(drafts, box.ask(drafts, points), strict=True):
            race = next((one for one in found[draft] if one.box.holds(points[draft], 2 * box.adapter.width)), None)
            if race is None:
                continue
            times = race.law / torch.tensor(points[draft][gamma:], dtype=torch.float64)
            best = times.topk(min(2, vocab))
            foretold = (*race.box.outcome[:-1], int(best.indices[0]))
            close = vocab > 1 and float(best.values[1]) > float(best.values[0]) * (1 - 1e-5)
            if foretold != outcome and not close:
                raise _unforeseen(box, draft, points[draft], outcome, foretold)


def _unforeseen(box: BlackBox, draft: int, point: Point, outcome: Outcome, foretold: Outcome) -> HsdError:
    return HsdError(
        f"{box.adapter.name}: verify is not monotone: its own thresholds foretell {list(foretold)} and it returns "
        f"{list(outcome)}; use --sampled; sent {box.sent(draft, point)}"
    )

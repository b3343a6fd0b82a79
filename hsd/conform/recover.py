"""The exact law of every draft, recovered from a black box by calling it at chosen numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor

from hsd.audit import TableModels
from hsd.conform.adapter import Adapter, BlackBox
from hsd.conform.boxes import Box, Outcome, Point, Search, boxes, edges, threshold
from hsd.conform.causes import OWN, Batch, cause
from hsd.errors import HsdError
from hsd.rules import RULES, Law

CHECKS = 8  # random points per draft at which the recovered law must predict the outcome
STRATA = 1_001  # points of a sweep: no interval of 1e-3 lies between two of them
TIMES = 5  # that each of some points is evaluated
AGAIN = 20  # wrongly predicted points that are evaluated once more, one by one
# share of repeated points below which differences are not due to state kept from earlier calls
SELDOM = 0.02
OTHERS = 8  # points of other calls between which one is repeated
FRESH = 64  # random points at which a refined law must predict the outcome
REFINED = 3  # times that a law is refined where it predicted wrongly
FAR = 1e30  # the time of a token that must not win an exponential race
T = TypeVar("T")


@dataclass(frozen=True)
class RecoveredLaw:
    """A verifier's law for one draft, with those attributes of `Law` that the audit reads.

    stop: (γ+1,) float64, the probability that exactly t tokens are kept. rows: (γ+1, V), the law of
    the token after t kept ones, all 0 where t never happens. coins: whether any coin has an effect;
    constant: no number has one.
    """

    stop: Tensor
    rows: Tensor
    coins: bool
    constant: bool

    @property
    def expected_kept(self) -> Tensor:
        return (self.stop * torch.arange(len(self.stop), device="cpu")).sum()

    def next(self, t: int) -> Tensor:
        return self.rows[t]


@dataclass(frozen=True)
class Region:
    """A box of numbers with one number of kept tokens, and the law (V,) of the next token there.

    By inverse CDF the noise is one of the box's numbers, and the law is a point mass; else it is
    that of the noise.
    """

    box: Box
    law: Tensor

    def outcome(self, noise: Tensor) -> Outcome:
        return (*self.box.outcome[:-1], int((self.law / noise).argmax()))


def recover(
    adapter: Adapter, models: TableModels, sweep: bool = False, points: int = 0, repeats: int = 0
) -> "tuple[dict[Outcome, RecoveredLaw], Repeats]":
    """Return the law of each draft that the draft model can make, and points to evaluate once more.

    sweep: try every coin of every draft, and the noise, at `STRATA` values for each number of kept
    tokens. points: the number of random points to try, drafts drawn from the draft model; `CHECKS`
    per draft are always tried. A law that mispredicts one of them is refined there. repeats: the
    number of points that are evaluated `TIMES` times, in other orders and again at the end. Raises
    Unsteady if equal numbers occasionally give different tokens, Differs if they usually do, and
    HsdError if the outcome is not determined by thresholds.
    """
    gamma = models.gamma
    vocab = models.vocab
    drafts = models.drafts()
    box = BlackBox(adapter, models, drafts)
    generator = torch.Generator().manual_seed(1)
    turns = [i % len(drafts) for i in range(max(repeats, CHECKS * len(drafts)))]
    again = Repeats(box, *box.random_points(turns[: max(repeats, len(drafts))], generator))
    again.check(TIMES if repeats else 2)
    laws = [_laws(models, x) for x in drafts]
    witnesses: list[list[Point]] = [[] for _ in drafts]

    def taken_apart(draft: int) -> Search[list[Region]]:
        return _regions(adapter, gamma, vocab, laws[draft], witnesses[draft])

    try:
        regions = _together(box, [*range(len(drafts))], taken_apart)
        trials = [box.random_points(turns[: CHECKS * len(drafts)], generator)]
        if points:
            likely = torch.tensor(
                [models.joint(models.draft, x) for x in drafts], dtype=torch.float32, device="cpu"
            )
            drawn = likely.multinomial(points, True, generator=generator).tolist()
            trials.append(box.random_points(drawn, generator))
        trials += [_sweep(box, regions, generator)] if sweep else []
        for where in trials:
            _refine(again, regions, where, witnesses, taken_apart, generator)
    except HsdError:
        again.check(1)  # a cause that lies deeper is named first
        raise
    again.check(1)
    return {x: _added_up(of, gamma) for x, of in zip(drafts, regions, strict=True)}, again


def _regions(
    adapter: Adapter, gamma: int, vocab: int, laws: list[Law], witnesses: list[Point]
) -> Search[list[Region]]:
    """Search for the boxes of one draft's numbers.

    Returns a `Region` for each, with the law of the next token there.
    """
    # (γ, rules): where known rules have thresholds
    coins = torch.stack([law.threshold for law in laws]).T.tolist()
    noise = {
        x for law in laws for t in range(gamma + 1) for x in law.next(t).cumsum(0)[:-1].tolist()
    }
    axes = gamma if adapter.exponential else gamma + 1
    hints = [*coins, list(noise)]
    most = 8 * (gamma + 1) * vocab
    one_hot = torch.eye(vocab, dtype=torch.float64, device="cpu")
    known = [point[:axes] for point in witnesses]
    fixed = (1.0,) * vocab if adapter.exponential else ()
    parts = yield from boxes(axes, gamma, fixed, adapter.width, hints, most, known)
    if not adapter.exponential:
        return [Region(box, one_hot[box.outcome[-1]]) for box in parts]
    regions = []
    for box in parts:
        near = torch.stack([law.next(len(box.outcome) - 1) for law in laws])
        regions.append(Region(box, (yield from _law_of_noise(box, near, adapter.width))))
    return regions


def rows_along(models: TableModels, draft: Outcome) -> tuple[Tensor, Tensor, Tensor]:
    """Return the arguments of `Rule.law` for a draft: p (γ+1, V), q (γ, V) and tokens (γ,)."""
    p = models.rows(models.target, draft, models.gamma + 1)
    q = models.rows(models.draft, draft, models.gamma)
    return p, q, torch.tensor(draft, dtype=torch.int64, device="cpu")


def _laws(models: TableModels, draft: Outcome) -> list[Law]:
    """Return the laws, for one draft, of the known rules where thresholds are likely.

    A coupled rule compares picks instead of coins; of a clipped one the tolerance is not known.
    """
    return [
        rule.law(*rows_along(models, draft))
        for rule in RULES.values()
        if not rule.recipe.coupled and not rule.recipe.clipped
    ]


def _together(box: BlackBox, drafts: Sequence[int], search: Callable[[int], Search[T]]) -> list[T]:
    """Run a search for each draft side by side and return their results.

    A call evaluates one point of every search.
    """
    searches = {draft: search(draft) for draft in drafts}
    pending = {}
    results = {}
    answers: dict[int, Outcome | None] = dict.fromkeys(searches)
    while answers:
        for draft, answer in answers.items():
            try:
                pending[draft] = searches[draft].send(answer)  # type: ignore[arg-type]
            except StopIteration as end:
                pending.pop(draft, None)
                results[draft] = end.value
            except HsdError as error:
                raise HsdError(
                    f"{box.adapter.name}: {error}; sent last {box.args(draft, pending[draft])}"
                ) from None
        answers = {}
        if pending:
            outcomes = box.ask(list(pending), list(pending.values()))
            answers = dict(zip(pending, outcomes, strict=True))
    return [results[draft] for draft in drafts]


def _law_of_noise(box: Box, near: Tensor, width: float) -> Search[Tensor]:
    """Return the law that exponential noise draws from in a box of coins, (V,).

    near: (n, V), likely laws.
    """
    winner = box.outcome[-1]
    vocab = near.shape[1]
    ratios = torch.zeros(vocab, dtype=torch.float64, device="cpu")
    shares = near / (near + near[:, [winner]]).clamp_min(1e-300)
    ratios[winner] = 1.0

    def points(tokens: Sequence[int], share: float) -> Point:
        numbers = torch.full((vocab,), FAR, dtype=torch.float64, device="cpu")
        numbers[tokens] = share
        numbers[winner] = 1 - share
        return (*box.centre, *numbers.tolist())

    likely = near.sum(0) > 0
    rivals = [token for token in range(vocab) if token != winner]
    never = [token for token in rivals if not likely[token]]
    if never and (yield points(never, width)) == box.outcome:
        rivals = [token for token in rivals if likely[token]]
    for token in rivals:
        at = partial(points, [token])
        first = yield at(width)
        if first[-1] == token:
            hints = edges(shares[:, token].tolist(), width)
            ends = width, 1 - width
            share, _ = yield from threshold(at, ends, (first, box.outcome), width, hints)
            ratios[token] = share / (1 - share)
    return ratios / ratios.sum()


def _added_up(regions: list[Region], gamma: int) -> RecoveredLaw:
    mass = torch.zeros(gamma + 1, len(regions[0].law), dtype=torch.float64, device="cpu")
    for region in regions:
        mass[len(region.box.outcome) - 1] += region.box.volume * region.law
    stop = mass.sum(-1)
    coins = any(
        low > 0 or high < 1
        for region in regions
        for low, high in list(zip(region.box.low, region.box.high, strict=True))[:gamma]
    )
    constant = len(regions) == 1 and float(regions[0].law.max()) == 1
    return RecoveredLaw(stop, mass / stop.clamp_min(1e-300).unsqueeze(-1), coins, constant)


# Where the laws are tried


Asked = tuple[list[int], list[Point]]  # drafts, by number, and a point for each


def _sweep(box: BlackBox, regions: list[list[Region]], generator: torch.Generator) -> Asked:
    """Return points at which one number takes `STRATA` values.

    The other numbers are the centre of the largest box, for each draft and number of kept tokens.
    """
    drafts = []
    points = []
    for draft, of in enumerate(regions):
        by_volume = sorted((region.box for region in of), key=lambda box: box.volume)
        largest = {len(part.outcome): part.centre for part in by_volume}
        for base in largest.values():
            for axis in range(len(base)):
                begin = float(
                    torch.rand((), generator=generator, dtype=torch.float64, device="cpu")
                )
                rest = (*base[axis + 1 :], *(1.0,) * (box.vocab if box.adapter.exponential else 0))
                points += [(*base[:axis], (begin + k) / STRATA, *rest) for k in range(STRATA)]
                drafts += [draft] * STRATA
    return drafts, points


def _refine(
    again: "Repeats",
    regions: list[list[Region]],
    trials: Asked,
    witnesses: list[list[Point]],
    taken_apart: Callable[[int], Search[list[Region]]],
    generator: torch.Generator,
) -> None:
    """Refine laws until they predict the outcomes at `trials` and at new random points.

    Changes `regions` and `witnesses`, per draft. taken_apart(draft): searches for its regions anew.
    Raises HsdError.
    """
    box = again.box
    drafts, points = trials
    outcomes = box.ask(drafts, points)
    for tries in range(REFINED + 1):
        rows = [*zip(drafts, points, outcomes, strict=True)]
        places = [
            i for i, row in enumerate(rows) if not _foretold(box, regions[row[0]], row[1], row[2])
        ]
        wrong = [rows[i] for i in places]
        if not wrong:
            return
        for place in places[:: len(places) // AGAIN + 1] if tries == 0 else ():
            again.compare(drafts, points, place, outcomes[place])
        draft, point, outcome = wrong[0]
        if tries == REFINED:
            raise HsdError(
                f"{box.adapter.name}: verify is not monotone: its own thresholds foretell another "
                f"outcome than {list(outcome)}; use --sampled; sent {box.args(draft, point)}"
            )
        for draft, point, _ in wrong:
            witnesses[draft].append(point)
        retaken = sorted({draft for draft, _, _ in wrong})
        for draft, of in zip(retaken, _together(box, retaken, taken_apart), strict=True):
            regions[draft] = of
        fresh = box.random_points(retaken * FRESH, generator)
        drafts = [*drafts, *fresh[0]]
        points = [*points, *fresh[1]]
        outcomes = [*outcomes, *box.ask(*fresh)]


def _foretold(box: BlackBox, regions: list[Region], point: Point, outcome: Outcome) -> bool:
    """Return whether the regions give this outcome at `point`, or it is too near to a threshold."""
    region = next((one for one in regions if one.box.holds(point, 2 * box.adapter.width)), None)
    noise = torch.ones((), dtype=torch.float32, device="cpu")
    if box.adapter.exponential:
        noise = torch.tensor(point[box.gamma :], dtype=torch.float64, device="cpu")
    if region is None or region.outcome(noise) == outcome:
        return True
    if not box.adapter.exponential or region.box.outcome[:-1] != outcome[:-1]:
        return False
    first, second = (region.law / noise).topk(2).values.tolist()
    return bool(second > first * (1 - 1e-5))  # too close to call in single precision


class Differs(HsdError):
    """Raised where equal numbers gave different tokens."""


class Unsteady(Differs):
    """Raised where they occasionally did."""


class Repeats:
    """Points that are evaluated again.

    Equal numbers must give equal tokens, whatever was called before.
    """

    def __init__(self, box: BlackBox, drafts: list[int], points: list[Point]) -> None:
        self.box = box
        self.drafts = drafts
        self.points = points
        self.generator = torch.Generator().manual_seed(2)
        self.first = box.ask(drafts, points)

    def check(self, times: int) -> None:
        """Evaluate all points `times` times, mostly shuffled.

        Raises HsdError, with the cause, if any differs.
        """
        for turn in range(times):
            fresh = turn == 0 and self.box.calls <= 2 * len(self.points)
            places = list(range(len(self.points)))
            if not fresh:
                places = torch.randperm(
                    len(places), generator=self.generator, device="cpu"
                ).tolist()
            # batches of other sizes than the first, of an odd number too
            cut = len(places) // 2 | 1
            parts = [part for part in (places[:1], places[1 : cut + 1], places[cut + 1 :]) if part]
            batch_of = {
                i: self._batch(part, place) for part in parts for place, i in enumerate(part)
            }
            outcomes = [one for part in parts for one in self.box.ask(*self._batch(part, 0)[:2])]
            other = [
                (i, one) for i, one in zip(places, outcomes, strict=True) if one != self.first[i]
            ]
            if other:
                i, outcome = other[0]
                seldom = len(other) < SELDOM * len(places)
                batches = ((self.drafts, self.points, i), batch_of[i])
                raise self._differs(self.first[i], outcome, batches, seldom)

    def _batch(self, part: list[int], place: int) -> Batch:
        return [self.drafts[i] for i in part], [self.points[i] for i in part], place

    def compare(self, drafts: list[int], points: list[Point], place: int, outcome: Outcome) -> None:
        """Evaluate point `place` of a batch alone.

        Raises HsdError, with the cause, unless it has `outcome` again.
        """
        again = self.box.ask([drafts[place]], [points[place]])[0]
        if again != outcome:
            alone = ([drafts[place]], [points[place]], 0)
            raise self._differs(again, outcome, (alone, (drafts, points, place)))

    def _differs(
        self, first: Outcome, then: Outcome, batches: tuple[Batch, Batch], seldom: bool = False
    ) -> HsdError:
        drafts, points, place = batches[0]
        calls = self.box.calls
        why = cause(self.box, first, batches, self.points[:OTHERS], seldom)
        error = Differs if why.endswith(OWN) else Unsteady
        return error(
            f"{self.box.adapter.name}: verify returns {list(first)} and, after {calls:,} calls on "
            f"these models, {list(then)} for the same numbers: {why}; "
            f"sent {self.box.args(drafts[place], points[place])}"
        )

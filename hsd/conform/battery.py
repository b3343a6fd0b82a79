"""The pairs of models on which a verifier is judged, each of which shows what no other shows."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from hsd.audit import TableModels, random_models
from hsd.conform.boxes import Outcome

MISSED = 1e-3
POINTS = 17_270
FEWER = 1_000
"""Random points on the first pair (`POINTS`), and on the others (`FEWER`).

A deviation on more than ln(1/`MISSED`) / n of all numbers of a pair, 4e-4 and 7e-3, is met with a
probability of at least 1 - `MISSED`.
"""
REPEATS = 700  # points that are evaluated repeatedly

Rows = tuple[Tensor, Tensor]
Shape = Callable[[Outcome, Tensor, Tensor], Rows]
"""From a text and two similar random rows (V,) to the weights of target and draft after it."""


@dataclass(frozen=True)
class BatteryCase:
    """A pair of models to judge on, and what it covers.

    sweep, points, repeats: see `hsd.conform.recover.recover`.
    """

    name: str
    covers: str
    models: TableModels
    sweep: bool = False
    points: int = FEWER
    repeats: int = 0


def battery(seed: int, exponential: bool) -> list[BatteryCase]:
    """Return pairs with faults in mind that one random pair would not show.

    exponential: as of the adapter.
    """
    wide = 200 if exponential else 1_000
    sizes = (
        (6, 1, "corrections of up to five tokens"),
        (6, 2, "the same after a kept token"),
        (5, 2, "each size of vocabulary up to 8, and larger ones"),
        *((n, 1, "the same") for n in (7, 8, 16)),
        (2, 6, "the fourth drafted position and later ones"),
        *((2, n, "each length of draft up to 12") for n in (4, 5)),
    )
    return [
        *(
            BatteryCase(f"{v} tokens, γ = {n}", covers, random_models(v, n, seed))
            for v, n, covers in sizes
        ),
        *(
            BatteryCase(f"2 tokens, γ = {n}", "the same", _grown(2, n, _open_at(0, 1, n - 1), seed))
            for n in range(7, 12)
        ),
        BatteryCase(
            "3 tokens, γ = 12",
            "long drafts, most of their tokens certain",
            _grown(3, 12, _seldom_open, seed),
        ),
        BatteryCase(
            "3 tokens, γ = 1, swept",
            "every number at 1,001 values",
            random_models(3, 1, seed),
            True,
        ),
        BatteryCase(
            "2 tokens, γ = 2, swept", "the same on every path", random_models(2, 2, seed), True
        ),
        BatteryCase(
            "2 tokens, γ = 3, swept",
            "the same, a third coin too",
            _grown(2, 3, _open_at(2), seed),
            True,
        ),
        *(shaped(name, seed) for name in SHAPES),
        *(
            BatteryCase(
                f"{v} tokens, γ = {n}",
                "more tokens and longer drafts together",
                _grown(v, n, _large(v, n, at_first, after_text), seed),
                points=FEWER // 4,
            )
            for v, n, at_first, after_text in LARGE
        ),
        *(
            BatteryCase(
                f"V {v:,}, γ {n}, place {place}, q {drafted:,}, p {written:,}",
                "",
                _grown(v, n, _dense(place, drafted, written), seed),
                points=FEWER // 4,
            )
            for v, n, place, drafted, written in dict.fromkeys(
                (min(v, wide), n, place, min(drafted, wide), min(written, wide))
                for v, n, place, drafted, written in DENSE
            )
        ),
    ]


def shaped(name: str, seed: int) -> BatteryCase:
    """Return the pair whose rows have the shape of this name in `SHAPES`."""
    covers, shape = SHAPES[name]
    return BatteryCase(name, covers, _grown(4, 2, shape, seed))


def _grown(vocab: int, gamma: int, shape: Shape, seed: int) -> TableModels:
    """Return a random pair with the rows of `shape`, after each text that its draft can write."""
    generator = torch.Generator().manual_seed(seed % 2**64)
    target = {}
    draft = {}
    texts: list[Outcome] = [()]
    for _ in range(gamma + 1):
        for x in texts:
            logits, noise = torch.randn(
                2, vocab, generator=generator, dtype=torch.float64, device="cpu"
            )
            p, q = shape(x, (1.5 * logits).softmax(-1), (1.5 * logits + noise).softmax(-1))
            target[x] = p / p.sum()
            draft[x] = q / q.sum()
        texts = [(*x, y) for x in texts for y in draft[x].nonzero().flatten().tolist()]
    return TableModels(target, draft, vocab, gamma)


def _one_hot(row: Tensor) -> Tensor:
    return torch.eye(len(row), dtype=row.dtype, device="cpu")[row.argmax()]


def _without(row: Tensor, *tokens: int) -> Tensor:
    return row.index_fill(0, torch.tensor(tokens, dtype=torch.int64, device="cpu") % len(row), 0.0)


def _tied(row: Tensor) -> Tensor:
    """Return `row` (V,) with its two likeliest tokens tied, and its two least likely ones.

    The result is not normalised.
    """
    order = row.argsort()
    tied_low = row.index_fill(0, order[:2], float(row[order[0]]))
    return tied_low.index_fill(0, order[-2:], float(row[order[-1]]))


def _nearly(row: Tensor) -> Tensor:
    return _one_hot(row) + 1e-4 * row


def _rare(row: Tensor) -> Tensor:
    """Return weights like `row` (V,): 1 for the first token, then 1e-3, 3e-5, 1e-6, …."""
    rare = (10.0 ** -(3 + 1.5 * k) for k in range(len(row) - 1))
    return torch.tensor([1.0, *rare], dtype=row.dtype, device="cpu")


def _seldom_open(text: Outcome, a: Tensor, b: Tensor) -> Rows:
    """Return target and draft after `text` from rows a, b.

    The draft is certain except at tokens 1, 6 and 12.
    """
    return a**0.3, _without(b, int(b.argmin())) if len(text) in (0, 5, 11) else _one_hot(a)


def _open_at(*places: int) -> Shape:
    """Return a shape whose draft has a choice at these places only.

    Its target is flat, so that many are kept.
    """
    return lambda text, a, b: (a**0.3, b if len(text) in places else _one_hot(a))


SHAPES: dict[str, tuple[str, Shape]] = {
    "zeros": (
        "tokens that the target, or the draft, never says",
        lambda x, a, b: (_without(a, 0), _without(b, -1)),
    ),
    "one-hot target": ("greedy targets", lambda x, a, b: (_one_hot(a), b)),
    "nearly certain": (
        "targets, and drafts, that are sure but for 1e-4",
        lambda x, a, b: (_nearly(a), _nearly(b)),
    ),
    "one-hot draft": (
        "greedy drafts, and drafts copied from the text",
        lambda x, a, b: (a, _one_hot(b)),
    ),
    "one-hot draft, rejected": (
        "copies that the target never says",
        lambda x, a, b: (_without(a, 0), _one_hot(1 - a)),
    ),
    "both one-hot": (
        "greedy decoding",
        lambda x, a, b: (_one_hot(a), _one_hot(a if sum(x) % 2 else b)),
    ),
    "one-hot bonus": (
        "a bonus that is certain",
        lambda x, a, b: (_one_hot(a) if len(x) == 2 else a, b),
    ),
    "ties": ("tokens that are equally likely", lambda x, a, b: (_tied(a), _tied(b))),
    "equal rows": ("nothing to correct", lambda x, a, b: (a, a)),
    "equal in places": (
        "nothing to correct after some texts",
        lambda x, a, b: (a, b if sum(x) % 2 else a),
    ),
    "nothing in common": (
        "a draft that is always rejected",
        lambda x, a, b: (_without(a, 0, 1), _without(b, 2, 3)),
    ),
    "rare for the target": ("tokens of 1e-3 to 1e-6", lambda x, a, b: (_rare(a), b)),
    "rare for the draft": ("tokens of 1e-3 to 1e-6", lambda x, a, b: (a, _rare(b).roll(len(x)))),
    "sharp target, flat draft": ("ratios far from 1", lambda x, a, b: (a**4, b**0.1)),
    "flat target, sharp draft": ("ratios far from 1", lambda x, a, b: (a**0.1, b**4)),
}
"""Pairs of 4 tokens and γ = 2: name, what it covers, and how its rows are made."""


LARGE = (
    (3, 6, 3, 3),
    (4, 3, 4, 4),
    (4, 6, 4, 4),
    (5, 4, 5, 5),
    (6, 3, 6, 6),
    (8, 3, 8, 8),
    (10, 5, 10, 6),
    (12, 8, 12, 4),
    (17, 2, 17, 17),
)
"""Pairs in which both V and γ are larger than in most others.

Each: V, γ, how many tokens the target may say at first, and how many after a text.
"""


def _large(vocab: int, gamma: int, at_first: int, after_text: int) -> Shape:
    """Return a shape whose draft chooses between two tokens at its first and last place only.

    at_first, after_text: how many tokens the target may write there. If vocab ≤ 5 the draft's row 0
    is random.
    """

    def shape(text: Outcome, a: Tensor, b: Tensor) -> Rows:
        places = a.topk(after_text if text else at_first).indices
        target = torch.zeros_like(a).scatter(0, places, a[places])
        draft = _one_hot(a)
        if len(text) in (0, gamma - 1):
            draft[places[0]] = a[places[0]] / 2
            draft[places[1]] = 1 - draft[places[0]]
        return target, b if not text and vocab <= 5 else draft

    return shape


DENSE = (
    (12, 1, 1, 12, 1),
    (12, 3, 4, 0, 12),
    (12, 4, 4, 1, 12),
    (12, 6, 4, 2, 12),
    (20, 2, 2, 20, 16),
    (20, 3, 2, 20, 1),
    (20, 4, 3, 20, 4),
    (20, 6, 3, 20, 1),
    (20, 6, 5, 20, 2),
    (24, 1, 1, 24, 2),
    (24, 1, 1, 24, 12),
    (24, 2, 1, 24, 1),
    (24, 2, 2, 12, 4),
    (24, 3, 3, 12, 12),
    (24, 4, 3, 24, 24),
    (24, 4, 4, 2, 12),
    (24, 4, 4, 20, 1),
    (24, 6, 2, 24, 1),
    (24, 6, 5, 1, 12),
    (40, 1, 1, 1, 30),
    (40, 1, 1, 40, 40),
    (40, 3, 1, 2, 30),
    (40, 4, 5, 0, 40),
    (40, 6, 4, 12, 30),
    (100, 1, 1, 100, 12),
    (100, 2, 1, 20, 2),
    (100, 3, 2, 60, 100),
    (100, 3, 4, 0, 30),
    (100, 4, 2, 12, 100),
    (100, 4, 3, 24, 1),
    (100, 4, 4, 1, 30),
    (100, 4, 4, 100, 4),
    (100, 4, 5, 0, 16),
    (100, 6, 3, 24, 2),
    (100, 6, 5, 2, 30),
    (100, 6, 5, 12, 12),
    (100, 6, 5, 100, 1),
    (200, 1, 1, 200, 200),
    (200, 2, 2, 200, 200),
    (200, 3, 3, 200, 200),
    (200, 12, 4, 24, 200),
    (1000, 1, 1, 2, 1000),
    (1000, 1, 2, 0, 1000),
    (1000, 2, 2, 100, 24),
    (1000, 3, 1, 40, 100),
    (1000, 4, 4, 2, 300),
    (1000, 6, 5, 1, 300),
    (1000, 12, 9, 24, 200),
)
"""Pairs with many tokens at one place, all other rows being certain or nearly so.

Each: V, γ, the place, how many tokens the draft may write there, and how many the target. After the
whole draft, at place γ+1, there is no row of the draft. Any two of the five meet in all ways that
`hsd.conform.coverage` tells apart, a test says.
"""
FEW = 2  # tokens of a dense row that the draft writes too often, if all its tokens are the target's
MOST_RAISED = 10  # tokens of a dense row that it writes too seldom, if it has more than the target


def _dense(place: int, drafted: int, written: int) -> Shape:
    """Return a shape whose draft chooses among `drafted` tokens at one place, else it is certain.

    written: how many tokens the target may write there; before and after it has two, elsewhere one.
    A rejected draft is followed by one of the tokens that the draft writes too seldom. Their number
    times that of the others is what it takes to judge the pair, so one of the two is limited.
    """
    wide = drafted > written
    few = min(FEW, (drafted + 1) // 2, written - wide)
    end = min(written, few + MOST_RAISED) if wide else drafted

    def shape(text: Outcome, a: Tensor, b: Tensor) -> Rows:
        order = a.argsort(descending=True)
        sure = _one_hot(a)
        apart = abs(len(text) + 1 - place)
        if apart:
            second = torch.zeros_like(a).index_fill(0, order[1], 0.25)
            return (sure + second if apart == 1 else sure), sure
        target = a.index_fill(0, order[written:], 0.0)
        target = target / target.sum()
        if not drafted:
            return target, sure
        seldom = torch.zeros_like(a).index_fill(0, order[few:end], 1.0)
        often = torch.zeros_like(a).index_fill(0, order[:drafted], 1.0) * (1 - seldom)
        draft = target * (seldom * b / (a + b) + often)
        left = often * b
        return target, draft + left / left.sum() * (1 - draft.sum())

    return shape

"""What a set of pairs of models covers: how many tokens the rows have, at which place, together.

A cell is (V, γ, place, q, p): after place - 1 drafted tokens the draft may write q tokens and the
target p. After the whole draft, at place γ+1, q is 0.
"""

import itertools
from collections.abc import Iterable

from hsd.audit import TableModels

Cell = tuple[int, int, int, int, int]
FACTORS = ("V", "γ", "place", "q", "p")
COUNTS = (0, 1, 2, 9, 24, 100)  # the least numbers of tokens of each band
PLACES = (1, 2, 3, 4, 5)  # the least places, and γ, of each band
BANDS = (COUNTS, PLACES, PLACES, COUNTS, COUNTS)
NAMED = 12  # how many combinations that were not judged are named


def cells(models: TableModels) -> set[Cell]:
    """Return the cells of all texts that the draft model can write."""
    gamma = models.gamma
    drafts = models.drafts()
    texts = {draft[:t] for draft in drafts for t in range(gamma + 1)}
    return {
        (
            models.vocab,
            gamma,
            len(x) + 1,
            int(models.draft[x].count_nonzero()) if len(x) < gamma else 0,
            int(models.target[x].count_nonzero()),
        )
        for x in texts
    }


def tokens_in_words(judged: set[Cell]) -> str:
    """Format V and the most tokens that q and p have at each place of one pair.

    The result is such as "V 8, q 2·1, p 8·2×2".
    """

    def most(place: int, part: int) -> int:
        return max((cell[part] for cell in judged if cell[2] == place), default=0)

    vocab, gamma, *_ = next(iter(judged))
    counts = {
        "q": [most(t, 3) for t in range(1, gamma + 1)],
        "p": [most(t, 4) for t in range(1, gamma + 2)],
    }
    rows = (f"{name} {_repeated(row)}" for name, row in counts.items())
    return ", ".join((f"V {vocab:,}", *rows))


def coverage_in_words(judged: Iterable[Cell]) -> list[str]:
    """Return sentences: what was judged together, and what was not."""
    known = _combinations(judged)
    possible = _combinations(_possible())
    missing = sorted(possible - known)
    bands = ", ".join(_band(COUNTS, band) for band in range(1, len(COUNTS)))
    sentence = (
        f"any two of V, γ, place and the tokens of q and of p, in bands of {bands}: "
        f"{len(possible & known)} of {len(possible)} combinations were judged together"
    )
    if 0 < len(missing) <= NAMED:
        sentence += f", but not {'; '.join(map(_named, missing))}"
    return [
        sentence,
        "beside each pair: the most tokens that q and p may write at each place; what is wrong at "
        "other numbers, or only where three of them meet as on no pair, escapes",
    ]


Combination = tuple[int, int, int, int]  # two factors, by number, and the band of each


def _combinations(judged: Iterable[Cell]) -> set[Combination]:
    banded = {tuple(map(_place, BANDS, cell)) for cell in judged}
    return {
        (i, k, cell[i], cell[k])
        for cell in banded
        for i, k in itertools.combinations(range(len(FACTORS)), 2)
    }


def _place(least: tuple[int, ...], number: int) -> int:
    """Return the number of the band that `number` is in."""
    return sum(number >= one for one in least) - 1


def _possible() -> Iterable[Cell]:
    """Return a cell of each combination of bands that a pair of models can have."""
    sizes = [*(high - 1 for high in COUNTS[3:]), COUNTS[-1]]
    for vocab, gamma in itertools.product(sizes, PLACES):
        for place, q, p in itertools.product((*PLACES, 6), COUNTS, COUNTS[1:]):
            if place <= gamma + 1 and max(p, q) <= vocab and (q == 0) == (place == gamma + 1):
                yield vocab, gamma, place, q, p


def _named(one: Combination) -> str:
    i, k, first, second = one
    return f"{_value(i, first)} with {_value(k, second)}"


def _value(factor: int, band: int) -> str:
    if FACTORS[factor] == "q" and band == 0:
        return "the token after the draft"
    return f"{FACTORS[factor]} {_band(BANDS[factor], band)}"


def _band(least: tuple[int, ...], band: int) -> str:
    low = least[band]
    if band == len(least) - 1:
        return f"{low}+"
    high = least[band + 1] - 1
    return str(low) if low == high else f"{low}–{high}"


def _repeated(row: list[int]) -> str:
    """Format numbers in order, runs of equal ones as "2×3"."""
    runs = [(number, len([*group])) for number, group in itertools.groupby(row)]
    return "·".join(f"{number:,}" + f"×{count}" * (count > 1) for number, count in runs)

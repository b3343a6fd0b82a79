"""Random programs on one text that several exits read: what tests of both kinds of models drive
them by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

from hsd.models.base import Session


def counts(layers: int, computed: int, heads: int) -> Counter[str]:
    """The work of an exit's session, see `hsd.trace.Work`."""
    return Counter(layers=layers, computed=computed, heads=heads)


def reads(
    sessions: Sequence[Session], chance: Random, times: int, most: int, vocab: int
) -> Iterator[tuple[int, list[int], list[int], list[int]]]:
    """Forget tokens at a random level three times in ten; else yield what the caller is to read
    there.

    That is the level's number, the text up to the last token to read, and how many tokens each
    level has read before and after. most: of new tokens at once.
    """
    text: list[int] = []
    lengths = [0] * len(sessions)
    for _ in range(times):
        level = chance.randrange(len(sessions))
        size = chance.randint(1, most)
        if chance.random() < 0.3:
            cut = chance.randint(0, lengths[level])
            sessions[level].crop(cut)
            lengths[level:] = [min(length, cut) for length in lengths[level:]]
            text = text[: lengths[0]]
            continue
        before = [*lengths]
        end = lengths[level] + size
        text += [chance.randrange(vocab) for _ in range(end - len(text))]
        lengths[: level + 1] = [max(length, end) for length in lengths[: level + 1]]
        yield level, text[:end], before, [*lengths]

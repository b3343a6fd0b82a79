"""Seeded training text: endless small stories, sums and Python functions, one string per document.

Everything comes from word lists and sentence grammars in this folder, so a model can be trained with no
outside data. The same domain and seed always give the same documents.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from hsd.errors import HsdError
from hsd.train.generate.functions import write_function
from hsd.train.generate.stories import write_story
from hsd.train.generate.sums import write_sum

WRITERS: dict[str, Callable[[random.Random], str]] = {
    "stories": write_story,
    "sums": write_sum,
    "functions": write_function,
}


def generate(domain: str, seed: int) -> Iterator[str]:
    """Yield documents of `domain` ("stories", "sums" or "functions") for ever, the same ones for one seed.

    Documents carry no end-of-text mark. Raises HsdError at the first `next` if the domain is unknown.
    """
    if domain not in WRITERS:
        raise HsdError(f"unknown text domain {domain!r}: choose one of {', '.join(WRITERS)}")
    rng = random.Random(f"{domain}-{seed}")
    write = WRITERS[domain]
    while True:
        yield write(rng)

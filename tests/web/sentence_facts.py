"""Facts at random for every sentence, of the types that `hsd/trace/facts.py` declares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from random import Random
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hsd.trace.sentences import SENTENCES
from hsd.trace.values import Token
from hsd.trace.verdict import Committed

COUNTS = [-2, 0, 1, 2, 9, 1234]
NUMBERS = [0.25, 1.0, 12.5]
PIECES = ["", " blue", "\n\t", "a“b”", "{kept}", "**", "||", "x" * 99, "\u202e\x07", "🏳️‍🌈"]
COMPARED: dict[str, list[str]] = {}
"""The values with which conditions compare a fact, by its name."""
for ways in SENTENCES.values():
    for fact, value in re.findall(r"(\w+) = ([^,]+)", ", ".join(ways)):
        COMPARED.setdefault(fact, ["HSD"]).append(value)
kinds = cache(get_type_hints)


def some(kind: Any, random: Random, name: str = "") -> Any:
    """A value of a type; name: of the fact that has it."""
    if is_dataclass(kind):
        return kind(**{name: some(inner, random, name) for name, inner in kinds(kind).items()})
    if kind in (Token, Committed):
        origin = {"origin": random.choice(["draft", "correction", "bonus"])}
        return kind(token=7, piece=random.choice(PIECES), **(origin if kind is Committed else {}))
    if get_origin(kind) is list:
        return [some(get_args(kind)[0], random) for _ in range(random.choice([0, 0, 1, 2]))]
    if get_origin(kind) is Literal:
        return random.choice(get_args(kind))
    if get_args(kind):
        return some(random.choice(get_args(kind)), random, name)
    if kind is NoneType:
        return None
    texts = ["", "0.25", *COMPARED.get(name, ["HSD"])]
    return random.choice({bool: [True, False], int: COUNTS, float: NUMBERS, str: texts}[kind])


def scopes(name: str, records: tuple[type, ...], random: Random) -> Iterator[dict[str, Any]]:
    """Facts for a sentence without end: those that it names differ each time."""
    fields = {key: kind for record in records for key, kind in kinds(record).items()}
    named = set(re.findall(r"\w+", " ".join(map(" ".join, SENTENCES[name].items()))))
    scope = {key: some(kind, random, key) for key, kind in fields.items()}
    while True:
        yield scope
        scope = scope | {
            key: some(kind, random, key) for key, kind in fields.items() if key in named
        }

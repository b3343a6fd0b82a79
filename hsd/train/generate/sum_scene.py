"""The people, things and numbers of a word problem, and the sentences that many kinds share."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from hsd.train.generate.words import BOYS, GIRLS

_THINGS = [
    "apples",
    "pears",
    "plums",
    "cherries",
    "oranges",
    "carrots",
    "cookies",
    "cupcakes",
    "muffins",
    "candies",
    "lollipops",
    "eggs",
    "shells",
    "stones",
    "coins",
    "marbles",
    "stickers",
    "stamps",
    "books",
    "pencils",
    "crayons",
    "cards",
    "balls",
    "blocks",
    "buttons",
    "beads",
    "flowers",
    "balloons",
    "ribbons",
    "feathers",
    "leaves",
    "acorns",
    "nuts",
    "toys",
    "cars",
    "puzzles",
    "hats",
    "socks",
    "cups",
    "spoons",
    "plates",
    "kites",
    "photos",
    "badges",
]
_BOXES = ["boxes", "bags", "baskets", "jars", "bowls", "buckets", "trays", "packs"]
_PLACES = [
    "at the park",
    "in the garden",
    "at school",
    "at home",
    "on the beach",
    "at the farm",
    "in the attic",
    "at the shop",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_SYMBOLS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b,
}


@dataclass(frozen=True)
class Problem:
    """A question, the lines of its answer, and the number asked for."""

    question: str
    lines: list[str]
    result: int


class Scene:
    """The people, things and numbers of one problem."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        sex = rng.random() < 0.5
        self.a = rng.choice(GIRLS if sex else BOYS)
        self.he, self.his, self.him = ("she", "her", "her") if sex else ("he", "his", "him")
        self.He = self.he.capitalize()
        self.b = self.c = self.a
        while self.b == self.a:
            self.b = rng.choice(GIRLS + BOYS)
        while self.c in (self.a, self.b):
            self.c = rng.choice(GIRLS + BOYS)
        self.thing, self.other = rng.sample(_THINGS, 2)
        self.box = rng.choice(_BOXES)
        self.place = rng.choice(_PLACES)
        self.day, self.day2 = rng.sample(_DAYS, 2)

    def n(self, low: int, high: int) -> int:
        """A number from low to high, small ones more often."""
        return min(self.rng.randint(low, high), self.rng.randint(low, high + (high - low) // 2))

    def one(self, *options: str) -> str:
        """One of the options."""
        return self.rng.choice(options)


def step(a: int, symbol: str, b: int) -> tuple[str, int]:
    """Return ("3 + 4 = 7", 7); division must come out even."""
    result = _SYMBOLS[symbol](a, b)
    return f"{a} {symbol} {b} = {result}", result


def count(number: int, things: str) -> str:
    """Return "1 apple" or "3 apples"."""
    return f"{number} {singular(things) if number == 1 else things}"


def singular(things: str) -> str:
    """Return the word for one of the things."""
    irregular = {
        "leaves": "leaf",
        "cherries": "cherry",
        "candies": "candy",
        "boxes": "box",
        "cookies": "cookie",
    }
    return irregular.get(things, things[:-1])


def ask_total(s: Scene, things: str) -> str:
    """Ask how many there are in all."""
    return s.one(
        f"How many {things} does {s.a} have now?",
        f"How many {things} does {s.he} have in all?",
        f"How many {things} does {s.a} have altogether?",
        f"What is the number of {things} {s.a} has now?",
    )


def ask_left(s: Scene, things: str) -> str:
    """Ask how many are left."""
    return s.one(
        f"How many {things} are left?",
        f"How many {things} does {s.a} have left?",
        f"How many {things} does {s.he} still have?",
        f"How many {things} remain?",
    )


def has(s: Scene, number: int, things: str) -> str:
    """Say how many the first person has."""
    return s.one(
        f"{s.a} has {count(number, things)}.",
        f"{s.a} has {count(number, things)} {s.place}.",
        f"There are {count(number, things)} in {s.a}'s bag." if number > 1 else f"{s.a} has {count(number, things)}.",
        f"On {s.day}, {s.a} had {count(number, things)}.",
        f"{s.a} found {count(number, things)} {s.place}.",
    )


def so_now(s: Scene, equation: str, things: str) -> str:
    """Say what the first person has now, as an equation."""
    return s.one(
        f"{s.a} has {equation} {things}.",
        f"{s.a} now has {equation} {things}.",
        f"So {s.a} has {equation} {things}.",
        f"Now {s.he} has {equation} {things}.",
        f"That makes {equation} {things}.",
    )

"""Stories in the plain prose of a picture book: a cast, a random plot, and a grammar for each sentence.

A plot is a list of lines. A line starting with `?` is sometimes left out, neighbouring lines starting
with `~` come in random order, and a blank line may become a paragraph break.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from hsd.train.generate.grammar import Writer, tidy
from hsd.train.generate.phrases import PHRASES
from hsd.train.generate.plots import PLOTS
from hsd.train.generate.words import BOYS, GIRLS, PET_BOYS, PET_GIRLS, WORDS

RULES = {**WORDS, **PHRASES}
FEWEST_WORDS, MOST_WORDS = 80, 220
_PRONOUNS = {"girl": ("she", "her", "her", "herself", "hers"), "boy": ("he", "him", "his", "himself", "his")}
_GROWN = {"mom": "girl", "dad": "boy", "grandma": "girl", "grandpa": "boy"}


@dataclass(frozen=True)
class Story:
    """A story's text and the names of everyone in it."""

    text: str
    cast: tuple[str, ...]


def write_story(rng: random.Random) -> str:
    """Return one story of 80 to 220 words."""
    return tell(rng).text


def tell(rng: random.Random) -> Story:
    """Return one story with its cast; plots and casts are drawn again until the length fits."""
    while True:
        kinds, lines = PLOTS[int(rng.random() * len(PLOTS))]
        kind = kinds[int(rng.random() * len(kinds))]
        memory = _cast(rng, kind)
        text = _tell_lines(Writer(RULES, rng, kind, memory), lines)
        if FEWEST_WORDS <= text.count(" ") + 1 <= MOST_WORDS:
            names = tuple(name for name in (memory["A"], memory["B"]) if re.search(rf"\b{name}\b", text))
            return Story(text, names)


def _cast(rng: random.Random, kind: str) -> dict[str, str]:
    """Draw hero, friend and grown-up, and return what the grammar remembers of them."""
    memory: dict[str, str] = {}
    for role, prefix in (("A", ""), ("B", "b")):
        animal = kind == "animal" or (role == "B" and rng.random() < 0.12)
        sex = "girl" if rng.random() < 0.5 else "boy"
        names = {"girl": PET_GIRLS, "boy": PET_BOYS} if animal else {"girl": GIRLS, "boy": BOYS}
        name = rng.choice(names[sex])
        while name in memory.values():
            name = rng.choice(names[sex])
        memory[role] = name
        memory[prefix + "child"] = (
            rng.choice([w for w in WORDS["animal"] if w != memory.get("child")]) if animal else sex
        )
        memory[prefix + "sib"] = "friend" if animal else {"girl": "sister", "boy": "brother"}[sex]
        _remember_pronouns(memory, prefix, sex)
    memory["grown"] = rng.choice(list(_GROWN))
    memory["Grown"] = memory["grown"].capitalize()
    _remember_pronouns(memory, "g", _GROWN[memory["grown"]])
    return memory


def _remember_pronouns(memory: dict[str, str], prefix: str, sex: str) -> None:
    for key, pronoun in zip(("he", "him", "his", "himself", "hers"), _PRONOUNS[sex], strict=True):
        memory[prefix + key] = pronoun
        memory[(prefix + key).capitalize()] = pronoun.capitalize()


def _tell_lines(writer: Writer, lines: tuple[str, ...]) -> str:
    rng = writer.rng
    break_chance = rng.choice((0.0, 0.5, 1.0))
    parts: list[str] = []
    for line in _arrange(lines, rng):
        if not line:
            if parts and rng.random() < break_chance:
                parts.append("\n\n")
            continue
        sentence = writer.expand(line).strip()
        if sentence:
            start = 1 if sentence[0] == '"' else 0
            parts.append(sentence[:start] + sentence[start].upper() + sentence[start + 1 :])
    return tidy(" ".join(parts).replace(" \n\n ", "\n\n")).strip()


def _arrange(lines: tuple[str, ...], rng: random.Random) -> list[str]:
    """Leave out some optional lines and shuffle each run of lines that may come in any order."""
    arranged: list[str] = []
    loose: list[str] = []
    for line in (*lines, ""):
        if line.startswith("?"):
            if rng.random() < 0.5:
                continue
            line = line[1:]
        if line.startswith("~"):
            loose.append(line[1:])
            continue
        rng.shuffle(loose)
        arranged += loose
        loose = []
        arranged.append(line)
    return arranged

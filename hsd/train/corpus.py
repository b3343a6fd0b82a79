"""Training text by domain: what is read from a data folder, cleaned, and kept apart for validation.

Three domains: ``stories``, ``sums`` (word problems) and ``functions`` (Python source). Real text comes from a folder
(``--data``, see below); this project's own generator supplies the rest, so training also works without a folder.
The folder holds ``gsm8k/train.jsonl`` (repository openai/grade-school-math), some thousand TinyStories in
``tinystories_5k/tinystories_lowercase.txt`` and ``tinystories_cased/tiny_stories.txt`` (the second with its capitals
kept), and ``thealgorithms_python/functions.jsonl`` (documented functions of TheAlgorithms/Python, one object with
``source`` a line). Measuring on unseen text also reads ``gsm8k/test.jsonl`` and ``humaneval/HumanEval.jsonl.gz``
(openai/human-eval).

This module knows files and text; it knows neither tokens nor models.
"""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from hsd.errors import HsdError
from hsd.train.truecase import Truecaser

DOMAINS = ("stories", "sums", "functions")
HELD_OUT_ONE_IN = 10
GENERATED_HELD_OUT_SEED = 900_001  # far from the seeds that training text is generated with

_OPENINGS = re.compile(r"once upon a time|once there|once,|there once|there was once", re.IGNORECASE)
_LONG_ENOUGH_TO_BE_A_STORY = 450  # characters
_PLAIN = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "—": "-", "–": "-", "…": "...", "\xa0": " "})


@dataclass(frozen=True)
class Source:
    """Documents of one domain and one origin (``real`` or ``generated``), with the held-out tenth set apart."""

    domain: str
    origin: str
    train: tuple[str, ...]
    held_out: tuple[str, ...]

    @property
    def name(self) -> str:
        """For example ``stories/real``."""
        return f"{self.domain}/{self.origin}"


def repair_quotes(text: str) -> str:
    """Undo text that was encoded twice (``â€œ`` for ``“``) and write quotes, dashes and dots in ASCII."""

    def undo(match: re.Match[str]) -> str:
        piece = match.group().replace("ã", "Ã")  # lower-casing the damaged text lost this capital
        try:
            return piece.encode("cp1252").decode("utf-8")
        except UnicodeError:
            return '"' if piece == "â€" else piece

    text = re.sub(r"[ÂÃã][^\x00-\x7f]|â€[^\x00-\x7f]?|â[^\x00-\x7f]{2}", undo, text)
    return text.translate(_PLAIN)


def split_stories(text: str) -> list[str]:
    """Stories of a file that separates both stories and some paragraphs by one newline.

    A chunk opens a new story if it starts like one or is as long as one; any other chunk is a further paragraph.
    """
    stories: list[str] = []
    for chunk in re.split(r"(?<!\n)\n(?!\n)", text):
        chunk = chunk.strip()
        if not chunk:
            continue
        if not stories or _OPENINGS.match(chunk) or len(chunk) >= _LONG_ENOUGH_TO_BE_A_STORY:
            stories.append(chunk)
        else:
            stories[-1] += "\n\n" + chunk
    return stories


def is_held_out(document: str) -> bool:
    """True for about one document in ten, decided by its content, so that a copy falls on the same side."""
    return zlib.crc32(document.encode()) % HELD_OUT_ONE_IN == 0


def make_source(domain: str, origin: str, documents: list[str]) -> Source:
    """Split ``documents`` into training and held-out text."""
    train = tuple(d for d in documents if not is_held_out(d))
    return Source(domain, origin, train, tuple(d for d in documents if is_held_out(d)))


def read_real(folder: Path) -> list[Source]:
    """The three real sources in ``folder``. Raises HsdError naming the first file that is missing."""
    readers = {"stories": _read_stories, "sums": _read_sums, "functions": _read_functions}
    try:
        return [make_source(domain, "real", readers[domain](folder)) for domain in DOMAINS]
    except FileNotFoundError as error:
        raise HsdError(f"training text not found: {error.filename}; check --data or leave it out") from None


def read_generated(domain: str, characters: int, seed: int) -> Source:
    """About ``characters`` of this project's generated text for training, and a small held-out set of another seed."""
    train = _take(domain, seed, characters)
    return Source(domain, "generated", train, _take(domain, GENERATED_HELD_OUT_SEED, characters // HELD_OUT_ONE_IN))


def _take(domain: str, seed: int, characters: int) -> tuple[str, ...]:
    from hsd.train.generate import generate

    documents: list[str] = []
    for document in generate(domain, seed):
        documents.append(document)
        characters -= len(document)
        if characters <= 0:
            break
    return tuple(documents)


def _read_stories(folder: Path) -> list[str]:
    cased = split_stories(repair_quotes((folder / "tinystories_cased" / "tiny_stories.txt").read_text("utf-8")))
    lower = split_stories(repair_quotes((folder / "tinystories_5k" / "tinystories_lowercase.txt").read_text("utf-8")))
    truecaser = Truecaser.learn(cased)
    known = {_letters(story) for story in cased}
    stories = cased + [truecaser.apply(story) for story in lower if _letters(story) not in known]
    return [story for story in stories if story.isascii() and len(story) > 100]


def _letters(story: str) -> str:
    return re.sub(r"[^a-z]", "", story.lower())[:120]


def _read_sums(folder: Path) -> list[str]:
    lines = (folder / "gsm8k" / "train.jsonl").read_text("utf-8").splitlines()
    return [format_problem(**json.loads(line)) for line in lines]


def format_problem(question: str, answer: str) -> str:
    """``Question: …\\nAnswer: …\\n#### N`` without the calculator annotations ``<<…>>``."""
    return f"Question: {question.strip()}\nAnswer: {re.sub(r'<<.*?>>', '', answer).strip()}".translate(_PLAIN)


def _read_functions(folder: Path) -> list[str]:
    lines = (folder / "thealgorithms_python" / "functions.jsonl").read_text("utf-8").splitlines()
    return [without_doctests(json.loads(line)["source"]).strip() for line in lines]


def without_doctests(source: str) -> str:
    """Drop interpreter examples from docstrings: their printed values cannot be predicted by a small model."""
    kept: list[str] = []
    in_example = False
    for line in source.splitlines():
        stripped = line.strip()
        if stripped.startswith(">>>"):
            in_example = True
        elif in_example and (not stripped or '"""' in stripped or "'''" in stripped):
            in_example = False
        if not in_example and (stripped or (kept and kept[-1].strip())):
            kept.append(line.rstrip())
    return re.sub(r"\n\n(?=\s*\"\"\")", "\n", "\n".join(kept))

"""Training text: read from a folder of public data, cleaned, and a tenth of it held out.

    stories    tinystories_cased/tiny_stories.txt
               TinyStories (Eldan and Li; CDLA-Sharing-1.0)
               tinystories_5k/tinystories_lowercase.txt
               more of them in lower case, if there; capitals are restored
    sums       gsm8k/train.jsonl
               openai/grade-school-math, training part (MIT)
    functions  thealgorithms_python/functions.jsonl
               documented functions of TheAlgorithms/Python (MIT), one object with the field
               `source` per line

Stories are separated by `<|endoftext|>`, as they are published, or by newlines. This module knows
files and text; it knows neither tokens nor models.
"""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from hsd.errors import HsdError
from tiny.truecase import Truecaser

HELD_OUT_ONE_IN = 10

_SEPARATOR = "<|endoftext|>"
_OPENINGS = re.compile(
    r"once upon a time|once there|once,|there once|there was once", re.IGNORECASE
)
_LONG_ENOUGH_TO_BE_A_STORY = 450  # characters
_PLAIN = str.maketrans(
    {"“": '"', "”": '"', "‘": "'", "’": "'", "—": "-", "–": "-", "…": "...", "\xa0": " "}
)


@dataclass(frozen=True)
class Texts:
    """Documents of one domain; which of them are held out depends on each document alone."""

    train: tuple[str, ...]
    held_out: tuple[str, ...]

    @classmethod
    def split(cls, documents: list[str]) -> Texts:
        """Hold out about one document in ten."""
        out = {d for d in documents if zlib.crc32(d.encode()) % HELD_OUT_ONE_IN == 0}
        return cls(
            tuple(d for d in documents if d not in out), tuple(d for d in documents if d in out)
        )


def read(folder: Path) -> dict[str, Texts]:
    """Return the text of each domain in ``folder``. Raises HsdError, naming a missing file."""
    try:
        documents = {
            "stories": _stories(folder),
            "sums": _sums(folder),
            "functions": _functions(folder),
        }
    except FileNotFoundError as error:
        raise HsdError(
            f"no file {error.filename}: give --data a folder as tiny/corpus.py describes"
        ) from None
    return {domain: Texts.split(found) for domain, found in documents.items()}


def opening(domain: str, document: str) -> str:
    """What a model is given to go on from: two sentences of a story, a question, a function's head
    and docstring.
    """
    if domain == "sums":
        return document.split("\nAnswer:")[0] + "\nAnswer:"
    if domain == "functions":
        return '"""'.join(document.split('"""')[:2]) + '"""'
    return ". ".join(document.replace("\n", " ").split(". ")[:2]) + "."


def _stories(folder: Path) -> list[str]:
    cased = split_stories(
        repair_quotes((folder / "tinystories_cased" / "tiny_stories.txt").read_text("utf-8"))
    )
    more = folder / "tinystories_5k" / "tinystories_lowercase.txt"
    lower = split_stories(repair_quotes(more.read_text("utf-8"))) if more.exists() else []
    truecaser = Truecaser.learn(cased)
    known = {_letters(story) for story in cased}
    stories = cased + [truecaser.apply(story) for story in lower if _letters(story) not in known]
    return [story for story in stories if story.isascii() and len(story) > 100]


def _letters(story: str) -> str:
    return re.sub(r"[^a-z]", "", story.lower())[:120]


def split_stories(text: str) -> list[str]:
    """The stories of a file. Where one newline separates both stories and some paragraphs, a chunk
    opens a new story if it starts like one or is as long as one; any other chunk is a further
    paragraph.
    """
    if _SEPARATOR in text:
        return [story.strip() for story in text.split(_SEPARATOR) if story.strip()]
    stories: list[str] = []
    for chunk in filter(None, (part.strip() for part in re.split(r"(?<!\n)\n(?!\n)", text))):
        if not stories or _OPENINGS.match(chunk) or len(chunk) >= _LONG_ENOUGH_TO_BE_A_STORY:
            stories.append(chunk)
        else:
            stories[-1] += "\n\n" + chunk
    return stories


def repair_quotes(text: str) -> str:
    """Undo text that was encoded twice (``â€œ`` for ``“``) and write quotes, dashes and dots in
    ASCII.
    """

    def undo(match: re.Match[str]) -> str:
        piece = match.group().replace("ã", "Ã")  # lower-casing the damaged text lost this capital
        try:
            return piece.encode("cp1252").decode("utf-8")
        except UnicodeError:
            return '"' if piece == "â€" else piece

    text = re.sub(r"[ÂÃã][^\x00-\x7f]|â€[^\x00-\x7f]?|â[^\x00-\x7f]{2}", undo, text)
    return text.translate(_PLAIN)


def _sums(folder: Path) -> list[str]:
    lines = (folder / "gsm8k" / "train.jsonl").read_text("utf-8").splitlines()
    return [format_problem(**json.loads(line)) for line in lines]


def format_problem(question: str, answer: str) -> str:
    """``Question: …\\nAnswer: …\\n#### N`` without the calculator annotations ``<<…>>``."""
    return (
        f"Question: {question.strip()}\nAnswer: {re.sub(r'<<.*?>>', '', answer).strip()}".translate(
            _PLAIN
        )
    )


def _functions(folder: Path) -> list[str]:
    lines = (folder / "thealgorithms_python" / "functions.jsonl").read_text("utf-8").splitlines()
    return [without_doctests(json.loads(line)["source"]).strip() for line in lines]


def without_doctests(source: str) -> str:
    """Drop interpreter examples from docstrings: their printed values cannot be predicted by a
    small model.
    """
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

"""What the scripts share that write parts of the pages in assets/docs: blocks between marks, and
tables.

A page is edited by hand, except for blocks that a script makes from results:

    <!-- made: NAME -->
    …
    <!-- end -->
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill

from hsd.writing import write_file

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "assets" / "docs"
BLOCK = re.compile(r"(?<=<!-- made: )(\S+)( -->\n)(.*?)(?=\n<!-- end -->)", re.DOTALL)
WHOLE_WORDS = {"break_long_words": False, "break_on_hyphens": False}


def blocks(page: Path) -> dict[str, str]:
    """Return the blocks of a page by their names, as they stand there."""
    return {name: text for name, _, text in BLOCK.findall(page.read_text(encoding="utf-8"))}


def write(page: Path, made: Mapping[str, str]) -> None:
    """Put these blocks into a page and print where. Raises ValueError if the page has no block of a
    name.
    """
    if unknown := set(made) - set(blocks(page)):
        raise ValueError(
            f"{page.name} has no block {min(unknown)}: mark its place with <!-- made: "
            f"{min(unknown)} -->"
        )
    text = page.read_text(encoding="utf-8")
    new = BLOCK.sub(lambda block: f"{block[1]}{block[2]}{made.get(block[1], block[3])}", text)
    write_file(page, new)
    print(f"written: {page}")


def prose(text: str) -> str:
    """Return a block whose paragraphs have lines of at most 120 characters; tables, lists and code
    stay as they are.
    """
    as_they_are = re.compile(r"\||-|#|```| |\d+\. ")
    parts = re.split(r"\n\n(?![^`]*\n```(?:\n|$))", text)  # not at an empty line inside of code
    return "\n\n".join(
        part if as_they_are.match(part) else fill(part, 120, **WHOLE_WORDS) for part in parts
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *rows])

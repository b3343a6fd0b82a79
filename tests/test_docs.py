"""What the documents say holds: links lead somewhere, commands are understood, numbers stand where
they come from.
"""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest
from loops import for_each
from pages import BLOCK, blocks

from hsd.cli import build_parser

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "assets/docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}
LINKS = {
    page: re.findall(r"\[[^\]]*\]\((?!http)([^)\s]+)\)", text) for page, text in TEXTS.items()
}  # to this repository


def slug(heading: str) -> str:
    """The name by which a link finds a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def commands(text: str) -> list[str]:
    """Every `python -m hsd …` that stands as a line of its own, without its comment and what may be
    left out.
    """
    found = re.findall(
        r"^ {4}.*?python -m hsd (.*?)(?: {2,}#.*)?$", text.replace("\\\n", " "), re.M
    )
    return [re.sub(r"\[[^\]]*\]", "", line) for line in found]


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if LINKS[page]],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_links_lead_somewhere(page: Path):
    for link in LINKS[page]:
        name, _, part = link.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), link
        if part:
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.M)
            assert part in map(slug, headings), link


@for_each(
    "line",
    [
        line
        for text in TEXTS.values()
        for line in commands(text)
        if "…" not in line and "|" not in line
    ],
)
def test_commands_are_understood(line: str):
    words = shlex.split(line.split(" && ")[0].split(" > ")[0])
    assert build_parser(words[:1]).parse_args(words).command


def test_code_in_python_on_a_page_is_python():
    for text in TEXTS.values():
        for code in re.findall(r"```python\n(.*?)```", text, re.S):
            ast.parse(code)


def test_the_readme_is_two_screens_long_and_leads_to_the_idea_in_code():
    readme = TEXTS[ROOT / "README.md"]
    assert readme.count("\n") <= 130
    assert "](examples/minimal.py)" in readme


def test_readme_leads_to_every_page():
    linked = set(re.findall(r"\]\(assets/docs/(\w+\.md)[)#]", TEXTS[ROOT / "README.md"]))
    assert linked == {page.name for page in DOCS.glob("*.md")}


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_a_page_begins_with_whom_it_is_for_and_its_three_most_important_sentences(page: Path):
    beginning = TEXTS[page].split("\n## ")[0]
    assert re.search(r"^# .*\n\nFor ", beginning)
    assert re.findall(r"^(\d)\. ", beginning, re.M)[:3] == ["1", "2", "3"]


def test_numbers_that_are_said_in_prose_stand_where_they_were_computed():
    made = " ".join(
        text
        for name in ("science", "measured", "verify")
        for text in blocks(DOCS / f"{name}.md").values()
    )
    prose = BLOCK.sub("", TEXTS[DOCS / "science.md"])
    numbers = set(
        re.findall(
            r"(?<![\d./])\d+\.\d{2,}(?![\d.]*\))", re.sub(r"(arXiv |\[)[\d.]+|python .*", "", prose)
        )
    )
    assert numbers - {"3.40", "3.55"}, "the paper's own"
    assert not [number for number in numbers - {"3.40", "3.55"} if number not in made]

"""What the documents say holds: links lead somewhere, commands are understood, numbers stand where they come from."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from hsd.cli import build_parser

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "assets/docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}
SOURCES_OF_TRUTH = ("rules", "random_numbers", "trees", "measured", "traces")


def slug(heading: str) -> str:
    """The name by which a link finds a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def commands(text: str) -> list[str]:
    """Every `python -m hsd …` that stands as a line of its own, without its comment and what may be left out."""
    found = re.findall(r"^ {4}.*?python -m hsd (.*?)(?: {2,}#.*)?$", text.replace("\\\n", " "), re.M)
    return [re.sub(r"\[[^\]]*\]", "", line) for line in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path):
    for _, link in re.findall(r"\[([^\]]*)\]\(([^)\s]+)\)", TEXTS[page]):
        if link.startswith(("http", "#")):
            continue
        name, _, part = link.partition("#")
        file = (page.parent / name).resolve()
        assert file.exists(), link
        if part:
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.M)
            assert part in map(slug, headings), link


@pytest.mark.parametrize(
    "line", [line for text in TEXTS.values() for line in commands(text) if "…" not in line and "|" not in line]
)
def test_commands_are_understood(line: str):
    words = shlex.split(line.split(" && ")[0].split(" > ")[0])
    assert build_parser(words[:1]).parse_args(words).command


def test_the_readme_is_a_page_whose_first_code_is_the_heart_of_the_idea():
    readme = TEXTS[ROOT / "README.md"]
    assert readme.count("\n") <= 150
    heart = re.findall(r"```python\n(.*?)```", readme, re.S)[0]
    minimal = (ROOT / "examples/minimal.py").read_text(encoding="utf-8")
    assert heart.startswith("def hsd(")
    assert heart in minimal
    assert f"{minimal.count(chr(10))} lines" in readme


def test_the_index_names_every_page():
    linked = set(re.findall(r"\]\((\w+\.md)\)", TEXTS[DOCS / "README.md"]))
    assert linked == {page.name for page in DOCS.glob("*.md")} - {"README.md"}


def test_the_numbers_of_the_two_pages_stand_where_they_were_computed():
    words = TEXTS[DOCS / "truth.md"]
    numbers = set(re.findall(r"(?<![\d./])\d+\.\d{2,}(?![\d.]*\))", re.sub(r"arXiv [\d.]+|python .*", "", words)))
    known = " ".join(TEXTS[DOCS / f"{name}.md"] for name in SOURCES_OF_TRUTH)
    assert len(numbers) > 15
    assert not [number for number in numbers if number not in known]

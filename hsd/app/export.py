"""The page as a folder of files, which needs no server.

It has what is recorded, with every screen that can show it.
"""

import re
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from hsd.app import browser, element
from hsd.app.presets import SYSTEM_WORDS
from hsd.app.site import site
from hsd.errors import HsdError
from hsd.rules import RULES, TREE_RULES, Rule, TreeRule
from hsd.space import Space, front_matter

TEMPLATE = Path(__file__).with_suffix(".md")
MARK = '<meta name="generator" content="hsd '
OWN = ("web", "data", "model")
"""Folders of an export, which are removed once another one is whole."""


def write(folder: Path, space: Space, address: str = "", weights: bool = False) -> list[Path]:
    """Write the export into `folder`, which is new, empty, or an older export. Returns its files.

    address: its future URL, for the preview card of a shared link, which has no picture without it.
    weights: include those of the model that decodes in the page, fetched if missing.
    Raises HsdError, one line, for any other folder or address, and where it cannot be written.
    """
    fresh = not folder.exists()
    try:
        if address and not re.fullmatch(r"https?://[^\s/?#]+(/[^\s?#]*)?", address):
            raise HsdError(
                f"{address!r} is no address of a page: give one like https://example.org/page/"
            )
        _check(folder)
        folder.mkdir(parents=True, exist_ok=True)
        place = f"{address.rstrip('/')}/" if address else ""
        answers = "browser" if browser.spec(space) else "files"
        parts = site(space, answers, address=place, weights=weights)
        contents = {
            "README.md": readme(space).encode(),
            element.SCRIPT: element.element().encode(),
            **{path: content() for path, content in parts.items()},
        }
        with TemporaryDirectory(prefix=".hsd-", dir=folder) as work:
            for name, content in contents.items():
                path = Path(work, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            for own in OWN:
                shutil.rmtree(folder / own, ignore_errors=True)
            for path in Path(work).iterdir():
                path.replace(folder / path.name)
    except OSError as error:
        raise HsdError(f"cannot write {folder}: {error.strerror}: name another folder") from None
    finally:
        if fresh:
            with suppress(OSError):  # there is something in it
                folder.rmdir()
    return sorted(folder / name for name in contents)


def _check(folder: Path) -> None:
    """Raise HsdError for a folder that has anything in it but an older export."""
    index = folder / "index.html"
    if folder.is_file():
        raise HsdError(f"{folder} is a file: name a folder")
    full = folder.is_dir() and any(path.name != ".git" for path in folder.iterdir())
    if full and not (
        index.is_file() and MARK in index.read_text(encoding="utf-8", errors="replace")
    ):
        raise HsdError(f"{folder} is not empty, and no export: name another folder")


def readme(space: Space) -> str:
    """Return the README of the folder: what it is, how to get it live, and the papers.

    A Space reads its head.
    """
    rules: list[Rule | TreeRule] = [
        *RULES.values(),
        *(rule for name, rule in TREE_RULES.items() if name not in RULES),
    ]
    sources = [(rule.title, rule.citation) for rule in rules]
    sources += [(system["title"], system["source"]) for system in SYSTEM_WORDS.values()]
    papers = "\n".join(
        f"- {title}: {linked(source)}" for title, source in sources if "arXiv" in source
    )
    words = {"title": space.title, "description": space.short_description, "papers": papers}
    template = TEMPLATE.read_text(encoding="utf-8")
    return template.format(front_matter=front_matter(space, "static"), **words)


def linked(source: str) -> str:
    """Return a source with its papers as links: "arXiv 2211.17192" → a link to the paper."""
    return re.sub(r"(?:arXiv )?(\d{4}\.\d{5})", r"[arXiv \1](https://arxiv.org/abs/\1)", source)

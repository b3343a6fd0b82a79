"""What the scripts share that write a page of assets/docs: its template with facts filled in, and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[2] / "assets" / "docs"


def filled(name: str, facts: Mapping[str, Any]) -> str:
    """The text of NAME_page.template.md with these facts."""
    return Path(__file__).with_name(f"{name}_page.template.md").read_text(encoding="utf-8").format_map(facts)


def write(page: Path, text: str) -> None:
    """Write a page, and say where."""
    page.write_text(text, encoding="utf-8")
    print(f"written: {page}")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *rows])

"""How large each room is: CONTRIBUTING.md has a budget of lines for every one, so that growth is a decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "hsd"
COUNTED = (".py", ".c", ".h", ".js", ".html", ".css")


def budgets() -> Iterator[tuple[tuple[str, ...], int]]:
    """The rows of the table: rooms, and the lines that they may have together."""
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("| rooms | budget |", 1)[1].split("\n\n", 1)[0]
    for line in table.splitlines()[2:]:
        rooms, budget = (cell.strip() for cell in line.strip("|").split("|"))
        yield tuple(room.strip("` ") for room in rooms.split(",")), int(budget.replace(",", ""))


TABLE = list(budgets())
ROOMS = {room for rooms, _ in TABLE for room in rooms}


def room_of(file: Path) -> str:
    """`models.loading` for hsd/models/loading/pair.py: the longest name in the table that the file lies in."""
    if file.suffix == ".css":
        return "styles"
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    names = [".".join(parts[:end]) for end in range(len(parts), 0, -1)]
    return next((name for name in names if name in ROOMS), names[-1])


def sizes() -> Counter[str]:
    """Lines by room. A room of the page that the table does not name counts as `web.NAME`, so that it is told."""
    lines: Counter[str] = Counter()
    for file in PACKAGE.rglob("*"):
        inner = file.relative_to(PACKAGE).parts
        if file.suffix not in COUNTED or "vendor" in inner:
            continue
        room = room_of(file)
        if room == "web" and len(inner) > 2:
            room = f"web.{inner[1]}"
        lines[room] += len(file.read_text(encoding="utf-8").splitlines())
    return lines


def test_every_room_has_a_budget():
    unnamed = {*sizes()} - ROOMS
    assert not unnamed, f"give {', '.join(sorted(unnamed))} a place in CONTRIBUTING.md's table of budgets"


@pytest.mark.parametrize(("rooms", "budget"), TABLE, ids=[rooms[0] for rooms, _ in TABLE])
def test_a_room_keeps_to_its_budget(rooms: tuple[str, ...], budget: int):
    lines = sizes()
    assert sum(lines[room] for room in rooms) <= budget, f"more lines than {budget:,}: trade with another room"


def test_a_file_counts_for_the_smallest_room_that_it_lies_in():
    places = {"models/loading/hub.py": "models.loading", "models/base.py": "models", "web/page.js": "web"}
    places |= {"web/step/step.css": "styles", "__init__.py": "__init__", "cli/__init__.py": "cli"}
    assert {place: room_of(PACKAGE / place) for place in places} == places

"""The modules of the page: all are used, and nothing in them turns text into markup or names another host."""

from __future__ import annotations

import re

import pytest
from test_imports import rooms

from hsd.paths import WEB
from hsd.ui import alone, export, static

OWN = [path.relative_to(WEB) for path in WEB.rglob("*.*") if "vendor" not in path.parts]
SCRIPTS = sorted(path.as_posix() for path in OWN if path.suffix == ".js")
STYLES = sorted(path.as_posix() for path in OWN if path.suffix == ".css")
PAGE = (
    "page.js",
    "answers/answers.js",
    "answers/files.js",
    "answers/server.js",
    "answers/file.js",
    "answers/check.js",
    "kit/form.js",
)


def test_every_module_and_every_sheet_belongs_to_a_screen() -> None:
    entries = [*(f"{screen}/{screen}.js" for screen in static.SCREENS), "files/files.js", alone.ENTRY, *PAGE]
    used = {name for entry in entries for name in static.modules(entry)}
    assert sorted(used | {"loader.js", "files/theme.js", "theme.js"}) == SCRIPTS
    screens = {f"{screen}/{screen}.css" for screen in static.SCREENS}
    assert sorted({*static.SHARED_STYLES, *screens, *export.STYLES, *alone.STYLES, "page.css"}) == STYLES


# ---- the rooms of the page, and what a module of each may import beside its own room

ROOMS = {name: [other.strip("`") for other in allowed] for name, allowed in rooms("room of the page").items()}


def room(name: str) -> str:
    return name.partition("/")[0]


@pytest.mark.parametrize("script", [name for name in SCRIPTS if "/" in name])
def test_a_module_imports_only_what_its_room_may(script: str) -> None:
    allowed = {room(script), *ROOMS[room(script)]}
    assert {room(name) for name in static.imports(script)} <= allowed


def test_every_imported_module_is_there() -> None:
    assert {name for script in SCRIPTS for name in static.modules(script)} <= set(SCRIPTS)


def test_no_script_can_turn_text_into_markup() -> None:
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser"
    assert [name for name in SCRIPTS if re.search(forbidden, static.read(name))] == []


def test_no_file_names_another_host() -> None:
    addresses = {found for name in SCRIPTS + STYLES for found in re.findall(r"https?://[^\s\"']+", static.read(name))}
    links = {"http://www.w3.org/2000/svg", "https://${source.replace("}  # the latter is for a click: a paper's address
    assert addresses <= links


def test_the_page_is_told_of_files_by_relative_paths_alone() -> None:
    head = static.head()
    assert f'new URL("{static.folder()}", document.baseURI)' in head
    assert str(WEB) not in head

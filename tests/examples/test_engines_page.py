"""The page about engines is what its script makes of the committed result, and says what its numbers say."""

from __future__ import annotations

import copy
import json
from itertools import product
from typing import Any

import engines_page
import pytest

from hsd.paths import ROOT


@pytest.fixture
def found() -> dict[str, Any]:
    return json.loads((engines_page.RESULTS / "engines.json").read_text(encoding="utf-8"))


def case(engine: str, plain: float, hsd: float | None = None, threads: int = 1, **more: Any) -> dict[str, Any]:
    """An engine with one speed of plain decoding, and of HSD at γ = 2."""
    return {
        "engine": engine,
        "threads": threads,
        "speed": {"plain": [plain] * 3} | ({"hsd 2": [hsd] * 3} if hsd else {}),
        "times_plain": {"hsd 2": [hsd / plain] * 3} if hsd else {},
        "ratios": {"3": [1.5] * 3},
        "likeliest": [10, 10],
        "ready": [1.0] * 3,
        "memory_mb": [100.0] * 3,
        **more,
    }


def test_the_page_is_what_the_script_writes(found):
    assert engines_page.PAGE.read_text(encoding="utf-8") == engines_page.page(found)


def test_the_readme_has_the_speeds_that_were_measured(found):
    speeds = {(one["engine"], one["threads"]): f"{one['speed']['plain'][0]:.0f}" for one in found["engines"]}
    (ours, ours_two), (theirs, theirs_two) = (
        [speeds[name, count] for count in (1, 2)] for name in ("wasm, wasmtime", "llama.cpp")
    )
    words = f"writes {ours} tokens/s on one thread and {ours_two} on two, llama.cpp {theirs} and {theirs_two}."
    assert words in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_engine_of_ours_was_measured_plain_and_with_hsd(found):
    ours = [one for one in found["engines"] if one["engine"].startswith(engines_page.OURS)]
    names = ("torch", "wasm, wasmtime", "wasm, Chromium")
    assert {(one["engine"], one["threads"]) for one in ours} == set(product(names, (1, 2)))
    for one in ours:
        assert set(one["speed"]) == {"plain", "hsd 1", "hsd 2", "hsd 3"}
        assert one["likeliest"][0] == one["likeliest"][1]


def test_browser_and_wasmtime_have_the_same_bits(found):
    assert "wasm, wasmtime 1" in next(one["same_bits"] for one in found["engines"] if one["engine"] == "wasm, Chromium")


def test_the_fastest_is_the_one_with_the_largest_number(found):
    swapped = copy.deepcopy(found)
    slowest = min(swapped["engines"], key=lambda one: one["speed"]["plain"][0])
    slowest["speed"]["plain"] = [9_999.0] * 3
    assert f"{slowest['engine']} decodes plain fastest, 9999 tokens/s" in engines_page.page(swapped)


def test_hsd_is_said_to_pay_only_where_every_round_says_so():
    words = engines_page.paying([case("torch", 50, 70), case("wasm, wasmtime", 100, 80)], [])
    pays, fails = words.split("HSD does not pay")
    assert "by torch, 1 thread (×1.40" in pays
    assert "by wasm, wasmtime, 1 thread (×0.80" in fails
    unsure = case("torch", 50, 51, times_plain={"hsd 2": [1.02, 0.98, 1.05]})
    assert "HSD is level by torch" in engines_page.paying([unsure], [])


def test_an_engine_with_other_tokens_is_no_fastest_and_is_named():
    cases = [case("torch", 50, 70), case("other", 500, likeliest=[1, 10])]
    words = " ".join(engines_page.sentences(cases))
    assert "torch decodes plain fastest" in words
    assert "what other makes of the file is another model" in words


def test_what_was_left_out_is_said(found):
    found["missing"] = {"llama.cpp": "No module named 'llama_cpp'"}
    assert "Not measured: llama.cpp (No module named 'llama_cpp')." in engines_page.page(found)

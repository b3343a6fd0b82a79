"""What the page "Measured" and README say of engines follows from the committed result."""

from __future__ import annotations

from itertools import product
from typing import Any

import measured_engines
import pytest


@pytest.fixture
def found() -> dict[str, Any]:
    return measured_engines.results()


def case(
    engine: str, plain: float, hsd: float | None = None, threads: int = 1, **more: Any
) -> dict[str, Any]:
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


def test_readme_is_in_times_the_fastest_plain_decoding_of_the_project(found):
    ours = [one for one in found["engines"] if one["engine"].startswith(measured_engines.OURS)]
    for threads in (1, 2):
        each = [one for one in ours if one["threads"] == threads]
        assert max(each, key=lambda one: one["speed"]["plain"][0])["engine"] == "native"
    native = measured_engines.by_threads(found, "native")[2]
    shown = f"{native['speed']['plain'][0]:.0f} tokens a second plainly"
    assert shown in measured_engines.readme(found)


def test_readme_says_the_gain_on_two_threads_of_the_fastest_way_of_each_machine(found):
    slow, fast = (
        {"engines": [case("llama.cpp", 50, threads=2), case("native", 100, 150, 2)]}
        for _ in range(2)
    )
    for machine, speed in ((fast, 200), (slow, 90)):
        machine["engines"][1]["speed"]["hsd 3"] = [speed] * 3
        machine["engines"][1]["times_plain"]["hsd 3"] = [speed / 100] * 3
    assert measured_engines.gain(fast) == "4.0 × llama.cpp and 2.00 × plain decoding"
    assert measured_engines.gain(slow) == "3.0 × llama.cpp and 1.50 × plain decoding"
    assert measured_engines.readme(found).endswith(f"at best {measured_engines.gain(found)}.")


def test_every_engine_of_ours_was_measured_plain_and_with_hsd(found):
    ours = [one for one in found["engines"] if one["engine"].startswith(measured_engines.OURS)]
    names = {"native", "torch", "wasm, wasmtime", "wasm, Chromium"} - {*found["missing"]}
    assert {"native", "torch", "wasm, wasmtime"} <= names
    assert {(one["engine"], one["threads"]) for one in ours} == set(product(names, (1, 2)))
    for one in ours:
        assert {"plain", "hsd 1", "hsd 2", "hsd 3"} <= {*one["speed"]}
        assert one["likeliest"][0] == one["likeliest"][1]


def test_one_source_has_the_same_bits_as_a_library_and_as_webassembly(found):
    for one in found["engines"]:
        if one["engine"] in ("native", "wasm, wasmtime", "wasm, Chromium"):
            alike = {*one["same_bits"], f"{one['engine']} {one['threads']}"}
            assert alike >= {"native 1", "native 2", "wasm, wasmtime 1"}


def test_hsd_is_said_to_pay_only_where_every_round_says_so():
    words = measured_engines.paying([case("torch", 50, 70), case("wasm, wasmtime", 100, 80)])
    pays, fails = words.split("HSD does not pay")
    assert "by torch (×1.40" in pays
    assert "by wasm, wasmtime (×0.80" in fails
    unsure = case("torch", 50, 51, times_plain={"hsd 2": [1.02, 0.98, 1.05]})
    assert "HSD is level by torch" in measured_engines.paying([unsure])


def test_an_engine_with_other_tokens_is_named():
    cases = [case("torch", 50, 70), case("other", 500, likeliest=[1, 10])]
    assert measured_engines.another(cases) == (
        "other makes another model of the file (1 of 10 likeliest tokens): left out."
    )
    assert not measured_engines.another(cases[:1])


def test_what_was_left_out_is_said(found):
    found["missing"] = {"llama.cpp": "No module named 'llama_cpp'"}
    assert (
        "Not measured: llama.cpp (No module named 'llama_cpp')."
        in measured_engines.made(found)["engines_words"]
    )
    found["missing"] = {"llama.cpp": measured_engines.NO_REASON}
    assert "Not measured: llama.cpp." in measured_engines.made(found)["engines_words"]


def test_a_pass_stands_beside_what_memory_gives(found):
    found["engines"] = [
        case("native", 100, passes={"1": [5.0, 4.5, 6.0]}),
        case("native", 150, threads=2, passes={"1": [3.0] * 3}),
    ]
    found["reading"] = {"1": [4.0] * 3, "2": [2.5] * 3}
    words = measured_engines.limit(found)
    assert "4.0 ms on 1 and 2.5 ms on 2 threads" in words
    assert words.endswith("1.25 and 1.20 times that.")
    found["reading"]["2"] = [4.0] * 3
    assert "and 0.75 times that; below 1 the weights stay" in measured_engines.limit(found)

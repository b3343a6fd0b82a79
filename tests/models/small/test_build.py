"""The portable engine's modules and libraries are what their source compiles to, and small."""

from __future__ import annotations

from pathlib import Path

import pytest

from hsd.models.small.build import COMPILER, TARGETS, build, can_build
from hsd.models.small.machine import FOLDER, MODULE, THREADED

BOTH = pytest.mark.parametrize("module", [MODULE, THREADED], ids=lambda module: module.stem)


@pytest.mark.skipif(not can_build(), reason=f"the compiler is not here: pip install ziglang=={COMPILER}")
@pytest.mark.parametrize("name", TARGETS)
def test_what_runs_is_compiled_from_its_source(tmp_path: Path, name: str):
    build(tmp_path, [name])
    assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()


@BOTH
def test_every_instruction_of_the_module_has_one_result_on_every_processor(module: Path):
    wasmtime = pytest.importorskip("wasmtime")
    config = wasmtime.Config()
    config.wasm_relaxed_simd = False  # the only instructions whose results may differ, but for the bits of a NaN
    engine = wasmtime.Engine(config)
    wasmtime.Module.validate(engine, module.read_bytes())
    relaxed = wasmtime.wat2wasm(
        "(module (func (param v128) (result v128) (f32x4.relaxed_madd (local.get 0) (local.get 0) (local.get 0))))"
    )
    with pytest.raises(wasmtime.WasmtimeError):
        wasmtime.Module.validate(engine, relaxed)


@BOTH
def test_the_module_is_small_enough_to_travel_with_a_page(module: Path):
    assert module.stat().st_size <= 60_000

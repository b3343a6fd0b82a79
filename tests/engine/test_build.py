"""The portable engine's modules and libraries are what their source compiles to, and small."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from hsd.engine.machine import FOLDER, MODULE, THREADED, usable
from hsd.paths import ROOT

sys.path.insert(0, str(ROOT / "examples" / "reproduce"))

from compile_engine import COMPILER, TARGETS, build, can_build

BOTH = pytest.mark.parametrize("module", [MODULE, THREADED], ids=lambda module: module.stem)


@pytest.mark.skipif(
    not can_build(), reason=f"the compiler is not here: pip install ziglang=={COMPILER}"
)
@pytest.mark.parametrize("name", TARGETS)
def test_what_runs_is_compiled_from_its_source(tmp_path: Path, name: str):
    build(tmp_path, [name])
    assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()


@BOTH
def test_every_instruction_of_the_module_has_one_result_on_every_processor(module: Path):
    wasmtime = pytest.importorskip("wasmtime")
    config = wasmtime.Config()
    # the only instructions whose results may differ, but for the bits of a NaN
    config.wasm_relaxed_simd = False
    engine = wasmtime.Engine(config)
    wasmtime.Module.validate(engine, module.read_bytes())
    relaxed = wasmtime.wat2wasm(
        "(module (func (param v128) (result v128) (f32x4.relaxed_madd (local.get 0) (local.get 0) "
        "(local.get 0))))"
    )
    with pytest.raises(wasmtime.WasmtimeError):
        wasmtime.Module.validate(engine, relaxed)


@BOTH
def test_the_module_is_small_enough_to_travel_with_a_page(module: Path):
    whole = module.read_bytes()
    assert len(whole) <= 120_000
    assert len(gzip.compress(whole, 9)) <= 30_000


@pytest.mark.slow
@pytest.mark.skipif(
    not can_build() or not which("qemu-aarch64"), reason="needs ziglang and Debian's qemu-user"
)
def test_processors_agree_on_a_random_model(tmp_path: Path):
    """`bits.c` in the machine code of each kind of processor, on ARM by emulation: one hash of all
    that it computes.
    """
    flags = ["-O2", "-ffp-contract=off", "-fno-math-errno", "-o"]
    machines = {  # compiler flags, and what runs the program
        "avx512": (["x86_64-linux-musl", "-mcpu=x86_64_v4+avx512vnni"], []),
        "avx2": (["x86_64-linux-musl", "-mcpu=x86_64_v3"], []),
        "neon": (["aarch64-linux-musl", "-mcpu=generic+dotprod"], ["qemu-aarch64", "-cpu", "max"]),
    }
    usable_here = {name.replace("-", "").lower() for _, name in usable()}
    hashes = {}
    for name, (target, runner) in machines.items():
        if name == "neon" or name in usable_here:
            source = Path(__file__).with_name("bits.c")
            command = [
                sys.executable,
                "-m",
                "ziglang",
                "cc",
                *flags,
                tmp_path / name,
                "-target",
                *target,
                source,
            ]
            subprocess.run(list(map(str, command)), check=True)
            hashes[name] = subprocess.run(
                [*runner, tmp_path / name], check=True, capture_output=True
            ).stdout
    assert len(hashes) > 1
    assert len(set(hashes.values())) == 1

"""Compiles `hsd/engine/engine.c` for all machines, with the compiler of the wheel `ziglang`,
pinned below.

What it gives, two modules of WebAssembly and a library for each kind of processor, is in the
repository, so that nobody needs a compiler; a test compiles all of it again and compares.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hsd.engine.machine import FOLDER, MODULE, PAGES, THREADED

SOURCE = FOLDER / "engine.c"
COMPILER = "0.17.1"  # of ziglang: another one gives other bytes, though the same results
STRICT = ("-O3", "-Wall", "-Wextra", "-Werror")
WASM = (
    "-target",
    "wasm32-freestanding",
    "-msimd128",
    "-mbulk-memory",
    "-mnontrapping-fptoint",
    "-mllvm",
    "-disable-lsr",
    "-ffreestanding",
    "-nostdlib",
    "-Wl,--no-entry",
    "-Wl,--strip-all",
    "-Wl,-z,stack-size=65536",
)
THREADS = (
    "-matomics",
    "-Wl,--shared-memory",
    "-Wl,--import-memory",
    f"-Wl,--max-memory={PAGES[1] << 16}",
)
LIBRARY = (
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fPIC",
    "-shared",
    "-s",
    "-fvisibility=hidden",
    "-lpthread",
)
MACOS = (*LIBRARY, "-Wl,-install_name,engine.dylib")  # by default the path where it was compiled
# flags of each file. Without -ffp-contract=off a product and a sum would be rounded once, and other
# bits
TARGETS = {
    MODULE.name: WASM,
    THREADED.name: (*WASM, *THREADS),
    "engine-linux-x86_64-avx512.so": (
        *LIBRARY,
        "-target",
        "x86_64-linux-gnu.2.17",
        "-mcpu=x86_64_v4+avx512vnni",
    ),
    "engine-linux-x86_64-avx2.so": (
        *LIBRARY,
        "-target",
        "x86_64-linux-gnu.2.17",
        "-mcpu=x86_64_v3",
    ),
    "engine-linux-aarch64.so": (
        *LIBRARY,
        "-target",
        "aarch64-linux-gnu.2.17",
        "-mcpu=generic+dotprod",
    ),
    "engine-macos-arm64.dylib": (*MACOS, "-target", "aarch64-macos", "-mcpu=apple_m1"),
    "engine-windows-x86_64.dll": (*LIBRARY, "-target", "x86_64-windows-gnu", "-mcpu=x86_64_v3"),
}


def can_build() -> bool:
    """Return whether the compiler is installed, in the version that the files were made with."""
    try:
        return version("ziglang") == COMPILER
    except PackageNotFoundError:
        return False


def build(folder: Path, names: Iterable[str] = TARGETS) -> None:
    """Compile files of `TARGETS` into a folder. Raises CalledProcessError, with the compiler's
    messages on stderr.
    """
    for name in names:
        flags = [*STRICT, *TARGETS[name], "-o", str(folder / name), SOURCE.name]
        subprocess.run(
            [sys.executable, "-m", "ziglang", "cc", *flags], check=True, cwd=SOURCE.parent
        )
        (folder / name).chmod(0o644)
        (folder / "engine.lib").unlink(missing_ok=True)  # a linker's, for Windows


if __name__ == "__main__":
    build(FOLDER)

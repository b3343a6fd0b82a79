"""Write files that replace older ones: whole or not at all; names for them."""

import errno
import os
import re
import shutil
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

# of a mount, of a folder that lets only a file's owner move it, of a file that is held open
NOT_MOVED = (errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM)
# letters, digits and - _ . alone; what Windows takes for a device is none
PLAIN_NAME = re.compile(
    r"(?!(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$))\w[\w.-]{0,99}", re.ASCII | re.IGNORECASE
)


def file_name(name: str) -> str:
    """Return a name that others wrote as one of a file, without an ending, in any folder.

    A plain name stays; any other has its odd characters replaced, and a hash that tells it apart.
    """
    if PLAIN_NAME.fullmatch(name):
        return name
    mark = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    plain = re.sub(r"[^\w-]+", "_", name, flags=re.ASCII).strip("_")
    return f"{plain[:60] or 'name'}-{mark}"


def write_file(path: Path | str, content: str | bytes) -> None:
    """Write a file whole or not at all; text in UTF-8, line ends as they are.

    The content is written beside the file and takes its place by one move, so that a full disk or
    Ctrl-C costs no older file and leaves nothing behind. What cannot be replaced, such as a device,
    a pipe, or a file in a folder that takes no new ones, is written to. Raises OSError that names
    `path`.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        if replaceable(path):
            part = Path(os.path.realpath(path)).with_name(f".hsd-{uuid4().hex}.part")
            try:
                with part.open("xb") as stream:
                    stream.write(data)
                take_place(part, path)
            finally:
                part.unlink(missing_ok=True)
        else:
            # the output of this process goes on after what it has written so far
            with Path(path).open("ab" if _belongs_to_system(path) else "wb") as stream:
                stream.write(data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def replaceable(path: Path | str) -> bool:
    """Return whether a file can be put at `path`: nothing is there, or a regular file."""
    file = Path(os.path.realpath(path))
    fits = file.is_file() or not file.exists()
    return fits and not _belongs_to_system(path) and os.access(file.parent, os.W_OK)


def take_place(part: Path, path: Path | str) -> None:
    """Move the file `part` to `path`; links, owner and permissions of an older file there stay.

    Raises OSError, as for an older file that is read-only.
    """
    file = Path(os.path.realpath(path))
    if file.exists():
        if not os.access(file, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        older = file.stat()
        with suppress(OSError, AttributeError):  # of another user; Windows has no owners
            os.chown(part, older.st_uid, older.st_gid)
        shutil.copymode(file, part)
    try:
        part.replace(file)
    except OSError as error:
        if error.errno not in NOT_MOVED:
            raise
        shutil.copyfile(part, file)
        part.unlink()


def _belongs_to_system(path: Path | str) -> bool:
    """Return whether a path is one such as /dev/stdout, which may lead to a regular file."""
    return os.path.abspath(path).startswith(("/dev/std", "/dev/fd/", "/proc/"))

"""Whether files on the disk are still what they were made as: hashed once for every time that they were changed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from hsd.models.loading.wheel import sha256_of


def hash_of(file: Path) -> str:
    """Return the sha256 of a file. Raises OSError."""
    with file.open("rb") as stream:
        return sha256_of(stream)


def changed(files: Mapping[Path, str | None], memory: Path) -> Path | None:
    """The first of these files that has not the sha256 beside it, or cannot be read; None where all are as they were.

    memory: a file that keeps what was found, by size and times of change, so that nothing is read twice. A hash that is
    not known, None, is the one that the memory has, or gets now.
    """
    known, now = _remembered(memory), dict[str, list[Any]]()
    for file, wanted in files.items():
        try:
            about = file.stat()
            stamp = [about.st_size, about.st_mtime_ns, about.st_ctime_ns]
            *then, found = known.get(file.name) or [None]
            if then != stamp:
                before, found = found, hash_of(file)
                wanted = wanted or before or found
        except OSError:
            return file
        if found != (wanted or found):
            return file
        now[file.name] = [*stamp, found]
    if now != known:
        with suppress(OSError):  # a folder that cannot be written: hashed again next time
            draft = memory.with_name(f"{memory.name}.{os.getpid()}")
            draft.write_text(json.dumps(now), encoding="utf-8")
            os.replace(draft, memory)
    return None


def _remembered(memory: Path) -> dict[str, list[Any]]:
    """Return the contents of `memory`, {} where it cannot be read."""
    with suppress(OSError, ValueError):
        told = json.loads(memory.read_text(encoding="utf-8"))
        if isinstance(told, dict):
            return {name: kept for name, kept in told.items() if isinstance(kept, list) and kept}
    return {}

"""Where the files that come with the package are.

Beside it in a checkout or a Space, inside it when installed.
"""

import os
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import yaml

Given = ParamSpec("Given")
Result = TypeVar("Result")

_PACKAGE = Path(__file__).resolve().parent
_BUNDLED = _PACKAGE / "_bundled"
ROOT = _BUNDLED if _BUNDLED.is_dir() else _PACKAGE.parent

ASSETS = ROOT / "assets"
RESULTS = ASSETS / "results"
TRACES = ASSETS / "traces"
WEB = _PACKAGE / "web"
GLOSSARY = _PACKAGE / "glossary.yaml"
SPACEFILE = ROOT / "Spacefile"


def read_yaml(file: Path) -> Any:
    """Return what a YAML file of this package holds, by PyYAML's parser in C where it has one.

    Ten times as fast.
    """
    return yaml.load(
        file.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    )


def file_at(name: str | os.PathLike[str]) -> Path | None:
    """Return the file of a name that users give, None where there is none or it cannot be one.

    ~ begins a user's own folder.
    """
    with suppress(OSError, ValueError):  # a name that is too long, or has a zero
        path = Path(os.path.expanduser(name))
        return path if path.is_file() else None
    return None


def stamp(path: Path) -> tuple[Hashable, ...]:
    """Return what tells the contents of a file, or of all files in a folder, from earlier ones.

    It is the key of whatever is remembered of them: of each file the real path, the size, and the
    times in ns at which its bytes and its entry were changed. A missing file has a stamp, too.
    """
    real = Path(os.path.realpath(path))
    files = sorted(real.rglob("*")) if real.is_dir() else [real]
    return str(real), *map(_stamp_of_file, files)


def _stamp_of_file(file: Path) -> tuple[Hashable, ...]:
    try:
        about = file.stat()
    except OSError:
        return str(file), None
    # a copy may keep the time of its bytes
    return os.path.realpath(file), about.st_size, about.st_mtime_ns, about.st_ctime_ns


def cached_by_file(
    most: int = 32,
) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Return a decorator that remembers what a function makes of files, its arguments.

    What is another file by now, see `stamp`, is read again. most: how many results are kept.
    """

    def remembering(read: Callable[Given, Result]) -> Callable[Given, Result]:
        @lru_cache(most)
        def known(_: Hashable, *given: Given.args, **named: Given.kwargs) -> Result:
            return read(*given, **named)

        @wraps(read)
        def cached(*given: Given.args, **named: Given.kwargs) -> Result:
            stamps = (stamp(value) for value in given if isinstance(value, Path))
            return known((*stamps,), *given, **named)  # type: ignore[arg-type]

        cached.cache_clear = known.cache_clear  # type: ignore[attr-defined]
        return cached

    return remembering

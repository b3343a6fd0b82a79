"""Functions that the commands share: parsing arguments, loading the models that they name, progress, output files."""

from __future__ import annotations

import argparse
import os
import sys
from json import detect_encoding
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd.errors import HsdError

if TYPE_CHECKING:
    from hsd.models import Pair


def whole(text: str) -> int:
    """Parse a whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def number(text: str) -> float:
    """Parse a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def wholes(text: str) -> tuple[int, ...]:
    """Parse whole numbers separated by commas."""
    return tuple(whole(part) for part in text.split(","))


def numbers(text: str) -> tuple[float, ...]:
    """Parse numbers separated by commas."""
    return tuple(number(part) for part in text.split(","))


def names(text: str) -> tuple[str, ...]:
    """Parse names separated by commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def add_models(parser: argparse.ArgumentParser, pair: str, about: str = "") -> None:
    """Add the options that name models. pair: the help of --pair; about: a prefix of the other helps."""
    parser.add_argument("--pair", metavar="NAME", help=pair)
    parser.add_argument("--target", help=f"{about}target model: a folder or a Hub id")
    parser.add_argument("--draft", help=f"{about}draft model or EAGLE-3 head: a folder or a Hub id")
    parser.add_argument("--device", help=f"{about}cuda, mps or cpu (default: the first that is there)")
    parser.add_argument("--dtype", help=f"{about}float32, bfloat16 or float16")


def load(arguments: argparse.Namespace, name: str | None, alone: bool = False, **more: Any) -> Pair:
    """Load the pair that the options name and set the number of threads. Raises HsdError.

    name: in place of --pair. alone: the target is its own draft where none is named. more: as `load_pair` takes it.
    """
    from hsd.models.loading import load_pair
    from hsd.models.threads import settle_threads

    draft = arguments.draft or (arguments.target if alone else None)
    where = {"target": arguments.target, "draft": draft, "device": arguments.device, "dtype": arguments.dtype}
    progress("loading the models\n")
    pair = load_pair(name, **where, **more)
    progress(f"{settle_threads(pair)}\n")
    return pair


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option `--json`, for programs."""
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def progress(text: str) -> None:
    """Show progress to a person; a pipe gets messages only."""
    if sys.stderr.isatty():
        print(text, end="", file=sys.stderr, flush=True)


def refuse(arguments: argparse.Namespace, flags: str, home: str) -> None:
    """Raise HsdError if one of these flags, "--a --b", was given, which would be ignored: it is for `home`."""
    if ignored := next((flag for flag in flags.split() if flag in arguments.given), ""):
        raise HsdError(f"{ignored} is for {home}: choose it, or leave the option out")


def text_of(argument: str) -> str:
    """Return the text of an argument, or of the standard input for "-". Raises HsdError if it is not Unicode."""
    stream = getattr(sys.stdin, "buffer", None)
    data = os.fsencode(argument) if argument != "-" else stream.read() if stream else sys.stdin.read().encode()
    try:
        return data.decode(detect_encoding(data) if argument == "-" else "utf-8").replace("\r\n", "\n")
    except UnicodeError:
        raise HsdError("the prompt is not in UTF-8: convert it, as `iconv -t utf-8` does") from None


def output(path: str | Path) -> Path:
    """Check before the work begins that a file can be written, and return its path. Raises HsdError."""
    file = Path(path).expanduser()
    if file.is_dir() or not os.access(file if file.exists() else file.absolute().parent, os.W_OK):
        raise HsdError(f"cannot write {str(path)!r}: give a file name in an existing folder where you may write")
    return file

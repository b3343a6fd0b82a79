"""Functions that the commands share.

They parse arguments, load the models that they name, show progress, and check output files.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from functools import partial
from json import detect_encoding
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from hsd.errors import HsdError, printable
from hsd.writing import write_file

if TYPE_CHECKING:
    from hsd.models import Pair

LISTED = json.loads(Path(__file__).with_name("commands.json").read_text(encoding="utf-8"))
COMMANDS: dict[str, dict[str, Any]] = LISTED["commands"]
SHARED: dict[str, dict[str, Any]] = LISTED["shared"]
STANDARD_OUTPUT = Path("-")
# the others of torchrun are silent
SPEAKS = "TORCHELASTIC_RUN_ID" not in os.environ or os.environ.get("RANK") == "0"


def whole(text: str, least: float = float("-inf")) -> int:
    """Parse a whole number from `least` on. Raises argparse.ArgumentTypeError."""
    try:
        if (value := int(text)) >= least:
            return value
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number") from None
    raise argparse.ArgumentTypeError(f"{value}: choose at least {least}")


def number(text: str) -> float:
    """Parse a number. Raises argparse.ArgumentTypeError."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def names(text: str) -> tuple[str, ...]:
    """Parse names separated by commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


KINDS: dict[str, Callable[[str], Any]] = {
    kind.__name__: kind for kind in (whole, number, names, Path)
}
KINDS |= {f"whole from {least}": partial(whole, least=least) for least in (0, 1)}


def add_listed(
    parser: argparse.ArgumentParser, about: dict[str, Any], words: Mapping[str, str]
) -> None:
    """Add the texts, flags and actions of an entry of `commands.json`.

    words: fill the braces in its texts.

    An entry has "help"; it may have an "example"; "flags", each with keywords of `add_argument`, of
    which "type" is a name in `KINDS`; "either", flags of which one must be given; "shared", names
    of lists that several commands have; and "actions", each an entry of its own.
    """
    parser.description = f"{about['help'][0].upper()}{about['help'][1:]}."
    parser.epilog = f"example: {about['example']}" if "example" in about else None
    lists = [about.get("flags", {}), *(SHARED[name] for name in about.get("shared", ()))]
    places: list[tuple[Any, Any]] = [(parser, flags) for flags in lists]
    if "either" in about:
        places.append((parser.add_mutually_exclusive_group(required=True), about["either"]))
    for place, flags in places:
        for flag, how in flags.items():
            filled = {
                name: x.format_map(words) if isinstance(x, str) else x for name, x in how.items()
            }
            if "type" in how:
                filled["type"] = KINDS[how["type"]]
            place.add_argument(*flag.split(), **filled)
    if "actions" in about:
        actions = parser.add_subparsers(
            required=True, metavar="ACTION", parser_class=type(parser), dest="action"
        )
        for name, entry in about["actions"].items():
            add_listed(actions.add_parser(name, help=entry["help"]), entry, words)


def load(arguments: argparse.Namespace, name: str | None, alone: bool = False, **more: Any) -> Pair:
    """Load the pair that the options name. Raises HsdError.

    name: in place of --pair. alone: the target is its own draft where none is named. more: as
    `load_pair` takes it.
    """
    from hsd.models.loading import load_pair

    flags = ("target", "device", "device_map", "dtype", "draft_rows")
    where = {flag: getattr(arguments, flag) for flag in flags}
    where["draft"] = arguments.draft or (arguments.target if alone else None)
    if not SPEAKS:
        # it is open to the end
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    progress("loading the models\n")
    return load_pair(name, **where, **more)


def rule_of(text: Any, **sizes: int) -> Any:
    """Return the judged rule in a Python file, which a path that ends in .py names; else `text`.

    Says on standard error how it was judged. sizes: see `hsd.conform.own.judge_own`. Raises
    HsdError for a file that has none.
    """
    if not isinstance(text, str) or not text.endswith(".py"):
        return text
    from hsd.conform.own import load_own_rule

    with redirect_stdout(sys.stderr):  # what the file prints is not the result
        rule = load_own_rule(text, **sizes)
    show(f"hsd: rule {rule.name}: {rule.verdict}", sys.stderr)
    return rule


class _Line:
    """The line of progress on the terminal. open: it has no end yet."""

    open = False


def show(text: str, stream: TextIO | None = None) -> None:
    """Print a text on a new line, by default to standard output.

    Whoever wrote parts of it steers no terminal: control characters are spelled out.
    """
    end_progress()
    print(printable(text), file=stream, flush=True)


def progress(text: str) -> None:
    """Write text to standard error if that is a terminal, else do nothing."""
    if sys.stderr.isatty():
        print(text, end="", file=sys.stderr, flush=True)
        _Line.open = not text.endswith("\n")


def end_progress() -> None:
    """End the line of progress, if there is one, so that what follows begins a new line."""
    if _Line.open:
        _Line.open = False
        print(file=sys.stderr, flush=True)


def refuse(arguments: argparse.Namespace, flags: str, home: str) -> None:
    """Raise HsdError if one of `flags` was given, which have no effect without `home`.

    flags: as in "--a --b"; home: as in "--rows".
    """
    if ignored := next((flag for flag in flags.split() if flag in arguments.flags), ""):
        raise HsdError(f"{ignored} is for {home}: choose it, or leave the option out")


def text_of(argument: str) -> str:
    """Return the text of an argument, or of the standard input for "-".

    Raises HsdError if it is not Unicode.
    """
    stream = getattr(sys.stdin, "buffer", None)
    if argument != "-":
        data = os.fsencode(argument)
    elif stream:
        data = stream.read()
    else:
        data = sys.stdin.read().encode()
    try:
        text = data.decode(detect_encoding(data) if argument == "-" else "utf-8")
        return text.replace("\r\n", "\n")
    except UnicodeError:
        raise HsdError("the prompt is not in UTF-8: convert it, as `iconv -t utf-8` does") from None


def output(path: str | Path, flag: str = "", as_json: bool = False) -> Path:
    """Check before the work begins that a file can be written, and return its path.

    flag: the option that named it, if its "-" is standard output; as_json: that --json writes there
    as well. Raises HsdError.
    """
    if not SPEAKS:
        return Path(os.devnull)
    if str(path) == "-":
        if not flag:
            raise HsdError("cannot write '-': name a file, such as ./-")
        if as_json:
            words = f"--json and {flag} - both write to standard output"
            raise HsdError(f"{words}: name a file for {flag}, or leave --json out")
        return STANDARD_OUTPUT
    file = Path(path).expanduser()
    if file.is_dir() or not os.access(file if file.exists() else file.absolute().parent, os.W_OK):
        remedy = "give a file name in an existing folder where you may write"
        raise HsdError(f"cannot write {str(path)!r}: {remedy}")
    return file


def save(file: Path, content: str) -> None:
    """Write a file that `output` returned; to standard output in UTF-8 unless people read it.

    Raises OSError.
    """
    if file != STANDARD_OUTPUT:
        write_file(file, content)
    elif sys.stdout.isatty() or not hasattr(sys.stdout, "buffer"):
        show(content)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(content.encode())
        sys.stdout.flush()

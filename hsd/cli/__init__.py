"""The command line: `python -m hsd run`, `audit`, `bench`, `plan`, `watch`, `app` and more.

A command is an entry of `commands.json`, and a module of this package with `main(arguments)`, which
returns the exit status; only the one that is called is imported. `WORDS` of a module fill the texts
of its entry, and its `add_arguments(parser)` adds what no list can have. Results go to standard
output, progress and messages to standard error. Exit status 0, or 2 with one line for bad input;
`conform` ends with 1 where a verifier is not lossless.
"""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

from hsd.cli.arguments import COMMANDS, add_listed, end_progress
from hsd.errors import HsdError, one_line
from hsd.version import __version__


class Parser(argparse.ArgumentParser):
    """An argument parser that reports an error in one line and exits with status 2."""

    def error(self, message: str) -> NoReturn:
        words = message.startswith("unrecognized arguments: ") and ": -" not in message
        if words:
            remedy = ": put a text of several words in quotes"
        elif "choose" in message:
            remedy = ""
        else:
            remedy = ": see --help"
        self.exit(2, f"{self.prog}: {one_line(message)}{remedy}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns the exit status; 141, without a message, if its output is a closed pipe.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by who started this
            # it is open to the end
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        elif mode == "w" and isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            # a character that the console lacks must not cost a text
            stream.reconfigure(errors="backslashreplace")
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        try:
            arguments = build_parser(words[:1]).parse_args(words)
            arguments.words = words
            arguments.flags = [word.partition("=")[0] for word in words if word[:2] == "--"]
            return int(arguments.command(arguments))
        finally:
            end_progress()
            print(end="", flush=True)
    except HsdError as error:
        return _fail(str(error))
    except ModuleNotFoundError as error:
        extra = "app" if words[0] in ("app", "space") else "bench"
        where = f"run pip install '.[{extra}]' in a copy of this repository"
        return _fail(f"{words[0]} needs {error.name}, which is not installed: {where}")
    except KeyboardInterrupt:
        return _fail("stopped", 130)
    except OSError as error:
        try:
            print(end="", flush=True)
        except OSError:  # what could not be written must not fail once more at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        named = f"{error.filename!r}" if error.filename else "its output"
        what = f"cannot read or write {named} ({error.strerror or error})"
        why = f"{what}: choose a place where that can be done"
        return 141 if isinstance(error, BrokenPipeError) else _fail(why)


def _fail(words: str, status: int = 2) -> int:
    with suppress(OSError):
        print(f"hsd: {one_line(words)}", file=sys.stderr)
    return status


def build_parser(commands: Sequence[str] = tuple(COMMANDS)) -> Parser:
    """The parser of the program.

    Commands that are not in `commands` are named in its help, without their options.
    """
    parser = Parser(prog="hsd", description="Run speculative decoding, and see every decision.")
    parser.add_argument("--version", action="version", version=__version__)
    choices = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    for name, about in COMMANDS.items():
        command = choices.add_parser(name, help=about["help"], allow_abbrev=False)
        if name in commands:
            module = import_module(f"hsd.cli.{name}")
            add_listed(command, about, getattr(module, "WORDS", {}))
            if hasattr(module, "add_arguments"):
                module.add_arguments(command)
            command.set_defaults(command=module.main)
    return parser

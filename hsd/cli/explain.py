"""`python -m hsd explain`: a step of a saved trace in words."""

from __future__ import annotations

import argparse

from hsd.cli.arguments import whole
from hsd.facts import facts
from hsd.trace import Trace, step_in_words


def add_arguments(explain: argparse.ArgumentParser) -> None:
    """The options of the command."""
    explain.add_argument("trace", metavar="TRACE", help="a trace saved by run --trace or by the app")
    explain.add_argument("--step", type=whole, default=1, help="which step, counted from 1")


def main(arguments: argparse.Namespace) -> int:
    """Print the words. Returns the exit status."""
    print(step_in_words(Trace.from_file(arguments.trace), arguments.step - 1, facts()))
    return 0

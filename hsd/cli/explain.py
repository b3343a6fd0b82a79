"""`python -m hsd explain`: a step of a saved trace in words."""

import argparse

from hsd.cli.arguments import show
from hsd.facts import facts
from hsd.trace import Trace, step_in_words


def main(arguments: argparse.Namespace) -> int:
    """Print what happened in a step of a trace, levels below the target included.

    Returns the exit status.
    """
    show(step_in_words(Trace.from_file(arguments.trace), arguments.step - 1, facts()))
    return 0

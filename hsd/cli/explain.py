"""`python -m hsd explain`: a step of a saved trace in words."""

import argparse

from hsd.facts import facts
from hsd.trace import Trace, step_in_words
from hsd.trace.levels import events_in_words


def main(arguments: argparse.Namespace) -> int:
    """Print what happened in a step of a trace, levels below the target included. Returns the exit status."""
    trace, index = Trace.from_file(arguments.trace), arguments.step - 1
    print(step_in_words(trace, index, facts()))
    if events := events_in_words(trace, index):
        print("\n".join(["Below the target, in order:", *(f"- {line}" for line in events)]))
    return 0

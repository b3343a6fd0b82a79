"""``python -m hsd.train``: the stages of training without the rest of the command line."""

from __future__ import annotations

import argparse
import sys

from hsd.errors import HsdError
from hsd.train.command import add_arguments, main


def run() -> int:
    """Parse, run, and turn an expected error into one line."""
    parser = argparse.ArgumentParser(prog="python -m hsd.train", description="Make the embedded models again.")
    add_arguments(parser)
    try:
        return main(parser.parse_args())
    except HsdError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(run())

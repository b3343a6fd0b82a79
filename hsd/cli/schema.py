"""`python -m hsd schema`: the JSON Schema of a trace."""

import argparse
import json

from hsd.cli.arguments import show
from hsd.trace import Trace


def main(arguments: argparse.Namespace) -> int:
    """Print the JSON Schema of a trace. Returns the exit status."""
    show(json.dumps(Trace.schema_for_others(), indent=2))
    return 0

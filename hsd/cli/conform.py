"""`python -m hsd conform`: judge a verifier, and print the verdict or write it as a report."""

import argparse
import contextlib
import json
import sys
from pathlib import Path

from hsd.audit import TableModels
from hsd.cli.arguments import STANDARD_OUTPUT, output, refuse, save, show
from hsd.conform.adapter import load_adapter
from hsd.conform.judge import rows_models
from hsd.conform.report import conform
from hsd.conform.words import in_words, junit
from hsd.errors import HsdError, printable


def main(arguments: argparse.Namespace) -> int:
    """Run the command.

    Returns 0 where nothing wrong was found, 1 for what is not lossless or has another law than
    expected. Raises HsdError for bad input.
    """
    if arguments.rows:
        refuse(arguments, "--vocab --gamma --seed --pairs", "random pairs in place of --rows")
    if arguments.sampled:
        refuse(arguments, "--quick", "an exact verdict")
    file = output(arguments.junit, "--junit", arguments.json) if arguments.junit else None
    models = _read_rows(arguments.rows) if arguments.rows else None
    options = (arguments.vocab, arguments.gamma, arguments.seed, arguments.pairs, arguments.sampled)
    with contextlib.redirect_stdout(sys.stderr):  # what the adapter prints is not the result
        result = conform(
            load_adapter(arguments.file), *options, models, arguments.expect, arguments.quick
        )
    stream = sys.stderr if file == STANDARD_OUTPUT else sys.stdout
    show(json.dumps(result) if arguments.json else in_words(result), stream)
    if file:
        save(file, printable(junit(result)))
    return 1 if result["lossless"] is False or result["as_expected"] is False else 0


def _read_rows(file: str) -> TableModels:
    try:
        rows = json.loads(Path(file).read_bytes())
        p, q = ([[float(x) for x in one] for one in rows[name]] for name in "pq")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        words = f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
        raise HsdError(
            f'--rows {file}: give a JSON file {{"p": [rows], "q": [rows]}} ({words})'
        ) from None
    return rows_models(p, q)

"""`python -m hsd app`: open the app in a browser."""

import argparse


def main(arguments: argparse.Namespace) -> int:
    """Serve until it is stopped. Returns the exit status."""
    from hsd.app import launch

    launch(
        arguments.trace,
        arguments.host,
        arguments.port,
        arguments.open,
        not arguments.no_download,
        tuple(arguments.allowed_host),
    )
    return 0

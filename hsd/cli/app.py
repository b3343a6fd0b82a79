"""`python -m hsd app`: open the app in a browser."""

from __future__ import annotations

import argparse

from hsd.cli.arguments import whole


def add_arguments(app: argparse.ArgumentParser) -> None:
    """The options of the command."""
    app.add_argument("--trace", metavar="FILE", help="show this recorded trace first")
    app.add_argument("--host", help="address to listen on (default: $GRADIO_SERVER_NAME, else 127.0.0.1)")
    app.add_argument("--port", type=whole, default=None, help="port (default: the first free one from 7860)")
    app.add_argument(
        "--allowed-host", metavar="NAME", action="append", default=[], help="also answer to this host name"
    )
    app.add_argument(
        "--servers", action="store_true", help="visitors may race a server even if others can ask this app"
    )
    app.add_argument("--open", action="store_true", help="open a browser window")
    app.add_argument("--no-download", action="store_true", help="do not fetch models that are not here")


def main(arguments: argparse.Namespace) -> int:
    """Serve until it is stopped. Returns the exit status."""
    from hsd.app import launch

    own = (arguments.trace, arguments.host, arguments.port, arguments.open, not arguments.no_download)
    launch(*own, tuple(arguments.allowed_host), arguments.servers)
    return 0

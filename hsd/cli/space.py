"""`python -m hsd space`: check, export or publish the page and the Hugging Face Space."""

import argparse
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from hsd import space
from hsd.cli.arguments import output, refuse, save, show
from hsd.errors import HsdError
from hsd.paths import ROOT
from hsd.trace import Trace


def main(arguments: argparse.Namespace) -> int:
    """Run the chosen action. Returns the exit status."""
    actions = {"check": _check, "export": _export, "publish": _publish}
    return actions[arguments.action](arguments)


def _check(arguments: argparse.Namespace) -> int:
    differences = space.check()
    for line in differences:
        show(line, sys.stderr)
    if differences:
        show("README.md does not match the Spacefile")
        return 2
    show("the Spacefile and README.md agree")
    return 0


def _export(arguments: argparse.Namespace) -> int:
    from hsd.app.export import write
    from hsd.app.page import single

    if arguments.static:
        refuse(arguments, "--output --step --title", "--html")
        files = write(
            Path(arguments.static), space.load(), arguments.address or "", arguments.weights
        )
        megabytes = sum(path.stat().st_size for path in files) / 1e6
        shows = f"python -m http.server -d {arguments.static} shows them"
        show(f"{arguments.static}: {len(files)} files, {megabytes:.1f} MB; {shows}")
        return 0
    refuse(arguments, "--address --weights", "--static")
    trace = Trace.from_file(arguments.html)
    target = output(arguments.output or Path(arguments.html).with_suffix(".html"), "--output")
    page = single(trace, arguments.step, arguments.title or "")
    save(target, page)
    show(f"{target}: {len(page.encode()) / 1000:,.0f} kB", sys.stderr)
    return 0


def _publish(arguments: argparse.Namespace) -> int:
    name = arguments.repository or "owner/name" * arguments.dry_run
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        remedy = "name the Space as owner/name, or list its files by --dry-run"
        raise HsdError(f"{arguments.repository!r}: {remedy}")
    if not arguments.static:
        refuse(arguments, "--weights", "--static")
    with TemporaryDirectory() as folder:
        root, sdk = (Path(folder), "static") if arguments.static else (ROOT, "gradio")
        if arguments.static:
            from hsd.app.export import write

            address = space.static_address(arguments.repository or "")
            write(root, space.load(), address, arguments.weights)
        listing = space.listing(sdk, root) if arguments.dry_run else []
        show("\n".join(listing) or space.publish(arguments.repository, root=root, sdk=sdk))
    return 0

"""`python -m hsd space`: check, export or publish the page and the Hugging Face Space."""

import argparse
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hsd import space
from hsd.cli.arguments import output, progress, refuse, rule_of, save, show
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
    from hsd.app.element import element
    from hsd.app.export import write
    from hsd.app.page import single

    if arguments.element:
        flags = "--output --step --title --address --weights"
        refuse(arguments, flags, "--html or --static")
        save(output(arguments.element, "--element"), element())
        return 0
    if arguments.static:
        refuse(arguments, "--output --step --title --rule", "--html")
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
    if arguments.rule:
        trace = _decoded_by(rule_of(arguments.rule), trace)
    page = single(trace, arguments.step, arguments.title or "")
    save(target, page)
    show(f"{target}: {len(page.encode()) / 1000:,.0f} kB", sys.stderr)
    return 0


def _decoded_by(rule: Any, trace: Trace) -> Trace:
    from hsd.decoding.loop import rerun
    from hsd.models.loading import load_pair

    progress(f"decoding again by rule {rule}\n")
    with redirect_stdout(sys.stderr):  # what a rule of one's own prints is not the page
        return rerun(load_pair(trace.setup.pair), trace, rule)


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

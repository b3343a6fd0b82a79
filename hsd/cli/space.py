"""`python -m hsd space`: check, export or publish the page and the Hugging Face Space."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from hsd import space
from hsd.cli.arguments import output, refuse, whole
from hsd.errors import HsdError
from hsd.paths import ROOT
from hsd.trace import Trace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the three actions and their options."""
    what = parser.add_subparsers(required=True, metavar="ACTION", parser_class=type(parser))
    check = what.add_parser("check", help="compare the Spacefile with the front matter of README.md")
    check.set_defaults(action=_check)
    export = what.add_parser("export", help="the page as files that need no server, or one run as a single file")
    kind = export.add_mutually_exclusive_group(required=True)
    kind.add_argument("--static", metavar="FOLDER", help="all that is recorded, for any file server or a static Space")
    kind.add_argument("--html", metavar="TRACE", help="this recorded trace as one file that opens without a network")
    export.add_argument("--address", metavar="URL", help="with --static: its future URL, for the card of a shared link")
    export.add_argument("-o", "--output", metavar="FILE", help="with --html: the file to write (default: beside TRACE)")
    export.add_argument("--step", type=whole, help="with --html: the step to open at, from 1; else the most telling")
    export.add_argument("--weights", action="store_true", help="with --static: the model's weights too (98 MB)")
    export.add_argument("--title", help="with --html: the title above the run")
    export.set_defaults(action=_export)
    publish = what.add_parser("publish", help="upload the files of the Space")
    publish.add_argument("repository", nargs="?", help="owner/name of the Space")
    publish.add_argument("--static", action="store_true", help="a Space of files, which needs no Python")
    publish.add_argument("--weights", action="store_true", help="with --static: the model's weights too (98 MB)")
    publish.add_argument("--dry-run", action="store_true", help="upload nothing; list every setting and file")
    publish.set_defaults(action=_publish)


def main(arguments: argparse.Namespace) -> int:
    """Run the chosen action. Returns the exit status."""
    return int(arguments.action(arguments))


def _check(arguments: argparse.Namespace) -> int:
    differences = space.check()
    for line in differences:
        print(line, file=sys.stderr)
    print("the Spacefile and README.md agree" if not differences else "README.md does not match the Spacefile")
    return 2 if differences else 0


def _export(arguments: argparse.Namespace) -> int:
    from hsd.app.export import write
    from hsd.app.page import single

    if arguments.static:
        refuse(arguments, "--output --step --title", "--html")
        files = write(Path(arguments.static), space.load(), arguments.address or "", arguments.weights)
        megabytes = sum(path.stat().st_size for path in files) / 1e6
        shows = f"python -m http.server -d {arguments.static} shows them"
        print(f"{arguments.static}: {len(files)} files, {megabytes:.1f} MB; {shows}")
        return 0
    refuse(arguments, "--address --weights", "--static")
    trace = Trace.from_file(arguments.html)
    target = output(arguments.output or str(Path(arguments.html).with_suffix(".html")))
    target.write_text(single(trace, arguments.step, arguments.title or ""), encoding="utf-8", newline="\n")
    print(f"{target}: {target.stat().st_size / 1000:,.0f} kB", file=sys.stderr)
    return 0


def _publish(arguments: argparse.Namespace) -> int:
    if not (arguments.repository or arguments.dry_run):
        raise HsdError("name the Space as owner/name, or list its files by --dry-run")
    if not arguments.static:
        refuse(arguments, "--weights", "--static")
    with TemporaryDirectory() as folder:
        root, sdk = (Path(folder), "static") if arguments.static else (ROOT, "gradio")
        if arguments.static:
            from hsd.app.export import write

            write(root, space.load(), space.static_address(arguments.repository or ""), arguments.weights)
        listing = space.listing(sdk, root) if arguments.dry_run else []
        print("\n".join(listing) or space.publish(arguments.repository, root=root, sdk=sdk))
    return 0

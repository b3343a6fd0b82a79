"""`python -m hsd watch`: the steps of a vLLM server that records them, as they come."""

import argparse
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from hsd.cli.arguments import output, refuse, show
from hsd.errors import HsdError, one_line
from hsd.http_client import base_url, counter_growth, read_counters
from hsd.vllm.reader import BEAT, Request, ServerReader, summary
from hsd.writing import file_name, write_file

SERVER = "server"  # the pair of a page that stands for the server


def main(arguments: argparse.Namespace) -> int:
    """Show the page, or with --text what is new, until it is stopped. Returns the exit status."""
    if arguments.text:
        refuse(arguments, "--host --port", "the page")
    else:
        refuse(arguments, "--requests --save", "--text")
    if arguments.save is not None:
        output(f"{arguments.save}/request.json")  # is refused now, and not once a request has ended
    reader = ServerReader(arguments.url, arguments.token or os.environ.get("HSD_VLLM_TOKEN", ""))
    try:
        reader.look()
    except HsdError as error:
        with suppress(HsdError):
            error = HsdError(f"{error}; from outside: {counts(arguments.url)}")
        raise error from None
    if arguments.text:
        return _text(reader, arguments.requests, arguments.save)
    return _page(reader, arguments.host, arguments.port)


def _text(reader: ServerReader, most: int, folder: str | None) -> int:
    """Print each request as it ends, and in the end the `summary` of all.

    most: stop after so many; 0: never.
    """
    ended: list[Request] = []
    with suppress(KeyboardInterrupt):
        while not most or len(ended) < most:
            for one in [one for one in reader.requests.values() if one.done and one not in ended]:
                ended.append(one)
                trace = one.trace
                ending = f"{len(trace.steps)} steps, {trace.result.finish}"
                show(f"{one_line(one.name)}: {ending}: {trace.text[:60]!r}")
                if folder:
                    write_file(output(f"{folder}/{file_name(one.name)}.json"), trace.to_json())
            time.sleep(0 if reader.look() else BEAT)
    show("\n".join(summary([step for one in ended for step in one.trace.steps])))
    return 0


def _page(reader: ServerReader, host: str | None, port: int | None) -> int:
    """Serve the page, which plays the server's requests; prompts are run by the server."""
    from hsd import app, space
    from hsd.app.runs import RunRequest as Run

    def decode(run: Run, _: float) -> Iterator[Any]:
        options = run.options
        body = {
            **vars(options.sampling),
            "top_k": options.top_k or -1,
            "seed": options.seed,
            "max_tokens": options.max_new_tokens,
        }
        return reader.follow(reader.ask(run.prompt, body, options.prompt_as or "").name)

    title = f"vLLM at {reader.url}"
    server = space.PairSpec(name=SERVER, title=title, target=reader.url, draft=reader.url)
    manifest = space.load()
    manifest.pairs[:] = [server]
    app.launch(None, host, port, download=False, manifest=manifest, decode=decode, watched=reader)
    return 0


def counts(url: str) -> str:
    """Return what a server's public counters say of its drafts, in one line.

    It reads the counters of vLLM, llama.cpp and their like.
    """
    found = counter_growth(Counter(), read_counters(base_url(url), ""))
    if not (drafts := found["drafts"]):
        return "its counters tell of no drafts"
    curve = [kept / drafts for kept, _ in found["positions"]]
    words = f"{1 + found['kept'] / drafts:.2f} tokens per pass"
    words += f"; kept by position {', '.join(f'{share:.2f}' for share in curve)}" if curve else ""
    synthetic = drafts > 50 and 1.0 in curve and 0.0 in curve
    if synthetic:
        words += "; such a curve is set and not measured (synthetic acceptance): the text is wrong"
    return words

"""`python -m hsd bench`: measure every combination of the options, on one process or several."""

import argparse
import json
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import torch

from hsd.bench.conclusion import conclusions
from hsd.bench.concurrency import as_json, loads, words
from hsd.bench.llama import NAME, llama_cases
from hsd.bench.measure import RECORDING, Case, Record, Sweep, fitting, measure
from hsd.bench.prompts import PromptSet, prompt_set
from hsd.bench.report import Benchmark, header, markdown, read, write_line
from hsd.bench.server import TIMEOUT, Server, connect
from hsd.bench.view import view
from hsd.cli.arguments import load, names, output, progress, refuse, show
from hsd.cli.options import GAMMA, add_flags, check_flags, given
from hsd.decoding.options import LEVELLED, RunOptions
from hsd.errors import HsdError
from hsd.models.loading.registry import FETCHED_PAIRS, USUAL, draft_length, usual
from hsd.rules import VANILLA
from hsd.writing import replaceable, take_place

MOST_REQUESTS = 1024  # at once
WORDS = {"about": "", "usual": USUAL, "timeout": str(TIMEOUT)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add a flag for each option of a run, which takes several values."""
    also = {"rule": "--rules", "system": "--systems"}
    add_flags(parser, RECORDING, True, also, rule="tokenwise,hsd", gamma=GAMMA)


def main(arguments: argparse.Namespace) -> int:
    """Run a benchmark and print its tables.

    Returns the exit status; Ctrl-C keeps and shows what has been measured.
    """
    if arguments.report:
        refuse(arguments, " ".join({*arguments.flags} - {"--report", "--json"}), "a new benchmark")
        try:
            _print(read(arguments.report), arguments.json)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            if isinstance(error, HsdError):
                raise
            raise HsdError(
                f"{str(arguments.report)!r} is damaged: choose a file written by `hsd bench`"
            ) from None
        return 0
    if {arguments.pair, arguments.target, arguments.draft} == {None}:  # the toy pair has levels
        arguments.pair = "tiny" if {*LEVELLED} & {*(arguments.system or ())} else usual()
    workers = _Workers()
    # before a server is contacted
    check_flags(given(arguments), [case.options for case in sweep(arguments).cases()])
    prompts = prompt_set(arguments.prompts, arguments.data, arguments.limit)
    if not arguments.concurrency:
        refuse(arguments, "--plain-server", "--concurrency N,N")
    server = _server(arguments, workers.count)
    cases = sweep(arguments, server).cases()
    if server and arguments.concurrency:
        return _concurrent(arguments, server, prompts, cases[0].options)
    out = arguments.out or Path("runs") / f"bench-{datetime.now():%Y%m%d-%H%M%S}.jsonl"
    if not arguments.out:
        out.parent.mkdir(exist_ok=True)
    if workers.first:
        output(out)
    pair = load(
        arguments, arguments.pair, arguments.system == ("hispec",), smaller=arguments.smaller or ()
    )
    most = max(arguments.max_new_tokens or (RunOptions.default("max_new_tokens"),))
    texts = fitting(pair, prompts.prompts, most)
    _warn(prompts, len(prompts.prompts) - len(texts))
    progress(f"{len(cases)} cases × {len(texts)} prompts × {arguments.repetitions} repetitions\n")
    settings = {
        "max_new_tokens": most,
        "repetitions": arguments.repetitions,
        "processes": workers.count,
    }
    settings |= {"server": server.about} if server else {}
    head = header(pair, prompts, cases, command=_command(arguments.words), **settings)
    file = _place(out)
    records = measure(pair, cases, workers.part(texts), arguments.repetitions)
    with redirect_stdout(sys.stderr):  # what a rule of one's own prints is not the result
        benchmark = workers.run(head, records, file)
    if benchmark:
        _print(benchmark, arguments.json)
        if not workers.cut:
            with file.open("a", encoding="utf-8") as stream:
                write_line(stream, {"view": view(benchmark)})
        if file != out and not workers.stopped:
            take_place(file, out)
            file = out
        show(f"results in {file}", sys.stderr)
    return 1 if workers.failed else 0


def _place(out: Path) -> Path:
    """Return where a benchmark is written: `out`, or beside an older file there until it is whole.

    One that stops early stays beside the older one.
    """
    if not (out.is_file() and replaceable(out)):
        return out
    file = Path(os.path.realpath(out))
    places = (file.with_name(f"{file.stem}-part{number}{file.suffix}") for number in count(1))
    return next(place for place in places if not place.exists())


def _command(words: Sequence[str]) -> str:
    """Return the command that measures the same again, without a server's key and --out."""
    for flag in ("--server-key", "--out"):
        pairs = zip(["", *words], words, strict=False)  # each word after the one before it
        words = [word for before, word in pairs if flag not in (before, word.partition("=")[0])]
    return shlex.join(["python", "-m", "hsd", *(word for word in words if word != "--json")])


def _server(arguments: argparse.Namespace, processes: int) -> Server | None:
    """Connect to the server given by `--server`; None without it. Raises HsdError."""
    if arguments.server is None:
        flags = "--server-model --server-key --server-timeout --concurrency --plain-server"
        refuse(arguments, flags, "--server URL")
        return None
    if processes > 1:
        raise HsdError("--server is measured by one process: leave `accelerate launch` out")
    key = arguments.server_key or os.environ.get("HSD_SERVER_KEY", "")
    return connect(arguments.server, arguments.server_model, arguments.server_timeout, key.strip())


def _concurrent(
    arguments: argparse.Namespace, server: Server, prompts: PromptSet, options: dict[str, Any]
) -> int:
    """Time a server with several requests at once and print it. Returns the exit status."""
    counts = _counts(arguments.concurrency)
    key = server.key
    plain = None
    if arguments.plain_server:
        plain = connect(arguments.plain_server, None, arguments.server_timeout, key)
    chat = options.get("prompt_as") == "chat"
    found = loads(
        server,
        plain,
        prompts.prompts,
        options,
        chat,
        counts,
        lambda load: progress(f"\r{load.requests} requests at once"),
    )
    show(json.dumps({"loads": as_json(found)}) if arguments.json else words(found))
    return 0


def _counts(text: str) -> list[int]:
    """Return the numbers of requests of "1,4,16". Raises HsdError."""
    parts = names(text)
    if parts and all(part.isdecimal() and 1 <= int(part) <= MOST_REQUESTS for part in parts):
        return [int(part) for part in parts]
    raise HsdError(
        f"concurrency {text[:40]!r}: choose whole numbers from 1 to {MOST_REQUESTS}, such as 1,4,16"
    )


def sweep(arguments: argparse.Namespace, server: Server | None = None) -> Sweep:
    """Return the sweep that the options describe.

    Raises HsdError for options that do not go together.
    """
    values = {
        "rule": (VANILLA["single"], RunOptions.default("rule")),
        "gamma": (draft_length(arguments.pair),),
    }
    chosen = given(arguments)
    if all(map(callable, chosen.get("rule", ("",)))):  # one's own are shown beside the usual ones
        chosen["rule"] = (*values["rule"], *chosen["rule"])
    # a draft model in a file of its own, which another library can read
    drafting = arguments.pair in FETCHED_PAIRS or bool(arguments.draft)
    peers = partial(_peers, arguments.peer, server, drafting)
    return Sweep(values | chosen, peers)


def _peers(
    library: str | None,
    server: Server | None,
    drafting: bool,
    gammas: Sequence[int],
    options: dict[str, Any],
) -> list[Case]:
    """Return the cases of a server and of another library.

    The library is `transformers` or llama.cpp, with the draft model and without.
    """
    cases = [server.case(options)] if server else []
    if library == NAME:
        return [*cases, *llama_cases(options, drafting)]
    if not library:
        return cases
    from hsd.bench.peers import peer_case

    lengths = [gamma for gamma in gammas if isinstance(gamma, int)] or [RunOptions.default("gamma")]
    assisted = [peer_case(gamma, options) for gamma in lengths]
    return [*cases, *assisted, peer_case(lengths[0], options, assisted=False)]


class _Workers:
    """The processes that share the prompts.

    It is this one alone, unless `accelerate launch` started several. stopped: before the end;
    failed: and not by Ctrl-C; cut: and the last line of the file may not be whole.
    """

    def __init__(self) -> None:
        from accelerate import PartialState

        state = PartialState(cpu=not torch.cuda.is_available())
        self.number = state.process_index
        self.count = state.num_processes
        self.first = state.is_main_process
        self.failed = False
        self.stopped = False
        self.cut = False

    def part(self, prompts: list[tuple[int, str]]) -> list[tuple[int, str]]:
        """Return the prompts of this process; each prompt belongs to exactly one."""
        return prompts[self.number :: self.count]

    def run(self, head: dict[str, Any], records: Iterator[Record], out: Path) -> Benchmark | None:
        """Write each record when it is measured.

        Return all processes' benchmark in the first, None in the others.
        """
        from accelerate.utils import gather_object

        files = [out]
        if self.count > 1:
            files = [out.with_name(f"{out.name}.{process}") for process in range(self.count)]
        kept = gather_object(self._write(head, records, files[self.number]))
        self.stopped = any(gather_object([self.stopped]))
        if self.first and self.count > 1:
            self._write(head, iter(kept), out)
            for file in files:
                file.unlink(missing_ok=True)
        return Benchmark(head, kept) if self.first else None

    def _write(self, head: dict[str, Any], records: Iterator[Record], out: Path) -> list[Record]:
        kept: list[Record] = []
        try:
            with out.open("w", encoding="utf-8") as file:
                write_line(file, head)
                for record in records:
                    write_line(file, record)
                    kept.append(record)
                    progress(f"\r{len(kept)} runs")
        except (KeyboardInterrupt, HsdError, OSError) as error:
            self.stopped = True
            self.cut = isinstance(error, OSError)
            self.failed = not isinstance(error, KeyboardInterrupt)
            if self.failed and not kept:
                if replaceable(out):
                    out.unlink(missing_ok=True)
                raise
            why = f": {error}" if self.failed else ""
            show(f"stopped early; {len(kept)} runs are kept in {out}{why}", sys.stderr)
        return kept


def _warn(prompts: PromptSet, left_out: int) -> None:
    """Warn about prompts that are too long, and about shipped ones that replace a missing set."""
    if left_out:
        share = f"{left_out} of {len(prompts.prompts)} prompts"
        show(f"{share} are too long for this pair: left out", sys.stderr)
    if prompts.source.startswith("written for this project ("):
        show(f"prompts: {prompts.name}, {prompts.source}", sys.stderr)


def _print(benchmark: Benchmark, as_json: bool) -> None:
    if not as_json:
        show("\n\n".join([markdown(benchmark), *conclusions(benchmark)]))
        return
    whole = {"rows": benchmark.rows(), "conclusions": conclusions(benchmark)}
    show(json.dumps({**benchmark.header, **whole, "view": view(benchmark)}))

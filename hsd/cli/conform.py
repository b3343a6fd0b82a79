"""`python -m hsd conform`: judge a verifier, print the verdict, and write it for continuous integration."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from hsd.audit import TableModels
from hsd.cli.arguments import add_json, numbers, output, refuse, whole
from hsd.conform.adapter import load_adapter
from hsd.conform.judge import row, rows_models
from hsd.conform.keying import EVERY, audit_keyings
from hsd.conform.report import conform
from hsd.conform.words import in_words, junit, unexpected
from hsd.errors import HsdError
from hsd.rules import USUAL


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    file = "a Python file with verify(p, q, tokens, uniforms, noise) or generate(p, q, gamma, length, seeds)"
    parser.add_argument("file", metavar="FILE", nargs="?", help=file)
    parser.add_argument("--vocab", type=whole, default=3, help="size of the vocabulary")
    parser.add_argument("--gamma", type=whole, default=3, help="drafted tokens per step")
    parser.add_argument("--seed", type=whole, default=0, help="which random pair, as for hsd audit")
    parser.add_argument("--pairs", type=whole, default=1, help="how many random pairs, from that seed on")
    parser.add_argument("--rows", metavar="JSON", help='rows of your own, not random pairs: {"p": […], "q": […]}')
    sampled = "test by sampling N drafts (20000 if left out), where random numbers cannot be set"
    parser.add_argument("--sampled", type=whole, nargs="?", const=20_000, default=0, metavar="N", help=sampled)
    parser.add_argument("--quick", action="store_true", help="only random pairs and one with zeros, at fewer numbers")
    parser.add_argument("--expect", metavar="RULE", default="", help="exit with status 1 also if the law is not RULE's")
    parser.add_argument("--junit", metavar="XML", help="write the verdict as a JUnit file as well")
    keyed = parser.add_argument_group("in place of FILE: what the keys of random numbers do to a text")
    keyed.add_argument("--keying", action="store_true", help="several steps of a rule, its numbers keyed in every way")
    keyed.add_argument("--rule", default=USUAL, help=f"which rule (default: {USUAL})")
    keyed.add_argument("--p", type=numbers, default=(0.1, 0.5, 0.4), help="the target's row (default: .1,.5,.4)")
    keyed.add_argument("--q", type=numbers, default=(0.5, 0.4, 0.1), help="the draft's row (default: .5,.4,.1)")
    keyed.add_argument("--tokens", type=whole, default=6, help="tokens of the text that is judged (default: 6)")
    add_json(parser)


def main(arguments: argparse.Namespace) -> int:
    """Run the command. Status 0: nothing wrong was found; 1: not lossless, or another law than expected.

    Raises HsdError for bad input.
    """
    if arguments.keying == bool(arguments.file):
        raise HsdError("conform: give the file of a verifier, or --keying without one")
    if arguments.keying:
        refuse(arguments, "--vocab --seed --pairs --rows --sampled --quick --expect --junit", "FILE")
        keyed = audit_keyings([*arguments.p], [*arguments.q], arguments.gamma, arguments.rule, arguments.tokens)
        print(json.dumps(keyed) if arguments.json else _keyed_words(keyed))
        return 0
    refuse(arguments, "--rule --p --q --tokens", "--keying")
    if arguments.rows:
        refuse(arguments, "--vocab --gamma --seed --pairs", "random pairs in place of --rows")
    if arguments.sampled:
        refuse(arguments, "--quick", "an exact verdict")
    file = output(arguments.junit) if arguments.junit else None
    if arguments.sampled < 0:
        raise HsdError(f"--sampled {arguments.sampled}: choose a number of drafts, such as 20000")
    models = _read_rows(arguments.rows) if arguments.rows else None
    options = (arguments.vocab, arguments.gamma, arguments.seed, arguments.pairs, arguments.sampled)
    with contextlib.redirect_stdout(sys.stderr):  # what the adapter prints is not the result
        result = conform(load_adapter(arguments.file), *options, models, arguments.expect, arguments.quick)
    print(json.dumps(result) if arguments.json else in_words(result), flush=True)
    if file:
        file.write_text(junit(result), encoding="utf-8")
    return 1 if result["lossless"] is False or unexpected(result) else 0


def _read_rows(file: str) -> TableModels:
    try:
        rows = json.loads(Path(file).read_bytes())
        p, q = ([[float(x) for x in one] for one in rows[name]] for name in "pq")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        words = " ".join(str(error).split())[:100]
        raise HsdError(
            f'--rows {file}: give a JSON file {{"p": [rows], "q": [rows]}} ({type(error).__name__}: {words})'
        ) from None
    return rows_models(p, q)


def _keyed_words(result: dict[str, Any]) -> str:
    """Return a table with a line for each keying: total variations and tokens per step."""
    rows = f"p {row(result['p'])}, q {row(result['q'])}"
    lines = [
        f"{result['rule']}, gamma {result['gamma']}, {rows}: total variation of the first {result['tokens']} tokens",
        f"{'keying':19} {'1 step':>8} {'2 steps':>8} {'3 steps':>8} {'text':>8}   tokens per step, and in the long run",
    ]
    for name, found in result["keyings"].items():
        distances = " ".join(f"{x:8.1e}" for x in (*found["total_variation"], found["text"]))
        per_step = " ".join(f"{x:.4f}" for x in found["tokens_per_step"])
        lines.append(f"{name:19} {distances}   {per_step} {found['long_run']:.4f}   {EVERY[name].words}")
    return "\n".join(lines)

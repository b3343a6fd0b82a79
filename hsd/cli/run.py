"""`python -m hsd run`: decode a prompt."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import hsd
from hsd.bench import prompt_set
from hsd.bench.fuzzy import calibrate
from hsd.bench.score import with_scores
from hsd.cli.arguments import (
    SPEAKS,
    STANDARD_OUTPUT,
    end_progress,
    load,
    output,
    progress,
    refuse,
    save,
    show,
    text_of,
)
from hsd.cli.options import GAMMA, add_flags, check_flags, given
from hsd.decoding.loop import Decoding
from hsd.decoding.options import LEVELLED
from hsd.decoding.system import make_system
from hsd.errors import HsdError, one_line
from hsd.models.loading.registry import (
    EMBEDDED,
    FETCHED,
    FETCHED_PAIRS,
    PAIRS,
    USUAL,
    draft_length,
    usual,
)
from hsd.trace import Step
from hsd.trace.format import plural
from hsd.trace.table import as_csv, as_parquet
from hsd.writing import write_file

TABLES: dict[str, Callable[[Sequence[Step]], str | bytes]] = {
    ".csv": as_csv,
    ".parquet": as_parquet,
}
CALIBRATION_PROMPTS = 12


def _pair_help() -> str:
    """Return the help text of --pair."""
    fetched = ", ".join((*FETCHED, *FETCHED_PAIRS))
    names = f"{fetched} (see hsd fetch), {', '.join(EMBEDDED)} (embedded)"
    drafts, heads = (
        [pair.name for pair in PAIRS.values() if bool(pair.licence) == head]
        for head in (False, True)
    )
    hub = f"from the Hub: {', '.join(drafts)}, with an EAGLE-3 head as draft: {', '.join(heads)}"
    return f"{names}, or {hub} (default: {USUAL})"


WORDS = {"about": "", "pairs": _pair_help()}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add a flag for each option of a run."""
    add_flags(parser, without=("trace",), gamma=GAMMA)


def main(arguments: argparse.Namespace) -> int:
    """Decode and print; after Ctrl-C or a failure, what was decoded so far.

    Returns the exit status.
    """
    prompt = text_of(arguments.prompt)
    values = given(arguments)
    _check_belonging(arguments, values)
    # where none is named, a system with levels runs the toy pair, which has them
    named = {arguments.pair, arguments.target, arguments.draft} != {None}
    name = arguments.pair if named or values.get("system") in LEVELLED else usual()
    recorded = {"trace": arguments.trace is not None or arguments.table is not None}
    options = hsd.RunOptions(**{"gamma": draft_length(name), **values, **recorded})
    alone = options.system in ("plain", "hispec") or options.copies
    target = None
    if arguments.trace is not None:
        target = output(arguments.trace, "--trace", arguments.json)
    table = None if arguments.table is None else _table(arguments.table)
    pair = load(arguments, name, alone, quantize=arguments.quantize, smaller=arguments.smaller)
    if arguments.quantile is not None:
        options = _calibrated(pair, options, arguments)
    trace, failure = _decode_with_progress(pair, prompt, options)
    standard = target == STANDARD_OUTPUT
    summary = json.dumps(_summary(trace)) if arguments.json else _report(trace, pair)
    show(summary, sys.stderr if standard else sys.stdout)
    if target:
        whole = trace if failure else with_scores(pair, trace)
        save(target, whole.to_json())
    if target and not standard:
        show(f"trace saved to {target}", sys.stderr if SPEAKS else sys.stdout)
    if table:
        write_file(table, TABLES[table.suffix](trace.steps))
        show(f"table saved to {table}", sys.stderr)
    if failure:
        raise failure
    return 0


def _table(path: Path) -> Path:
    """Return where the table of drafted tokens is written. Raises HsdError before any work."""
    if path.suffix not in TABLES:
        raise HsdError(f"--table {str(path)!r}: name a file that ends in {' or '.join(TABLES)}")
    if path.suffix == ".parquet":
        as_parquet([])  # where a package is missing, this says so
    return output(path)


def _check_belonging(arguments: argparse.Namespace, values: Mapping[str, Any]) -> None:
    """Raise HsdError for options that would be ignored."""
    check_flags(values)
    if values.get("system") != "stack":
        refuse(arguments, "--smaller", "--system stack")
    if not hsd.RunOptions.applies("divergence", values):
        refuse(arguments, "--quantile", "--rule fuzzy")
        return
    quantile = arguments.quantile
    if quantile is not None and ("tolerance" in values or not 0 <= quantile <= 1):
        remedy = "choose a number from 0 to 1, in place of --tolerance"
        raise HsdError(f"--quantile {quantile:g}: {remedy}")


def _calibrated(pair: Any, options: Any, arguments: argparse.Namespace) -> Any:
    """Return the options with the tolerance that lets the wanted share of rejections pass.

    The share is of rejections on the shipped prompts.
    """
    progress("calibrating\n")
    known = hsd.RunOptions.options()
    how = {name: value for name, value in options if known[name].group in ("sampling", "levels")}
    how |= {name: getattr(options, name) for name in ("proposer", "gamma", "temperature", "system")}
    prompts = prompt_set("shipped", limit=CALIBRATION_PROMPTS).prompts
    calibration = calibrate(
        pair, prompts, options.divergence, options.divergence_on, **how, max_new_tokens=48
    )
    tolerance = calibration.tolerance(arguments.quantile)
    share = f"{100 * arguments.quantile:.0f} % of rejections"
    show(f"tolerance {tolerance:.4g} lets {share} pass", sys.stderr)
    return hsd.RunOptions(**{**dict(options), "tolerance": tolerance})


def _decode_with_progress(pair: Any, prompt: str, options: Any) -> tuple[Any, HsdError | None]:
    """Decode to the end, or until Ctrl-C or a failure; the trace has all steps made until then."""
    decoding = Decoding(make_system(pair, options), prompt)
    count = 0
    failure: HsdError | None = None
    try:
        with redirect_stdout(sys.stderr):  # what a rule of one's own prints is not the result
            for step in decoding:
                count += len(step.committed)
                progress(f"\r{count} / {options.max_new_tokens} tokens")
    except KeyboardInterrupt:
        progress(", stopped early")
    except HsdError as error:
        failure = error
    finally:
        decoding.close()
        end_progress()
    for note in decoding.notes:
        show(f"hsd: note: {one_line(note)}", sys.stderr)
    return decoding.trace(), failure


def _summary(trace: Any) -> dict[str, Any]:
    """Return what `run --json` prints: the text, its options, and its statistics."""
    setup = trace.setup
    o = trace.setup.options
    made_by = {
        "rule": o.rule,
        "system": o.system,
        "gamma": o.draft.gamma,
        "seed": o.seed,
        "pair": setup.pair,
    }
    flat = o.flat()
    for name, option in hsd.RunOptions.options().items():
        levels = option.group == "levels" and o.levels.thresholds
        if levels or (option.group == "rule" and hsd.RunOptions.applies(name, flat)):
            made_by[name] = flat[name]
    if o.own:
        made_by["own"] = o.own.model_dump()
    made_by["notes"] = setup.notes
    return {
        "text": trace.text,
        "tokens": trace.tokens,
        "finish": trace.result.finish,
        **made_by,
        **trace.stats(),
    }


def _report(trace: Any, pair: Any = None) -> str:
    s = trace.stats()
    prompt = trace.prompt
    options = trace.setup.options.flat()
    applied = (
        name
        for name in ("system", "rule", "gamma")
        if options[name] and hsd.RunOptions.applies(name, options)
    )
    made_by = ", ".join(
        [one_line(trace.setup.pair), *(f"{name} {options[name]}" for name in applied)]
    )
    share = "nothing drafted"
    if s["drafted"]:
        share = f"{100 * s['acceptance_rate']:.0f} % of drafted tokens kept"
    # pieces may be parts of a character
    read = pair.codec.decode(prompt.ids) if pair else "".join(prompt.pieces)
    between = "" if read.endswith(prompt.text) else "\n\n"  # the answer to a question
    return (
        f"{prompt.text}{between}{trace.text}\n\n{made_by}\n"
        f"{plural(s['new_tokens'], 'token')}, {plural(s['target_calls'], 'target call')}, "
        f"{s['block_efficiency']:.2f} tokens per target call, "
        f"{share}, {s['tokens_per_second']:.0f} tokens/s"
    )

"""`python -m hsd estimate`: whether drafting pays, from log-probabilities, without drafting."""

import argparse
import json
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hsd.bench.server import TIMEOUT
from hsd.cli.arguments import load, progress, refuse, show
from hsd.errors import HsdError
from hsd.estimate import (
    HSD,
    RULES,
    VANILLA,
    Costs,
    Estimate,
    Interval,
    ScoredText,
    as_json,
    checked,
    estimate,
    read_costs,
    read_texts,
    speedups,
)

if TYPE_CHECKING:
    from hsd.bench.prompts import PromptSet

WORDS = {"about": "", "timeout": str(TIMEOUT)}
NAMES = dict(zip(RULES, ("vanilla", "HSD", "sample and compare", "ideal"), strict=True))
TIMED = (VANILLA, HSD)  # rules that are weighed against plain decoding
MODELS = "--device --device-map --dtype --draft-rows --pair"
WRITING = "--prompts --data --limit --new-tokens --temperature --top-p --top-k --seeds"
SERVERS = "--server-key --draft-key --server-model --draft-model --server-timeout --processed"
LONGEST = 64


def main(arguments: argparse.Namespace) -> int:
    """Print what every rule would have kept, and whether to draft. Returns the exit status."""
    longest = lengths(arguments.gamma)
    costs = read_costs(arguments.costs) if arguments.costs else None
    texts, measured = _texts(arguments, longest)
    result = estimate(texts, longest)
    costs = costs or measured
    if arguments.json:
        show(json.dumps(_as_json(result, costs, arguments.texts)))
        return 0
    show(advice(result, costs))
    show(table(result, costs))
    for name in sorted({text.kind for text in texts if text.kind}):
        own = [text for text in texts if text.kind == name]
        if len(own) < len(texts) and max(map(len, own)) > longest:
            show(f"\n{name}\n{table(estimate(own, longest), costs)}")
    return 0


def lengths(text: str) -> int:
    """Return the longest draft length of "1-10" or "10". Raises HsdError."""
    first, dash, last = text.rpartition("-")
    begins_at_one = first == "1" if dash else True
    if begins_at_one and last.isdecimal() and 1 <= int(last) <= LONGEST:
        return int(last)
    raise HsdError(f"gamma {text[:20]!r}: choose draft lengths from 1 on, such as 1-10")


def _texts(arguments: argparse.Namespace, longest: int) -> tuple[list[ScoredText], Costs | None]:
    """Return the scored texts, and the costs of a pair that was loaded. Raises HsdError."""
    sources = [arguments.pair, arguments.target, arguments.draft]
    if arguments.file:
        if any(sources):
            raise HsdError("give either a file or models, not both")
        refuse(arguments, f"{MODELS} {WRITING} {SERVERS}", "models, --pair or --target and --draft")
        return read_texts(Path(arguments.file).expanduser()), None
    if not any(sources):
        raise HsdError(
            "nothing to estimate from: give a file of log-probabilities, --pair NAME, or --target "
            "and --draft"
        )
    if arguments.new_tokens <= longest:
        raise HsdError(
            f"texts of {arguments.new_tokens} tokens are too short for drafts of {longest}: choose "
            f"more new tokens, or --gamma 1-{max(arguments.new_tokens - 1, 1)}"
        )
    urls = [name for name in sources[1:] if name and name.startswith(("http://", "https://"))]
    from hsd.bench.prompts import prompt_set

    prompts = prompt_set(arguments.prompts, arguments.data, arguments.limit)
    if len(urls) == 1:
        raise HsdError("one of --target and --draft is a server: name two servers, or two models")
    if urls:
        refuse(arguments, MODELS, "models that are loaded here")
        return _of_servers(arguments, prompts), None
    refuse(arguments, SERVERS, "two servers, --target URL and --draft URL")
    return _of_pair(arguments, prompts, longest)


def _of_pair(
    arguments: argparse.Namespace, prompts: "PromptSet", longest: int
) -> tuple[list[ScoredText], Costs]:
    """Load the pair, let its target write, and score the texts by both models."""
    from hsd.bench.score import check_draft, measured_costs, scored_texts

    pair = load(arguments, arguments.pair)
    check_draft(pair)
    options = {
        "max_new_tokens": arguments.new_tokens,
        "temperature": arguments.temperature,
        "top_p": arguments.top_p,
        "top_k": arguments.top_k,
    }
    kinds = prompts.kinds or [""] * len(prompts.prompts)
    named = list(zip(prompts.prompts, kinds, strict=True))
    seeds = range(arguments.seeds)
    texts = []
    for text in scored_texts(pair, named, options, seeds):
        texts.append(text)
        progress(f"\r{len(texts)} of {len(named) * len(seeds)} texts")
    costs = measured_costs(pair, longest)
    return checked(texts), costs


def _of_servers(arguments: argparse.Namespace, prompts: "PromptSet") -> list[ScoredText]:
    """Let one server write, and another one score what it wrote."""
    from hsd.bench.score_servers import Writing, scored_by_servers
    from hsd.bench.server import connect

    key = arguments.server_key or os.environ.get("HSD_SERVER_KEY", "")
    draft_key = arguments.draft_key or os.environ.get("HSD_DRAFT_KEY", "") or key
    target = connect(
        arguments.target, arguments.server_model, arguments.server_timeout, key.strip()
    )
    draft = connect(
        arguments.draft, arguments.draft_model, arguments.server_timeout, draft_key.strip()
    )
    writing = Writing(
        arguments.new_tokens,
        arguments.temperature,
        arguments.top_p,
        arguments.top_k,
        arguments.processed,
    )
    texts = []
    skipped = []
    for text, why in scored_by_servers(target, draft, prompts, writing, range(arguments.seeds)):
        if text:
            texts.append(text)
        else:
            skipped.append(why)
        progress(f"\r{len(texts)} texts")
    if not texts:
        raise HsdError(skipped[0] if skipped else "the target wrote no text: choose other prompts")
    if skipped:
        show(f"{len(skipped)} texts are left out: {skipped[0]}", sys.stderr)
    return checked(texts)


# ---- in words


def advice(result: Estimate, costs: Costs | None) -> str:
    """Return the first line: whether to draft, by which rule and length, and how sure that is."""
    texts = len(result.texts)
    about = f"{texts:,} text{'s' * (texts > 1)} of {result.tokens:,} tokens"
    if costs is None:
        last = result.longest - 1
        rates = [f"{NAMES[name]} {of(result.rules[name].tokens_per_pass, last)}" for name in TIMED]
        return (
            f"At γ = {result.longest} a pass gives {', '.join(rates)} tokens ({about}); give "
            "--costs to learn whether that pays."
        )
    best = {name: speedups(result, name, costs) for name in TIMED}
    name = max(TIMED, key=lambda rule: float(best[rule].value.max()))
    place = int(best[name].value.argmax())
    low, high = best[name].low[place], best[name].high[place]
    if low > 1:
        verdict = f"Switch it on: {NAMES[name]} with γ = {place + 1}"
    elif high < 1:
        verdict = f"Leave it off: the best, {NAMES[name]} with γ = {place + 1},"
    else:
        verdict = f"It cannot be told: {NAMES[name]} with γ = {place + 1}"
    return f"{verdict} is {of(best[name], place)} × plain decoding by its passes ({about})."


def of(interval: Interval, place: int) -> str:
    """Return a value with its 95 % interval in brackets."""
    value, low, high = (float(x[place]) for x in (interval.value, interval.low, interval.high))
    if math.isnan(low):
        return f"{value:.2f}"
    return f"{value:.2f} ({low:.2f} to {high:.2f})"


def table(result: Estimate, costs: Costs | None) -> str:
    """Return a table: for each draft length tokens per pass by rule, and what they are worth."""
    heads = ["γ", *(f"{NAMES[name]}, tokens a pass" for name in RULES), "HSD − vanilla"]
    if costs:
        heads += [f"{NAMES[name]}, × plain" for name in TIMED]
    rows = [heads]
    for place in range(result.longest):
        cells = [str(place + 1)]
        cells += [of(rated.tokens_per_pass, place) for rated in result.rules.values()]
        cells.append(difference(result.difference, place))
        if costs:
            cells += [of(speedups(result, name, costs), place) for name in TIMED]
        rows.append(cells)
    return "\n".join(_aligned(rows))


def difference(interval: Interval, place: int) -> str:
    """Return a difference with its sign, and its 95 % interval in brackets."""
    value, low, high = (float(x[place]) for x in (interval.value, interval.low, interval.high))
    if math.isnan(low):
        return f"{value:+.3f}"
    return f"{value:+.3f} ({low:+.3f} to {high:+.3f})"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _as_json(result: Estimate, costs: Costs | None, per_text: bool) -> dict[str, object]:
    plain = as_json(result, per_text)
    if costs:
        plain["costs"] = {
            "passes": {str(width): cost for width, cost in costs.passes.items()},
            "drafted": costs.drafted,
        }
        plain["speedup"] = {name: speedups(result, name, costs).value.tolist() for name in TIMED}
    plain["advice"] = advice(result, costs)
    return plain

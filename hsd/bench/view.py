"""What the page shows of a benchmark, as plain data: its table as text, its charts, a CSV, the command that repeats it.

`python -m hsd bench` writes it into its files, so that a page opens them by itself, with a server or without.
"""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hsd import figures
from hsd.bench.published import rules_here, systems_here
from hsd.bench.report import COLUMNS, Benchmark, cells, is_known, server_words
from hsd.bench.summary import PARTS, Row
from hsd.decoding.options import LEVELLED
from hsd.draft import COPIERS

FORMAT = "hsd-bench-view-1"
SCALARS = (
    *("tokens_per_second", "speedup", "limit", "efficiency"),
    *("best_gamma", "best_limit", "ms_per_step", "outside_ms_per_step"),
)
INTERVALS = ("block_efficiency", "acceptance_length", "acceptance_rate")
PER_POSITION = "acceptance_rate_per_position"  # one cell, the first position first
OPTIONS = (
    *("rule", "gamma", "temperature", "drafts", "tree", "nodes"),
    *("system", "proposer", "thresholds", "exits", "divergence", "tolerance"),
)


def view(benchmark: Benchmark) -> dict[str, Any]:
    """All that a page draws. Raises HsdError where there is nothing to compare."""
    rows = benchmark.rows()
    return {
        "format": FORMAT,
        "date": _words(benchmark.header.get("date"), 40),
        "facts": facts(benchmark, rows),
        "command": command(benchmark.header, rows[0]["prompts"]),
        "columns": [list(column) for column in COLUMNS.items()],
        "rows": [cells(row) for row in rows],
        "charts": charts(rows),
        "here": {"rules": rules_here(rows), "systems": systems_here(rows)},
        "csv": as_csv(rows),
    }


def charts(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """At most three, each with its title; those for which there is nothing to show are left out."""
    drafting = [row for row in rows if "acceptance_rate" in row and row["options"].get("rule")]
    chains = [row for row in drafting if row["options"].get("system") not in LEVELLED]
    gammas, temperatures = ({row["options"][name] for row in chains} for name in ("gamma", "temperature"))
    by = "temperature" if len(temperatures) > 1 and len(gammas) == 1 else "gamma"
    words = {"gamma": "draft length γ", "temperature": "temperature"}[by]
    found: list[tuple[str, list[Row], Callable[[], figures.Chart]]] = [
        (f"Tokens per target call by {words}, 95 % intervals", chains, lambda: figures.block_efficiency(rows, by)),
        ("Acceptance rate per position in the draft", drafting, lambda: figures.acceptance_rate_per_position(rows)),
        ("Where the time goes", list(rows), lambda: figures.time_shares(rows)),
    ]
    return [{"title": title, **draw()} for title, own, draw in found if own]


def facts(benchmark: Benchmark, rows: Sequence[Row]) -> list[str]:
    """What was measured, how, and on what: short phrases from the header, which may come from anywhere."""
    head = benchmark.header
    prompts, machine = (
        value if isinstance(value, dict) else {} for value in (head.get("prompts"), head.get("machine"))
    )
    counted = f"{rows[0]['prompts']} prompts ({_words(prompts.get('name'))}), {rows[0]['runs']} runs per case"
    threads = f"{_words(machine.get('threads'), 8)} of {_words(machine.get('cores'), 8)} threads"
    return [
        f"pair {_words(head.get('pair'))}",
        f"{counted}, {_words(head.get('max_new_tokens'), 8)} new tokens",
        f"{_words(machine.get('device'))}, {_words(machine.get('processor'))}, {threads}",
        f"{_words(machine.get('dtype'), 40)}",
        f"load {_words(machine.get('load'), 8)} when it began",
        f"torch {_words(machine.get('torch'), 30)}, transformers {_words(machine.get('transformers'), 30)}, "
        f"hsd {_words(head.get('version'), 20)}",
        *server_words(head),
    ]


def command(header: dict[str, Any], prompts: int) -> str:
    """The command line that measures the same elsewhere; a server or another library is left out."""
    own = [case["options"] for case in header["cases"] if not case["peer"]]
    drafting = [options for options in own if options.get("system") != "plain"]
    chains = [o for o in drafting if o.get("drafts", 1) == 1]
    given = {
        "pair": [header["pair"]],
        "prompts": [header["prompts"]["name"]],
        "limit": [prompts],
        "systems": [o["proposer"] if o.get("proposer") in COPIERS else o.get("system", "speculative") for o in chains],
        "rules": [o["rule"] for o in chains if o.get("proposer") not in COPIERS],
        "gamma": [o["gamma"] for o in chains if "gamma" in o],
        "trees": [_tree(o) for o in drafting if o.get("drafts", 1) > 1],
        "temperature": [o["temperature"] for o in own],
        "thresholds": next((o["thresholds"] for o in chains if o.get("thresholds")), []),
        "exits": next((o["exits"] for o in chains if o.get("exits")), []),
        "tolerance": [o["tolerance"] for o in chains if "tolerance" in o],
        "divergence": [o["divergence"] for o in chains if "divergence" in o],
        "repetitions": [header["repetitions"]],
        "max-new-tokens": [header["max_new_tokens"]],
    }
    words = [(name, ",".join(dict.fromkeys(map(_short, values)))) for name, values in given.items() if values]
    flags = [word for name, value in words for word in (f"--{name}", value)]
    return shlex.join(["python", "-m", "hsd", "bench", *flags])


def _tree(options: dict[str, Any]) -> str:
    sizes = [options.get("tree", "paths"), options["drafts"], options["gamma"], *filter(None, [options.get("nodes")])]
    return ":".join(map(str, sizes))


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def as_csv(rows: Sequence[Row]) -> str:
    """The table with all digits, the rates per position, and where the time went; one line per case."""
    out = io.StringIO()
    writer = csv.writer(out)
    names = [*SCALARS, *(f"{name}{end}" for name in INTERVALS for end in ("", "_low", "_high"))]
    shares = [f"share_{part}" for part in PARTS]
    writer.writerow(["case", *OPTIONS, "prompts", "runs", *names, *shares, PER_POSITION])
    for row in rows:
        found = [_plain(_one(row["options"].get(name, ""))) for name in OPTIONS]
        values = [row.get(name, "") for name in SCALARS]
        values += [value for name in INTERVALS for value in row.get(name, ("", "", ""))]
        values += [row["shares"][part] if "shares" in row else "" for part in PARTS]
        counts = (row["prompts"], row["runs"])
        writer.writerow([_plain(row["case"]), *found, *counts, *_numbers(values), _one(row.get(PER_POSITION, ""))])
    return out.getvalue()


def _numbers(values: Iterable[Any]) -> list[Any]:
    return [value if value == "" or is_known(value) else "" for value in values]


def _one(value: Any) -> Any:
    """A value as one cell: lists as "3 5"."""
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else value


def _plain(value: Any) -> Any:
    """Text that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def _words(value: Any, most: int = 60) -> str:
    """A header's value as one short line."""
    return " ".join(str("?" if value is None or isinstance(value, (dict, list)) else value).split())[:most]

"""What the page shows of a benchmark: the rows of its table as text, what it was measured on, and files to save."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from hsd.bench.report import COLUMNS, Benchmark, cells, is_known, server_words
from hsd.bench.summary import PARTS, Row
from hsd.ui.measure.published import measured_here, systems_here

SCALARS = (
    "tokens_per_second",
    "speedup",
    "limit",
    "efficiency",
    "best_gamma",
    "best_limit",
    "ms_per_step",
    "outside_ms_per_step",
)
INTERVALS = ("block_efficiency", "acceptance_length", "acceptance_rate")
PER_POSITION = "acceptance_rate_per_position"  # one cell, the first position first
OWN_OPTIONS = ("system", "proposer", "thresholds", "exits", "divergence", "tolerance")  # of single systems and rules


def view(benchmark: Benchmark, rows: Sequence[Row], kind: str, key: str) -> dict[str, Any]:
    """All that the page's script draws. kind: "recorded", "live" or "file"; key: what it asks for files with."""
    return {
        "kind": kind,
        "key": key,
        "date": _words(benchmark.header.get("date"), 40),
        "facts": facts(benchmark, rows),
        "columns": list(COLUMNS),
        "rows": [cells(row) for row in rows],
        "here": measured_here(rows),
        "systems": systems_here(rows),
    }


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


def as_csv(rows: Sequence[Row]) -> str:
    """The table with all digits, the rates per position, and where the time went; one line per case."""
    out = io.StringIO()
    writer = csv.writer(out)
    names = [*SCALARS, *(f"{name}{end}" for name in INTERVALS for end in ("", "_low", "_high"))]
    shares = [f"share_{part}" for part in PARTS]
    options = ("rule", "gamma", "temperature", "drafts", "tree", "nodes", *OWN_OPTIONS)
    writer.writerow(["case", *options, "prompts", "runs", *names, *shares, PER_POSITION])
    for row in rows:
        found = [_plain(_one(row["options"].get(name, ""))) for name in options]
        values = [row.get(name, "") for name in SCALARS]
        values += [value for name in INTERVALS for value in row.get(name, ("", "", ""))]
        values += [row["shares"][part] if "shares" in row else "" for part in PARTS]
        counts = (row["prompts"], row["runs"])
        writer.writerow([_plain(row["case"]), *found, *counts, *map(_number, values), _one(row.get(PER_POSITION, ""))])
    return out.getvalue()


def as_lines(benchmark: Benchmark) -> str:
    """The file that `python -m hsd bench` would have written."""
    return "".join(json.dumps(line) + "\n" for line in [benchmark.header, *benchmark.records])


def _number(value: Any) -> Any:
    return value if value == "" or is_known(value) else ""


def _one(value: Any) -> Any:
    """A value as one cell: lists as "3 5"."""
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else value


def _plain(value: Any) -> Any:
    """Text that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def _words(value: Any, most: int = 60) -> str:
    """A header's value as one short line."""
    return " ".join(str("?" if value is None or isinstance(value, (dict, list)) else value).split())[:most]

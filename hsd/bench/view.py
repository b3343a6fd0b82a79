"""A benchmark as the page shows it, as plain data: table, charts, CSV, and the command that repeats it.

`python -m hsd bench` writes it into its files, so that a page opens them by itself, with a server or without.
"""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Sequence
from typing import Any

from hsd.bench.measure import RECORDING
from hsd.bench.report import COLUMNS, TABLES, Benchmark, cells, is_known, setting, words
from hsd.bench.summary import PARTS, Row
from hsd.decoding.options import RunOptions
from hsd.draft import COPIERS
from hsd.figures import charts

# Options that are no flag by their name.
OTHERWISE = {*RECORDING, "rule", "system", "proposer", "drafts", "tree", "nodes"}
FORMAT = "hsd-bench-view-1"
OPTIONS, SCALARS = TABLES["options"], TABLES["numbers"]
INTERVALS = ("speedup_interval", "block_efficiency", "acceptance_length", "acceptance_rate")
PER_POSITION = "acceptance_rate_per_position"  # one cell, the first position first


def view(benchmark: Benchmark) -> dict[str, Any]:
    """Return all that the page draws of a benchmark. Raises HsdError where there is nothing to compare."""
    rows, kinds = benchmark.rows(), benchmark.by_kind()
    several = "," in str(benchmark.header["prompts"]["name"])  # sets, of which --limit takes so many each
    each = [rows_of[0]["prompts"] for rows_of in kinds.values()] if several else []
    return {
        "format": FORMAT,
        "date": words(benchmark.header.get("date"), 40),
        "facts": setting(benchmark.header, rows),
        "command": command(benchmark.header, max(each, default=rows[0]["prompts"])),
        "columns": [list(column) for column in COLUMNS.items()],
        "rows": [cells(row) for row in rows],
        "kinds": {kind: [cells(row) for row in rows_of] for kind, rows_of in kinds.items()},
        "charts": charts(rows),
        "csv": as_csv(rows),
    }


def command(header: dict[str, Any], prompts: int) -> str:
    """Return the command that repeats a benchmark, without servers and other libraries. prompts: its --limit."""
    own = [case["options"] for case in header["cases"] if not case["peer"]]
    drafting = [options for options in own if options.get("system") != "plain"]
    chains = [o for o in drafting if o.get("drafts", 1) == 1]
    given = {
        "pair": [header["pair"]],
        "prompts": [header["prompts"]["name"]],
        "limit": [prompts],
        "repetitions": [header["repetitions"]],
        "systems": [o["proposer"] if o.get("proposer") in COPIERS else o.get("system", "speculative") for o in chains],
        "rules": [o["rule"] for o in chains if o.get("proposer") not in COPIERS],
        "trees": [_tree(o) for o in drafting if o.get("drafts", 1) > 1],
    }
    texts = {name: ",".join(dict.fromkeys(map(_short, values))) for name, values in given.items()}
    for name, option in RunOptions.options().items():
        values = [o[name] for o in (own if option.scope == "shared" else chains) if name in o and o[name] != []]
        if name not in OTHERWISE:
            texts[name.replace("_", "-")] = (";" if option.several else ",").join(dict.fromkeys(map(_short, values)))
    flags = [word for name, text in texts.items() if text for word in (f"--{name}", text)]
    return shlex.join(["python", "-m", "hsd", "bench", *flags])


def _tree(options: dict[str, Any]) -> str:
    sizes = [options.get("tree", "paths"), options["drafts"], options["gamma"], *filter(None, [options.get("nodes")])]
    return ":".join(map(str, sizes))


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(_cell(value, ","))


def as_csv(rows: Sequence[Row]) -> str:
    """Return the table with all digits, the rates per position, and where the time went; one line per case."""
    out, ends = io.StringIO(), ("", "_low", "_high")
    numbers = ["prompts", "runs", *SCALARS, *(f"{name}{end}" for name in INTERVALS for end in ends)]
    numbers += [f"share_{part}" for part in PARTS]
    writer = csv.DictWriter(out, ["case", *OPTIONS, *numbers, PER_POSITION])
    writer.writeheader()
    for row in rows:
        values = row | {f"share_{part}": share for part, share in row.get("shares", {}).items()}
        values |= {f"{name}{end}": x for name in INTERVALS for end, x in zip(ends, row.get(name, ()), strict=False)}
        words = {**row["options"], "case": row["case"], PER_POSITION: row.get(PER_POSITION, "")}
        texts = {name: _no_formula(_cell(words.get(name, ""))) for name in ("case", *OPTIONS, PER_POSITION)}
        writer.writerow({name: x if is_known(x := values.get(name)) else "" for name in numbers} | texts)
    return out.getvalue()


def _cell(value: Any, between: str = " ") -> Any:
    """Join a list to one cell, "3 5"; return any other value as it is."""
    return between.join(map(str, value)) if isinstance(value, (list, tuple)) else value


def _no_formula(value: Any) -> Any:
    """Quote a text that a spreadsheet would read as a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
